package manifests

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	kubeadmscheme "k8s.io/kubernetes/cmd/kubeadm/app/apis/kubeadm/scheme"
	kubeadmstrict "k8s.io/kubernetes/cmd/kubeadm/app/util/config/strict"
	schedulerscheme "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/lab"
)

// pages are what readers copy YAML from.
var pages = []string{"README.md", "docs", "charts/muster/README.md", "charts/muster-crds/README.md"}

const (
	ofMuster    = "apiVersion: config.muster.dev/v1alpha2\nkind: MusterConfiguration\n"
	ofScheduler = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
	// ofChart begins a document of values of muster's chart.
	ofChart = "# values.yaml\n"
)

// filledIn replaces what a reader has to fill in.
var filledIn = strings.NewReplacer("caBundle: ...", "caBundle: YQ==")

// fragments are the documents that are neither objects, nor values, nor fields of a MusterConfiguration, by file and first
// line.
var fragments = map[string]fragment{
	"docs/install/registration.md extenders:": {before: ofScheduler},
	"docs/concepts/load-aware.md pluginConfig:": {
		before: ofMuster + "profiles:\n- schedulerName: a\n", indent: "  ",
	},
	"docs/concepts/load-sources.md node:": {
		before: ofMuster + "load:\n  source: Prometheus\n  prometheus:\n    url: http://prometheus.example.com\n", indent: "    ",
	},
	"docs/concepts/profiles.md spec:": {
		before: "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n", after: "  containers: [{name: a, image: a}]\n",
	},
	"docs/concepts/profiles.md # Pods wait, and nobody tries to schedule them:": {
		skip: "it is an alert, and Prometheus' own engine reads the chart's alerts in e2e/chart",
	},
}

// fragment is a part of a document. With what comes before and after it, it can be read.
type fragment struct {
	before, indent, after string
	// skip says why nobody here can read it.
	skip string
}

func (f fragment) whole(text string) string {
	if f.before == "" {
		return text
	}
	return f.before + f.indent + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n"+f.indent) + "\n" + f.after
}

// fragmentOf returns the fragment that a document is, and its name; "" for a document that is whole.
func fragmentOf(d *Document) (name string, f fragment) {
	for name, f := range fragments {
		if strings.HasPrefix(d.File+" "+strings.TrimSpace(d.Text), name) {
			return name, f
		}
	}
	return "", fragment{}
}

func TestEachManifestOfTheDocumentationIsTakenByWhomItIsFor(t *testing.T) {
	lab.Long(t)
	r := newReaders(t)
	unused := maps.Clone(fragments)
	read := map[string]int{}
	for _, d := range documented(t, pages...) {
		name, f := fragmentOf(d)
		delete(unused, name)
		if f.skip != "" {
			t.Logf("%s is skipped: %s", d.At(), f.skip)
			continue
		}
		if !r.near && strings.HasPrefix(d.word("apiVersion"), "scheduling.k8s.io/") {
			t.Logf("%s is skipped: this release does not serve it", d.At())
			continue
		}
		reader, err := r.take(filledIn.Replace(f.whole(d.Text)))
		if err != nil {
			t.Errorf("%s: %s: %v", d.At(), reader, err)
		}
		read[reader]++
	}
	for name := range unused {
		t.Errorf("there is no such fragment any more: %s", name)
	}
	for _, reader := range slices.Sorted(maps.Keys(read)) {
		t.Logf("%d were read by %s", read[reader], reader)
	}
	t.Run("one that is wrong is not taken", r.takeNothingThatIsWrong)
}

// takeNothingThatIsWrong notices what is wrong, in the place of each of the readers.
func (r *readers) takeNothingThatIsWrong(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"an unknown kind", "apiVersion: example.com/v1\nkind: Unknown\nmetadata: {name: a}\n", `no matches for kind "Unknown"`},
		{"a version that is not served", "apiVersion: ray.io/v2\nkind: RayCluster\nmetadata: {name: a}\n", `no matches for kind "RayCluster"`},
		{
			"an unknown field of Kubernetes",
			"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {schedulersName: muster, containers: [{name: a, image: a}]}\n",
			`unknown field "spec.schedulersName"`,
		},
		{
			"an unknown field of another project", "apiVersion: jobset.x-k8s.io/v1alpha2\nkind: JobSet\nmetadata: {name: a}\n" +
				"spec: {replicatedJob: []}\n", `unknown field "spec.replicatedJob"`,
		},
		{
			"a value that a schema forbids", "apiVersion: scheduling.x-k8s.io/v1alpha1\nkind: PodGroup\nmetadata: {name: a}\n" +
				"spec: {minMember: 0}\n", "spec.minMember",
		},
		{"a field of muster's configuration", ofMuster + "gang: {}\n", "gang"},
		{"a fragment of it", "gang: {}\n", "gang"},
		{"a field of kube-scheduler's configuration", ofScheduler + "extender: []\n", `unknown field "extender"`},
		{
			"a field of kubeadm's configuration", "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\nschedulers: {}\n",
			`unknown field "schedulers"`,
		},
		{"a value of the chart", ofChart + "configuration: {}\n", "configuration"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if reader, err := r.take(c.text); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s says %v, want %s", reader, err, c.want)
			}
		})
	}
}

// readers are those whom documents are for.
type readers struct {
	*cluster
	near                bool // whether groups of Kubernetes' own may ask for a topology
	muster, helm, chart string
	apply               func(*unstructured.Unstructured) error
}

func newReaders(t *testing.T) *readers {
	t.Helper()
	c, near := newClusterWithGroups(t)
	r := &readers{cluster: c, near: near, muster: lab.Program(t)}
	var err error
	r.helm, err = binaries.EnsureExtra(t.Context(), binaries.Helm, t.Output())
	r.Must(err)
	repository, err := binaries.RepositoryDir(t.Context())
	r.Must(err)
	r.chart = filepath.Join(repository, "charts", "muster")
	r.define()
	mapper := r.served()
	r.apply = func(object *unstructured.Unstructured) error { return r.create(mapper, object, metav1.DryRunAll) }
	return r
}

// take has a document read by whom it is for, and says who that is.
func (r *readers) take(text string) (reader string, err error) {
	if strings.HasPrefix(text, ofChart) {
		return "Helm", said(r.T, text, r.helm, func(file string) []string {
			return []string{"template", "muster", r.chart, "--values", file, "--set", "image.repository=a,image.tag=b"}
		})
	}
	var object unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		return "the parser", err
	}
	switch gvk := object.GroupVersionKind(); {
	case gvk.Kind == "", gvk.Group == "config.muster.dev":
		if gvk.Kind == "" {
			text = ofMuster + text
		}
		return "muster", said(r.T, text, r.muster, func(file string) []string { return []string{"config", "validate", file} })
	case gvk.Group == "kubescheduler.config.k8s.io":
		_, _, err := schedulerscheme.Codecs.UniversalDecoder().Decode([]byte(text), nil, nil)
		return "kube-scheduler", err
	case gvk.Group == "kubeadm.k8s.io":
		return "kubeadm", kubeadmstrict.VerifyUnmarshalStrict([]*runtime.Scheme{kubeadmscheme.Scheme}, gvk, []byte(text))
	case object.IsList():
		return "the API server", object.EachListItem(func(item runtime.Object) error { return r.apply(item.(*unstructured.Unstructured)) })
	default:
		return "the API server", r.apply(&object)
	}
}

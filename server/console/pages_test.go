package console

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	reschedulingv1alpha1 "muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/server/remote"
	"muster.dev/muster/server/servertest"
)

// secret is in every text of an object that may hold one.
const secret = "hunter2"

// keepSecrets fills in all that may be secret of a pod or a template of pods.
func keepSecrets(meta *metav1.ObjectMeta, spec *corev1.PodSpec) {
	meta.Annotations = map[string]string{
		corev1.LastAppliedConfigAnnotation: `{"env": "` + secret + `"}`, "example.com/token": secret, v1alpha1.AnnotationMinMember: "2",
	}
	for i := range spec.Containers {
		c := &spec.Containers[i]
		c.Args, c.Command, c.WorkingDir, c.Image = []string{"--password=" + secret}, []string{secret}, "/"+secret, "example.com/"+secret
		c.Env = []corev1.EnvVar{{Name: "PASSWORD", Value: secret}, {Name: "FROM", ValueFrom: &corev1.EnvVarSource{
			SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: secret}, Key: secret},
		}}}
		c.EnvFrom = []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: secret}}}}
	}
	spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: secret}}
	spec.ServiceAccountName = secret
	spec.Volumes = []corev1.Volume{{Name: secret, VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret}}}}
}

// newFullBench is a bench with something on every page: pod small runs on n1 and is to move to n2
// for big, p waits, gang g has one member of two, and what may be secret of all of them is.
func newFullBench(t testing.TB, change ...func(*benchOptions)) *bench {
	plan := servertest.Move(servertest.Small("small-1"), servertest.Pod("big", "4"), time.Date(2030, 1, 1, 0, 1, 0, 0, time.UTC))
	limits := nomination.DefaultLimits(time.Hour)
	o := benchOptions{gangs: true, plans: clocktesting.NewFakeClock(plan.Spec.Expires.Add(-1)), ahead: &limits}
	for _, f := range change {
		f(&o)
	}
	b := newLoadBench(t, o, 7000)
	b.Node("n1", "4", func(node *corev1.Node) {
		node.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: secret, "example.com/token": secret}
	})
	b.Node("n2", "2")
	running := servertest.Small("small-1")
	running.Spec.NodeName = "n1"
	member := servertest.Pod("m", "1")
	member.Labels = map[string]string{v1alpha1.LabelMuster: "g"}
	p := servertest.Pod("p", "1")
	p.OwnerReferences = []metav1.OwnerReference{{UID: "controller", Controller: new(true)}}
	for _, pod := range []*corev1.Pod{running, member, p} {
		keepSecrets(&pod.ObjectMeta, &pod.Spec)
		if pod != member {
			delete(pod.Annotations, v1alpha1.AnnotationMinMember)
		}
		if err := b.Cluster.Set(pod); err != nil {
			t.Fatal(err)
		}
	}
	for _, pod := range []*corev1.Pod{member, p} {
		b.Filter(pod, "n1", "n2")
	}
	plan.Annotations = map[string]string{corev1.LastAppliedConfigAnnotation: secret}
	step := &plan.Spec.Steps[0]
	step.Replacement.Spec = *step.Replacement.Spec.DeepCopy()
	keepSecrets(&step.Replacement.ObjectMeta, &step.Replacement.Spec)
	plan.Status.Phase = reschedulingv1alpha1.Executing
	b.reservations.Set(plan)
	return b
}

// paths returns the paths of all pages, with the name of an existing object for each parameter.
func (b *bench) paths() []string {
	_, page := b.Get("/debug/equivalence")
	class := regexp.MustCompile(`[0-9a-f]{16}`).FindString(page)
	if class == "" {
		b.Fatalf("there is no class:\n%s", page)
	}
	var paths []string
	for _, endpoint := range b.endpoints {
		if endpoint.Method == http.MethodGet && strings.HasPrefix(endpoint.Pattern, "/debug/") {
			path := strings.NewReplacer("{class}", class, "nodes/{node}", "nodes/n1", "{node}", "n1", "{namespace}", "default", "{name}", "g").
				Replace(endpoint.Pattern)
			if path == "/debug/explain" {
				path += "?pod=default/p"
			}
			paths = append(paths, path)
		}
	}
	return append(paths, "/debug/load?pod=default/p", "/debug/explain?pod=default/small-1")
}

func TestEveryPageAnswersTextAndJSON(t *testing.T) {
	b := newFullBench(t)
	for _, path := range b.paths() {
		if status, text := b.Get(path); status != http.StatusOK || !strings.Contains(text, "\n\n") || strings.HasPrefix(text, "{") {
			t.Errorf("%s answered %d, want text:\n%s", path, status, text)
		}
		var told map[string]any
		status, body := b.Get(path, "Accept", "application/json")
		if err := json.Unmarshal([]byte(body), &told); status != http.StatusOK || err != nil {
			t.Errorf("%s answered %d, error %v, want JSON:\n%s", path, status, err, body)
		}
		for name, value := range told {
			if value == nil {
				t.Errorf("%s: %s is null, where clients expect a list or an object", path, name)
			}
		}
	}
}

func TestNoPageTellsASecret(t *testing.T) {
	b := newFullBench(t)
	for _, path := range append(b.paths(), "/configz", "/version", "/metrics", "/debug/", "/nothing") {
		for _, accept := range []string{"text/plain", "application/json", "text/html"} {
			if _, body := b.Get(path, "Accept", accept); strings.Contains(body, secret) {
				t.Errorf("%s as %s tells what it must not:\n%s", path, accept, body)
			}
		}
	}
}

func TestPlansAreToldWithoutWhatReplacesPods(t *testing.T) {
	b := newFullBench(t)
	var got plansPage
	_, body := b.Get("/debug/plans?format=json")
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	want := remote.Plan{
		Plan: "p", Policy: "MakeRoom", Mode: "Auto", Phase: "Executing", Expires: got.Plans[0].Expires,
		Beneficiaries: []remote.Beneficiary{{Pod: "default/big", Node: "n1"}},
		Steps:         []remote.Step{{Pod: "default/small-1", Controller: "ReplicaSet/rs", From: "n1", To: "n2", Phase: "Waiting"}},
	}
	if diff := cmp.Diff(plansPage{remote.AllPlans{Plans: []remote.Plan{want}}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNodesAreToldWithWhatTheyOfferAndUse(t *testing.T) {
	b := newFullBench(t)
	var got nodesPage
	_, body := b.Get("/debug/nodes?format=json")
	if err := json.Unmarshal([]byte(body), &got); err != nil {
		t.Fatal(err)
	}
	byName := map[string]nodeRow{}
	for _, node := range got.Nodes {
		byName[node.Node] = node
	}
	want := map[string]nodeRow{
		"a": {
			Node: "a", Allocatable: amounts{CPU: 10000, Memory: 64 << 30, Pods: 110}, Used: &amounts{CPU: 7000},
			Measured: byName["a"].Measured,
		},
		"n1": {Node: "n1", Allocatable: amounts{CPU: 4000, Memory: 64 << 30, Pods: 110}, Requested: amounts{CPU: 2000, Pods: 1}},
		// The plan keeps room there.
		"n2": {Node: "n2", Allocatable: amounts{CPU: 2000, Memory: 64 << 30, Pods: 110}, Requested: amounts{CPU: 2000, Pods: 1}},
	}
	if diff := cmp.Diff(want, byName); diff != "" || byName["a"].Measured.IsZero() {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestNoPageSpeaksToATerminal(t *testing.T) {
	b := newFullBench(t)
	const attack = "\x1b[2J\x1b]0;owned\x07\nFORGED\u009b"
	groups, err := json.Marshal([]string{"default/" + attack})
	if err != nil {
		t.Fatal(err)
	}
	for name, annotations := range map[string]map[string]string{
		"ungrouped": {v1alpha1.AnnotationMinMember: attack},
		"grouped":   {v1alpha1.AnnotationMinMember: "1", v1alpha1.AnnotationGroups: string(groups)},
	} {
		pod := servertest.Pod(name, "1")
		pod.Labels, pod.Annotations = map[string]string{v1alpha1.LabelMuster: name}, annotations
		if err := b.Cluster.Set(pod); err != nil {
			t.Fatal(err)
		}
		b.Filter(pod, "n1", "n2")
	}
	seen := false
	for _, path := range append(
		b.paths(), "/debug/nothing\x1b[2J", "/debug/explain?pod=%1b[2J/%0a", "/debug/gangs/default/ungrouped", "/debug/gangs/default/grouped",
	) {
		_, text := b.Get(strings.ReplaceAll(path, "\x1b", "%1b"))
		seen = seen || strings.Contains(text, "FORGED")
		if strings.ContainsAny(text, "\x1b\x07\u009b") || strings.Contains(text, "\nFORGED") {
			t.Errorf("%s:\n%q", path, text)
		}
	}
	if !seen {
		t.Error("no page shows what the annotations say: this test tests nothing")
	}
}

// newLoadBench has nodes of 10 CPUs, each using as much as is given, whose profiles go by load.
func newLoadBench(t testing.TB, o benchOptions, used ...int64) *bench {
	t.Helper()
	o.profiles = servertest.LoadProfiles
	b := newBench(t, o)
	for i, milliCPU := range used {
		name, now := string(rune('a'+i)), time.Now()
		b.Node(name, "10")
		b.Cluster.SetUsage(name, &cluster.Usage{Updated: now, Seen: now, Node: cluster.Resources{MilliCPU: milliCPU}})
	}
	return b
}

func TestTheIndexListsEveryRoute(t *testing.T) {
	b := newBench(t, benchOptions{})
	_, page := b.Get("/debug/", "Accept", "text/html")
	for _, want := range []string{
		"/filter", "/prioritize", "/preempt", "/bind", `href="../readyz"`, `href="../metrics"`, `href="../debug/nodes"`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not on the page", want)
		}
	}
}

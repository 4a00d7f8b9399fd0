package install

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

const image1 = "registry.example.com/muster:v0.1.0"

func TestNewRefusesWhatDoesNotSuit(t *testing.T) {
	for want, o := range map[string]Options{
		"--image is required":                              {Way: Managed},
		`--image: "a b" is no image`:                       {Way: Managed, Image: "a b"},
		`--image: "muster" has neither a tag nor a digest`: {Way: K3s, Image: "muster"},
		`--kubernetes-version: "36" is no version`:         {Way: K3s, Image: image1, KubernetesVersion: "36"},
		"--config: serving.tls: must be left out":          configured(Kubeadm, "serving: {tls: {certFile: /a, keyFile: /b}}"),
		"--config: leaderElection: must be left out":       configured(Managed, "leaderElection: {leaderElect: true}"),
		"--config: profiles: with --managed two":           configured(Managed, "profiles: [{schedulerName: default-scheduler}]"),
		"profiles: gates and defaultFor need":              configured(Managed, "profiles: [{schedulerName: a, gates: UntilMembers}]"),
		"profile: Invalid value":                           configured(Kubeadm, "profile: []"),
	} {
		if o.KubernetesVersion == "" {
			o.KubernetesVersion = "v1.35.9"
		}
		if _, err := New(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// configured are options with a configuration.
func configured(way Way, fields string) Options {
	return Options{
		Way:    way,
		Image:  image1,
		Config: []byte("apiVersion: config.muster.dev/v1alpha2\nkind: MusterConfiguration\n" + fields + "\n"),
	}
}

func TestImagesAreReadWhole(t *testing.T) {
	digest := "sha256:" + strings.Repeat("0a", 32)
	for name, want := range map[string]image{
		"muster:v1":                             {"muster", "v1", ""},
		"registry.example.com:5000/a/muster:v1": {"registry.example.com:5000/a/muster", "v1", ""},
		"example.com/muster@" + digest:          {"example.com/muster", "", digest},
		"example.com/muster:v1@" + digest:       {"example.com/muster", "v1", digest},
	} {
		if got, err := readImage(name); err != nil || got != want {
			t.Errorf("%s: %+v, error %v", name, got, err)
		}
	}
}

// Each object says why it is there, what runs comes last, and its definitions first.
func TestWhatIsPrintedIsCommented(t *testing.T) {
	for _, way := range []Way{Kubeadm, K3s, Managed} {
		installation, err := New(Options{Way: way, Image: image1, KubernetesVersion: "v1.37.0"})
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		if err := installation.Print(&text); err != nil {
			t.Fatal(err)
		}
		var kinds []string
		for document := range strings.SplitSeq(text.String(), "\n---\n") {
			var object struct{ Kind string }
			if err := yaml.Unmarshal([]byte(document), &object); err != nil {
				t.Errorf("%s: %v\n%s", way, err, document)
			}
			if !strings.HasPrefix(document, "# ") {
				t.Errorf("%s: it has no comment:\n%s", way, document)
			}
			if object.Kind != "" {
				kinds = append(kinds, object.Kind)
			}
		}
		if first := kinds[0]; first != "CustomResourceDefinition" {
			t.Errorf("%s: %s is applied first", way, first)
		}
		if last := kinds[len(kinds)-1]; way == Managed && last != "Deployment" {
			t.Errorf("%s: %s is applied last", way, last)
		}
	}
}

// schedulerManifest is a static pod, as kubeadm writes them.
const schedulerManifest = `apiVersion: v1
kind: Pod
metadata:
  name: kube-scheduler
spec:
  containers:
  - command:
    - kube-scheduler
    - --kubeconfig=/etc/kubernetes/scheduler.conf
    name: kube-scheduler
    volumeMounts:
    - mountPath: /etc/kubernetes/scheduler.conf
      name: kubeconfig
  volumes:
  - hostPath:
      path: /etc/kubernetes/scheduler.conf
    name: kubeconfig
`

// tree are the files below a directory.
func tree(t *testing.T, root string) map[string]string {
	t.Helper()
	files := map[string]string{}
	if err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, root)] = string(text)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return files
}

func TestFilesAreWrittenAndTakenBack(t *testing.T) {
	for _, way := range []Way{Kubeadm, K3s} {
		root := t.TempDir()
		n := nodeOf(way)
		if n.scheduler != "" {
			if _, err := write(root, n.scheduler, schedulerManifest, func(string) {}); err != nil {
				t.Fatal(err)
			}
		}
		before := tree(t, root)
		installation, err := New(Options{Way: way, Image: image1, KubernetesVersion: "v1.37.0"})
		if err != nil {
			t.Fatal(err)
		}
		var first, second []string
		for _, told := range []*[]string{&first, &second} {
			if err := installation.Write(root, func(line string) { *told = append(*told, line) }); err != nil {
				t.Fatal(err)
			}
		}
		for _, line := range second {
			if strings.HasPrefix(line, "wrote") || strings.HasPrefix(line, "changed") {
				t.Errorf("%s: again, %s", way, line)
			}
		}
		written := tree(t, root)
		if way == Kubeadm && !strings.Contains(written[n.scheduler], "- --config=/etc/kubernetes/muster/scheduler.yaml\n") {
			t.Errorf("kube-scheduler has no configuration:\n%s", written[n.scheduler])
		}
		for _, dry := range []bool{true, false} {
			found, err := Remove(way, root, dry, func(string) {})
			if err != nil || !found {
				t.Errorf("%s: found %t, error %v", way, found, err)
			}
			if diff := cmp.Diff(written, tree(t, root)); dry && diff != "" {
				t.Errorf("%s: a dry run changes files:\n%s", way, diff)
			}
		}
		if diff := cmp.Diff(before, tree(t, root)); diff != "" {
			t.Errorf("%s: the files differ (-before +after):\n%s", way, diff)
		}
		if found, err := Remove(way, root, false, func(string) {}); found || err != nil {
			t.Errorf("%s: found %t again, error %v", way, found, err)
		}
	}
}

func TestAKubeSchedulerWithAConfigurationIsLeftAlone(t *testing.T) {
	root := t.TempDir()
	n := nodeOf(Kubeadm)
	theirs := strings.Replace(schedulerManifest, "    - kube-scheduler\n", "    - kube-scheduler\n    - --config=/etc/theirs.yaml\n", 1)
	if _, err := write(root, n.scheduler, theirs, func(string) {}); err != nil {
		t.Fatal(err)
	}
	installation, err := New(Options{Way: Kubeadm, Image: image1, KubernetesVersion: "v1.37.0"})
	if err != nil {
		t.Fatal(err)
	}
	err = installation.Write(root, func(string) {})
	if err == nil || !strings.Contains(err.Error(), "--config=/etc/theirs.yaml") || tree(t, root)[n.scheduler] != theirs {
		t.Errorf("error %v", err)
	}
}

func TestKubeadmsConfigurationIsChangedAndTakenBack(t *testing.T) {
	n := nodeOf(Kubeadm)
	const beta4, beta3 = "apiVersion: kubeadm.k8s.io/v1beta4\n", "apiVersion: kubeadm.k8s.io/v1beta3\n"
	for name, test := range map[string]struct{ before, want string }{
		"v1beta4":                 {beta4 + "scheduler: {}\n", "- name: config\n    value: " + n.schedulerConfig()},
		"v1beta4, with arguments": {beta4 + "scheduler:\n  extraArgs:\n  - name: v\n    value: \"2\"\n", "value: " + n.schedulerConfig()},
		"v1beta3":                 {beta3 + "scheduler: {}\n", "extraArgs:\n    config: " + n.schedulerConfig()},
		"v1beta3, with arguments": {beta3 + "scheduler:\n  extraArgs:\n    v: \"2\"\n", "    config: " + n.schedulerConfig()},
		"v1beta4, no scheduler":   {beta4, "name: muster"},
		"with a volume of theirs": {
			beta4 + "scheduler:\n  extraVolumes:\n  - hostPath: /a\n    mountPath: /a\n    name: a\n", "- hostPath: " + n.configs,
		},
	} {
		after, err := edited(test.before, n.addToCluster)
		if err != nil || !strings.Contains(after, test.want) {
			t.Errorf("%s: it has no %q, error %v:\n%s", name, test.want, err, after)
		}
		if again, err := edited(after, n.addToCluster); err != nil || again != after {
			t.Errorf("%s: changed again, error %v:\n%s", name, err, again)
		}
		back, err := edited(after, n.takeFromCluster)
		if want := strings.TrimSuffix(test.before, "\n"); err != nil || !strings.HasPrefix(back, want) {
			t.Errorf("%s: error %v, want as before:\n%s", name, err, back)
		}
	}
	theirs := "scheduler:\n  extraArgs:\n  - name: config\n    value: /etc/theirs.yaml\n"
	if _, err := edited(theirs, n.addToCluster); err == nil || !strings.Contains(err.Error(), "config is /etc/theirs.yaml already") {
		t.Errorf("error %v", err)
	}
	if same, err := edited(theirs, n.takeFromCluster); err != nil || same != theirs {
		t.Errorf("theirs is taken away, error %v:\n%s", err, same)
	}
}

package chart

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// deployment is one that was rendered.
func deployment(t *testing.T, objects map[string]*unstructured.Unstructured, name string) *appsv1.Deployment {
	t.Helper()
	object := objects["Deployment/"+name]
	if object == nil {
		t.Fatalf("there is no Deployment %s among %v", name, slices.Sorted(maps.Keys(objects)))
	}
	return typed[appsv1.Deployment](t, object)
}

func containerNames(containers []corev1.Container) (names []string) {
	for i := range containers {
		names = append(names, containers[i].Name)
	}
	return names
}

func TestTheSchedulerHasTheClustersVersionWithoutSuffixes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ version, set, want string }{
		{"v1.36.3", "", "registry.k8s.io/kube-scheduler:v1.36.3"},
		{"v1.33.4+k3s1", "", "registry.k8s.io/kube-scheduler:v1.33.4"},
		{"v1.31.9-eks-5d4a308", "", "registry.k8s.io/kube-scheduler:v1.31.9"},
		{"v1.32.4-gke.1353000", "", "registry.k8s.io/kube-scheduler:v1.32.4"},
		{"v1.33.4+k3s1", "scheduler.image.tag=v1.33.5", "registry.k8s.io/kube-scheduler:v1.33.5"},
		{"v1.33.4", "scheduler.image.repository=example.com/scheduler", "example.com/scheduler:v1.33.4"},
	} {
		args := append(needed(), "--kube-version="+test.version)
		if test.set != "" {
			args = append(args, "--set="+test.set)
		}
		pod := deployment(t, render(t, args...), release).Spec.Template.Spec
		if got := pod.Containers[0].Image; got != test.want {
			t.Errorf("%s with %q: %s, want %s", test.version, test.set, got, test.want)
		}
	}
}

func TestModesDifferInWhereThingsRun(t *testing.T) {
	t.Parallel()
	sidecar := render(t, append(needed(), "--set=rescheduler.enabled=true")...)
	pod := deployment(t, sidecar, release).Spec.Template.Spec
	got := [][]string{containerNames(pod.InitContainers), containerNames(pod.Containers)}
	if diff := cmp.Diff([][]string{{"scheduler-config", "muster", "rescheduler"}, {"kube-scheduler"}}, got); diff != "" {
		t.Errorf("sidecar: containers (-want +got):\n%s", diff)
	}
	for _, c := range pod.InitContainers[1:] {
		if c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways {
			t.Errorf("%s is not a sidecar", c.Name)
		}
	}
	if sidecar["Service/muster"] != nil || sidecar["ServiceAccount/muster-rescheduler"] != nil {
		t.Error("sidecar: there are a Service and another ServiceAccount")
	}

	external := render(t, append(needed(), "--set=rescheduler.enabled=true", "--set=scheduler.mode=external")...)
	for name, want := range map[string][]string{"muster": {"muster"}, "muster-rescheduler": {"rescheduler"}} {
		spec := deployment(t, external, name).Spec.Template.Spec
		if diff := cmp.Diff(want, containerNames(spec.Containers)); diff != "" || len(spec.InitContainers) > 0 ||
			spec.ServiceAccountName != name {
			t.Errorf("external: %s runs as %s, containers (-want +got):\n%s", name, spec.ServiceAccountName, diff)
		}
	}
	if external["Service/muster"] == nil || external["ClusterRoleBinding/muster-kube-scheduler"] != nil {
		t.Error("external: there is no Service, or rights of a kube-scheduler")
	}
}

func TestASidecarIsReachedOverLoopbackOnly(t *testing.T) {
	t.Parallel()
	for values, want := range map[string]string{
		"sidecar": "listen: 127.0.0.1:8888", "existing-secret": "listen: 127.0.0.1:8888", "external": "listen: :8888",
	} {
		objects := render(t, "--values", way(values))
		text, _, _ := unstructured.NestedString(objects["ConfigMap/"+release].Object, "data", "muster.yaml")
		if !strings.Contains(text, want) {
			t.Errorf("%s: the configuration lacks %q:\n%s", values, want, text)
		}
	}
}

func TestProfilesAreFollowedWithoutARestartUnlessAKubeSchedulerHangsOnThem(t *testing.T) {
	t.Parallel()
	checksum := func(args ...string) string {
		return deployment(t, render(t, append(needed(), args...)...), release).Spec.Template.Annotations["checksum/config"]
	}
	for mode, restarts := range map[string]bool{"sidecar": true, "external": false} {
		mode = "--set=scheduler.mode=" + mode
		if checksum(mode) != checksum(mode, "--set=logLevel=debug") {
			t.Errorf("%s: a change of the log level restarts the pod", mode)
		}
		if changed := checksum(mode) != checksum(
			mode, "--set=config.profiles[0].schedulerName=muster,config.profiles[0].equivalence=Template",
		); changed != restarts {
			t.Errorf("%s: a change of a profile restarts the pod: %t, want %t", mode, changed, restarts)
		}
		if checksum(mode) == checksum(mode, "--set=config.timeouts.bind=1m") {
			t.Errorf("%s: a change of a timeout does not restart the pod", mode)
		}
	}
	rescheduler := func(args ...string) string {
		args = append(append(needed(), "--set=scheduler.mode=external,rescheduler.enabled=true"), args...)
		return deployment(t, render(t, args...), release+"-rescheduler").Spec.Template.Annotations["checksum/config"]
	}
	if rescheduler() != rescheduler("--set=logLevel=debug") || rescheduler() == rescheduler("--set=config.timeouts.bind=1m") {
		t.Error("the rescheduler's pod is restarted by a change of the log level, or not by one of a timeout")
	}
}

func TestGatesAndManagedPodsAreOffByDefault(t *testing.T) {
	t.Parallel()
	for name := range render(t, needed()...) {
		if strings.HasPrefix(name, "Mutating") {
			t.Errorf("%s is rendered", name)
		}
	}
}

func TestNotesSayHowToGoOn(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ says, never string }{
		"sidecar":       {"Pods choose it by spec.schedulerName: muster.", "extenders:"},
		"external":      {"extenders:\n   - urlPrefix: http://$IP:8888", "Keep it with"},
		"external-full": {"--ca-file /etc/muster/ca.crt --cert-file /etc/muster/tls.crt", "http://"},
		"self-managed": {
			`kubectl -n kube-system get secret muster-kube-scheduler-tls -o go-template="{{index .data \"$f\" | base64decode}}" > $f`,
			"http://",
		},
		"ahead": {"kubectl label namespace <namespace> muster.dev/ahead=true", "extenders:"},
		"gates": {"kubectl get namespaces -l muster.dev/managed=true", "extenders:"},
	} {
		notes := helm(t, "install", release, chartDir, "--dry-run=client", "--namespace", namespace, "--values", way(name))
		_, notes, _ = strings.Cut(notes, "\nNOTES:\n")
		if !strings.Contains(notes, test.says) || strings.Contains(notes, test.never) {
			t.Errorf("%s: the notes have to say %q and not %q:\n%s", name, test.says, test.never, notes)
		}
	}
}

package predicates

import (
	"math/rand"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/randfill"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// irrelevantPodFields are the fields of PodSpec that no predicate and no score
// reads. A field that is added to the API is in neither place and fails the test
// until somebody has decided.
var irrelevantPodFields = []string{
	"EphemeralContainers", "RestartPolicy", "TerminationGracePeriodSeconds", "ActiveDeadlineSeconds", "DNSPolicy",
	"ServiceAccountName", "DeprecatedServiceAccount", "AutomountServiceAccountToken", "HostPID", "HostIPC", "ShareProcessNamespace",
	"SecurityContext", "ImagePullSecrets", "Hostname", "Subdomain", "SchedulerName", "HostAliases", "PriorityClassName", "Priority",
	"DNSConfig", "ReadinessGates", "RuntimeClassName", "EnableServiceLinks", "PreemptionPolicy", "SetHostnameAsFQDN", "OS",
	"SchedulingGates", "HostnameOverride", "SchedulingGroup", "EvictionResponders",
}

var irrelevantContainerFields = []string{
	"Name", "Command", "Args", "WorkingDir", "EnvFrom", "Env", "ResizePolicy", "VolumeMounts", "VolumeDevices",
	"LivenessProbe", "ReadinessProbe", "StartupProbe", "Lifecycle", "TerminationMessagePath", "TerminationMessagePolicy",
	"ImagePullPolicy", "SecurityContext", "Stdin", "StdinOnce", "TTY",
}

func TestTheCanonicalFormHoldsEveryFieldThatIsNotKnownToBeIrrelevant(t *testing.T) {
	filler := randfill.New().RandSource(rand.NewSource(1)).NilChance(0).NumElements(1, 1).MaxDepth(12)
	check := func(name string, irrelevant []string, fill func(pod *corev1.Pod) (reflect.Value, func())) {
		fields := reflect.VisibleFields(func() reflect.Type { v, _ := fill(&corev1.Pod{}); return v.Type() }())
		known := map[string]bool{}
		for _, field := range irrelevant {
			known[field] = true
		}
		for _, field := range fields {
			var pod corev1.Pod
			_, done := fill(&pod)
			done()
			before := canonical(&pod)
			target, done := fill(&pod)
			filler.Fill(target.FieldByIndex(field.Index).Addr().Interface())
			done()
			if changed := canonical(&pod) != before; changed == known[field.Name] {
				t.Errorf("%s.%s: in the canonical form: %v, listed as irrelevant: %v", name, field.Name, changed, known[field.Name])
			}
			delete(known, field.Name)
		}
		for field := range known {
			t.Errorf("%s.%s is listed as irrelevant and does not exist", name, field)
		}
	}
	check("PodSpec", irrelevantPodFields, func(pod *corev1.Pod) (reflect.Value, func()) {
		return reflect.ValueOf(&pod.Spec).Elem(), func() {}
	})
	for name, of := range map[string]func(pod *corev1.Pod) *[]corev1.Container{
		"Container":     func(pod *corev1.Pod) *[]corev1.Container { return &pod.Spec.Containers },
		"InitContainer": func(pod *corev1.Pod) *[]corev1.Container { return &pod.Spec.InitContainers },
	} {
		check(name, irrelevantContainerFields, func(pod *corev1.Pod) (reflect.Value, func()) {
			container := corev1.Container{}
			return reflect.ValueOf(&container).Elem(), func() { *of(pod) = []corev1.Container{container} }
		})
	}
}

func owned(name, controller string) *cluster.Pod {
	yes := true
	return cluster.NewPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Namespace: "default", Labels: map[string]string{"app": "web"},
		OwnerReferences: []metav1.OwnerReference{{UID: "not-this"}, {UID: types.UID(controller), Controller: &yes}},
	}})
}

func TestPodsShareAClassByControllerOrByTemplate(t *testing.T) {
	byController, byTemplate := classes{
		equivalence: config.EquivalenceControllerRef,
		kin:         true,
	}, classes{
		equivalence: config.EquivalenceTemplate,
		kin:         true,
	}
	a1, a2, b1 := owned("a-1", "a"), owned("a-2", "a"), owned("b-1", "b")
	if byController.of(a1) != byController.of(a2) {
		t.Error("two pods of one controller differ by ControllerRef")
	}
	if byController.of(a1) == byController.of(b1) {
		t.Error("pods of two controllers share by ControllerRef")
	}
	if byTemplate.of(a1) != byTemplate.of(b1) {
		t.Error("equal pods of two controllers differ by Template")
	}
	different := owned("a-3", "a")
	different.Spec.NodeSelector = map[string]string{"disk": "ssd"}
	if byController.of(a1) == byController.of(different) {
		t.Error("pods of one controller share though one has a node selector")
	}
	lone := cluster.NewPod(&corev1.Pod{})
	if !byController.of(lone).None() {
		t.Error("a pod without a controller has a class by ControllerRef")
	}
	if byTemplate.of(lone).None() {
		t.Error("a pod without a controller has no class by Template")
	}
}

func TestPodsShareAClassByTheirClaims(t *testing.T) {
	with := func(uid types.UID, named bool) Class {
		claim := deviceClaim("gpu", "gpu", 1)
		claim.UID = uid
		pod := owned("a", "a")
		pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: &claim.Name}}
		if named {
			pod.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimName: &claim.Name}}
		}
		pod.Claims = []*resourcev1.ResourceClaim{claim}
		return classes{equivalence: config.EquivalenceTemplate}.of(pod)
	}
	if with("1", false) != with("2", false) {
		t.Error("two pods whose claims are made by one template share no class")
	}
	if with("1", true) == with("2", true) {
		t.Error("a pod shares a class with one whose claim had the same name, and is another one")
	}
}

func TestPodsWithEphemeralVolumesShareNoClass(t *testing.T) {
	of := func(name string, uid types.UID, source corev1.VolumeSource) string {
		object := pod(mounting(source))
		object.Name, object.UID = name, uid
		return canonical(object)
	}
	for _, test := range []struct {
		name string
		a, b string
		want bool
	}{
		{"two pods with the same claim are alike", of("web-1", "1", claimed("data")), of("web-2", "2", claimed("data")), true},
		{"two pods with claims of their own are not", of("web-1", "1", claimed("data-1")), of("web-2", "2", claimed("data-2")), false},
		{
			"two pods with an ephemeral volume have claims of their own", of("web-1", "1", ephemeralVolume()),
			of("web-2", "1", ephemeralVolume()), false,
		},
		{
			"one that took the name of another may not have its claim", of("web-1", "1", ephemeralVolume()),
			of("web-1", "2", ephemeralVolume()), false,
		},
		{"a pod is like itself", of("web-1", "1", ephemeralVolume()), of("web-1", "1", ephemeralVolume()), true},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := test.a == test.b; got != test.want {
				t.Errorf("they are alike: %v", got)
			}
		})
	}
}

func TestOnlyAPodThatNamesItsNodeHasNoClass(t *testing.T) {
	one := named(corev1.NodeSelectorOpIn, "a")
	labelledToo := one
	labelledToo.MatchExpressions = label("zone", corev1.NodeSelectorOpIn, "a").MatchExpressions
	for _, test := range []struct {
		name   string
		change func(*corev1.Pod)
		want   bool
	}{
		{"a pod without affinity", func(*corev1.Pod) {}, true},
		{"a pod of a DaemonSet", requiring(one), false},
		{"one that wants a label of its node as well", requiring(labelledToo), false},
		{"one that names two nodes", requiring(named(corev1.NodeSelectorOpIn, "a", "b")), true},
		{"one that names a node it does not want", requiring(named(corev1.NodeSelectorOpNotIn, "a")), true},
		{"one that would be content with another node", requiring(one, label("zone", corev1.NodeSelectorOpExists)), true},
		{"one that selects by labels", requiring(label("zone", corev1.NodeSelectorOpExists)), true},
		{"one whose spec has the node's name", func(p *corev1.Pod) { p.Spec.NodeName = "a" }, false},
	} {
		pod, c := cluster.NewPod(pod(test.change)), classes{equivalence: config.EquivalenceTemplate}
		if got := !c.of(pod).None(); got != test.want {
			t.Errorf("%s has a class: %v", test.name, got)
		}
	}
}

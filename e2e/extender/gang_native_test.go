package extender_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// native is a cluster whose API server knows Kubernetes' own PodGroups. The gates of its kube-scheduler are off.
type native struct {
	*cluster
	controlplane.NativeGangs
}

// newNative takes one with a muster that serves such groups, or does not.
func newNative(t *testing.T, serves bool, nodes ...*corev1.Node) (*native, *server) {
	t.Helper()
	release, err := binaries.Chosen()
	if err != nil {
		t.Fatal(err)
	}
	return newNativeOf(t, controlplane.NativeGangsOf(release), serves, nodes...)
}

// newNativeOf is newNative for an API server that knows some of them.
func newNativeOf(t *testing.T, gangs controlplane.NativeGangs, serves bool, nodes ...*corev1.Node) (*native, *server) {
	t.Helper()
	n := &native{&cluster{lab.Take(t, lab.Options{Options: controlplane.Options{APIServerFlags: gangs.APIServerFlags()}, CRDs: true})}, gangs}
	n.createNodes(nodes...)
	var options muster.Options
	if !serves {
		options.Config = map[string]any{"gangs": map[string]any{"kinds": []any{"JobSet"}}}
	}
	return n, n.serve(options)
}

func (n *native) resource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: n.Version, Resource: "podgroups"}
}

// makes creates a PodGroup and pods of it that ask for three cores each. Nothing on them is muster's.
func (n *native) makes(name string, minCount, pods int) {
	n.Helper()
	n.Create(n.group(name, minCount, ""))
	for i := range pods {
		n.createPods(n.member(name, i, "3"))
	}
}

// group returns a PodGroup, of a priority class unless that is "".
func (n *native) group(name string, minCount int, class string) *unstructured.Unstructured {
	spec := map[string]any{"schedulingPolicy": map[string]any{"gang": map[string]any{"minCount": int64(minCount)}}}
	if class != "" {
		spec["priorityClassName"] = class
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": n.resource().GroupVersion().String(), "kind": "PodGroup", "metadata": map[string]any{"name": name}, "spec": spec,
	}}
}

// member returns a pod of a PodGroup.
func (n *native) member(group string, i int, cpu string) *corev1.Pod {
	return workload.NewPod(fmt.Sprintf("%s-%d", group, i), cpu, func(pod *corev1.Pod) {
		pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
	})
}

// asks changes how many pods must start together.
func (n *native) asks(name string, minCount int) {
	n.Helper()
	patch := fmt.Appendf(nil, `{"spec":{"schedulingPolicy":{"gang":{"minCount":%d}}}}`, minCount)
	_, err := n.Dynamic.Resource(n.resource()).Namespace(workload.Namespace).
		Patch(n.Context(), name, types.MergePatchType, patch, metav1.PatchOptions{})
	n.Must(err)
}

func TestKubernetesOwnGroupsStartWhole(t *testing.T) {
	n, s := newNative(t, true, workload.NewNodes("node", 2, "4")...)
	n.Schedule(s.schedulerConfig(nil))
	w := s.watch()
	n.makes("train", 3, 3)
	w.settles(exactly(map[string]int{}))
	n.createNodes(workload.NewNode("last", "4"))
	w.settles(exactly(map[string]int{"": 3}))
	if n.Version == "v1alpha2" {
		return // how many are asked for stays in it
	}
	n.createNodes(workload.NewNodes("more", 2, "4")...)
	n.makes("few", 3, 2)
	w.settles(exactly(map[string]int{"": 3}))
	n.asks("few", 2)
	w.settles(exactly(map[string]int{"": 5}))
}

// A kube-scheduler that starts such groups itself takes one pod after the other: two of 2 cores to a node each, and there is
// none for one of 4. By the places that muster shows it all have room.
func TestAGroupThatTheSchedulerStartsIsPlannedWhole(t *testing.T) {
	n, s := newNative(t, true, workload.NewNodes("node", 2, "4")...)
	w := n.startsItself(s)
	n.makes("train", 3, 0)
	for i, cpu := range []string{"2", "2", "4"} {
		n.createPods(n.member("train", i, cpu))
	}
	w.settles(exactly(map[string]int{"": 3}))
	n.Eventually("kube-scheduler says that it starts the group", func() error {
		return s.explains("train-0", "kube-scheduler starts them, and muster shows it the places")
	})
	n.Must(n.Client.CoreV1().Pods(workload.Namespace).Delete(t.Context(), "train-2", metav1.DeleteOptions{}))
	n.createPods(n.member("train", 3, "4"))
	w.settles(exactly(map[string]int{"": 4}))
}

// Groups wait for room, and for members that come late. None is refused for good because muster has seen less of it than
// kube-scheduler, or the other way round.
func TestGroupsThatTheSchedulerStartsWaitForRoomAndMembers(t *testing.T) {
	lab.Long(t)
	n, s := newNative(t, true, workload.NewNodes("node", 4, "4")...)
	w := n.startsItself(s)
	for g := range 6 {
		n.makes(fmt.Sprint("group-", g), 3, 2)
	}
	for g := range 6 {
		n.createPods(n.member(fmt.Sprint("group-", g), 2, "3"))
	}
	w.settles(exactly(map[string]int{"": 3}))
	n.createNodes(workload.NewNodes("more", 14, "4")...)
	w.settles(exactly(map[string]int{"": 18}))
}

// kube-scheduler's own search for victims of a group is in vain beside an extender, which sees them where they are.
func TestPodsMakeRoomForAGroupThatTheSchedulerStarts(t *testing.T) {
	lab.Long(t)
	n, s := newNative(t, true, workload.NewNodes("node", 3, "4")...)
	w := n.startsItself(s)
	n.createPriorityClass("high", 1000)
	for i := range 3 {
		n.createPods(workload.NewPod(fmt.Sprint("low-", i), "3"))
	}
	w.settles(exactly(map[string]int{"": 3}))
	n.Create(n.group("train", 3, "high"))
	for i := range 3 {
		pod := n.member("train", i, "3")
		workload.OfPriority("high")(pod)
		n.createPods(pod)
	}
	w.settles(exactly(map[string]int{"": 6}))
}

// startsItself has a kube-scheduler with the gates on.
func (n *native) startsItself(s *server) *witness {
	n.Helper()
	n.Must(n.StartScheduler(n.Context(), controlplane.SchedulerOptions{Config: s.schedulerConfig(nil), FeatureGates: n.Gates}))
	n.Cleanup(n.StopScheduler)
	return s.watch()
}

// On request muster leaves them to kube-scheduler, and says why.
func TestKubernetesOwnGroupsAreLeftToTheSchedulerOnRequest(t *testing.T) {
	lab.Long(t)
	n, s := newNative(t, false, workload.NewNodes("node", 2, "4")...)
	n.Schedule(s.schedulerConfig(nil))
	w := s.watch()
	n.makes("train", 3, 3)
	w.settles(exactly(map[string]int{"": 2}))
	n.Must(s.explains("train-0", "left to kube-scheduler: KubernetesPodGroup is not in gangs.kinds"))
}

// explains is nil if muster says something of a pod.
func (s *server) explains(pod, words string) error {
	if _, told := s.tells("explain", "pod", pod, "-n", workload.Namespace); !strings.Contains(told, words) {
		return errors.New(told)
	}
	return nil
}

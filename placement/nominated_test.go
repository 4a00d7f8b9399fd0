package placement

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
)

// asking is a pod that asks for so much CPU.
func asking(name, cpu string, priority int32) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID(name)},
		Spec: corev1.PodSpec{Priority: &priority, Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)},
		}}}},
	}
}

func nodeOf(name, cpu string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourcePods: resource.MustParse("9")},
		},
	}
}

func nominated(pod *corev1.Pod, node string) *corev1.Pod {
	pod.Status.NominatedNodeName = node
	return pod
}

func runningOn(pod *corev1.Pod, node string) *corev1.Pod {
	pod.Spec.NodeName = node
	return pod
}

func TestRoomThatIsPromisedToOthersIsTaken(t *testing.T) {
	for _, test := range []struct {
		name  string
		given []*corev1.Pod // besides an empty node of 4 CPU, "a"
		pods  []*corev1.Pod
		want  []bool // they have places
	}{
		{"to one of higher priority", []*corev1.Pod{nominated(asking("n", "3", 6), "a")}, []*corev1.Pod{asking("p", "2", 5)}, []bool{false}},
		{"to one of equal priority", []*corev1.Pod{nominated(asking("n", "3", 5), "a")}, []*corev1.Pod{asking("p", "2", 5)}, []bool{false}},
		{"as much as it asks for", []*corev1.Pod{nominated(asking("n", "3", 5), "a")}, []*corev1.Pod{asking("p", "1", 5)}, []bool{true}},
		{"not to one of lower priority", []*corev1.Pod{nominated(asking("n", "3", 4), "a")}, []*corev1.Pod{asking("p", "2", 5)}, []bool{true}},
		{
			"not before it is the turn of pods that are not more important",
			[]*corev1.Pod{nominated(asking("n", "1", 4), "a")},
			[]*corev1.Pod{asking("p", "2", 5), asking("q", "2", 4)},
			[]bool{true, false},
		},
		{"not to the pods themselves", []*corev1.Pod{nominated(asking("p", "3", 5), "a")}, []*corev1.Pod{asking("p", "3", 5)}, []bool{true}},
		{
			"nowhere, if there is no such node",
			[]*corev1.Pod{nominated(asking("n", "3", 6), "gone")},
			[]*corev1.Pod{asking("p", "2", 5)},
			[]bool{true},
		},
		{
			"once, though it counts there",
			[]*corev1.Pod{runningOn(nominated(asking("n", "2", 6), "a"), "a")},
			[]*corev1.Pod{asking("p", "2", 5)},
			[]bool{true},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, store := newStore(t)
			set(t, c, nodeOf("a", "4"))
			for _, pod := range test.given {
				set(t, c, pod)
			}
			var pods []*cluster.Pod
			for _, pod := range test.pods {
				pods = append(pods, cluster.NewPod(pod))
			}
			alone := New(store, pods, 0)
			var one []bool
			for _, pod := range pods {
				one = append(one, alone.Place(pod) >= 0)
			}
			alone.Close()
			together := New(store, pods, 0)
			defer together.Close()
			together.PlaceAll(pods, len(pods)+1, time.Time{}) // takes it all back
			var all []bool
			for _, place := range together.PlaceAll(pods, 0, time.Time{}).Places {
				all = append(all, place.Node >= 0)
			}
			if diff := cmp.Diff([][]bool{test.want, test.want}, [][]bool{one, all}); diff != "" {
				t.Errorf("have places, one by one and together (-want +got):\n%s", diff)
			}
		})
	}
}

func TestVictimsMakeRoomBesideWhatIsPromisedToOthers(t *testing.T) {
	for _, test := range []struct {
		name  string
		given []*corev1.Pod // besides the nodes "a" and "b" of 4 CPU
		pods  []*corev1.Pod
		want  []string // victims, nil when there is no place for all
	}{
		{
			"where the promise is, more would have to go",
			[]*corev1.Pod{runningOn(asking("cheap", "2", 0), "a"), runningOn(asking("dear", "4", 1), "b"), nominated(asking("n", "4", 9), "a")},
			[]*corev1.Pod{asking("p", "2", 5)},
			[]string{"dear"},
		},
		{
			"nobody goes in vain",
			[]*corev1.Pod{runningOn(asking("x", "4", 0), "a"), runningOn(asking("y", "4", 9), "b"), nominated(asking("n", "3", 9), "a")},
			[]*corev1.Pod{asking("p", "2", 5)},
			nil,
		},
		{
			"what the other one needs goes as well",
			[]*corev1.Pod{
				runningOn(asking("x", "1", 0), "a"), runningOn(asking("z", "2", 0), "a"), runningOn(asking("y", "4", 9), "b"),
				nominated(asking("n", "2", 9), "a"),
			},
			[]*corev1.Pod{asking("p", "2", 5)},
			[]string{"x", "z"},
		},
		{
			"a pod that is more important takes the room, though one that is less so keeps the promise",
			[]*corev1.Pod{runningOn(asking("y", "3", 9), "b"), runningOn(asking("x", "1", 0), "b"), nominated(asking("n", "4", 4), "a")},
			[]*corev1.Pod{asking("p", "4", 5), asking("q", "1", 3)},
			[]string{"x"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, store := newStore(t)
			set(t, c, nodeOf("a", "4"))
			set(t, c, nodeOf("b", "4"))
			for _, pod := range test.given {
				set(t, c, pod)
			}
			var pods []*cluster.Pod
			for _, pod := range test.pods {
				pods = append(pods, cluster.NewPod(pod))
			}
			plan := New(store, pods, 0)
			defer plan.Close()
			evictions := NewEvictions(plan, func(pod *cluster.Pod) (Eviction, bool) {
				return Eviction{}, pod.Spec.NodeName != "" && *pod.Spec.Priority < 3
			})
			var got []string
			if evictions.PlaceAll(pods, len(pods), time.Time{}).Kept {
				victims, ok := evictions.Victims()
				if !ok {
					t.Fatal("the pods do not fit in the end")
				}
				for _, victim := range victims {
					got = append(got, victim.Pod.Name)
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("victims (-want +got):\n%s", diff)
			}
		})
	}
}

package placement

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
)

func TestAGangIsPlacedWholeOrNotAtAll(t *testing.T) {
	small, large := offering("1"), offering("4")
	tainted := offering("4")
	tainted.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
	full := []Objection{{"Insufficient cpu", 4}, {"node(s) had untolerated taint(s)", 1}}
	for name, test := range map[string]struct {
		pods, atLeast int
		want          Outcome
		places        int
		against       []Objection
	}{
		"there is room for all":             {pods: 6, atLeast: 6, want: Outcome{Placed: 6, Kept: true}, places: 6},
		"there is room for as many as must": {pods: 8, atLeast: 7, want: Outcome{Placed: 7, Kept: true}, places: 7, against: full},
		"there is room for too few":         {pods: 9, atLeast: 8, want: Outcome{Placed: 7}, places: 7, against: full},
		"best effort":                       {pods: 9, want: Outcome{Placed: 7, Kept: true}, places: 7, against: full},
		"nobody asks":                       {want: Outcome{Kept: true}},
	} {
		t.Run(name, func(t *testing.T) {
			c, store := newStore(t)
			for i, object := range []*corev1.Node{small, small, small, large, tainted} {
				node := object.DeepCopy()
				node.Name = fmt.Sprint("node-", i)
				set(t, c, node)
			}
			pods := gang(c, test.pods)
			plan := New(store, pods, 1)
			defer plan.Close()
			got := plan.PlaceAll(pods, test.atLeast, time.Time{})
			for i, place := range got.Places {
				placed := place.Node >= 0
				if place.Pod != pods[i] || placed != (i < test.places) {
					t.Errorf("the place of pod %d is %+v", i, place)
				}
				if counts := placed && holds(plan.Node(place.Node), place.Pod); counts != (placed && got.Kept) {
					t.Errorf("pod %d counts on its node: %v", i, counts)
				}
				if !placed {
					if diff := cmp.Diff(test.against, place.Against); diff != "" {
						t.Errorf("against pod %d (-want +got):\n%s", i, diff)
					}
				}
			}
			got.Places = nil
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEnoughPodsArePlacedAndNoMore(t *testing.T) {
	for _, test := range []struct{ pods, enough, looked, placed int }{{5, 2, 2, 2}, {3, 0, 0, 0}, {3, -1, 0, 0}, {9, 4, 4, 4}, {9, 5, 9, 4}} {
		c, store := newStore(t)
		node := offering("4")
		node.Name = "node"
		set(t, c, node)
		pods := gang(c, test.pods)
		plan := New(store, pods, 1)
		got := plan.PlaceEnough(pods, test.enough, time.Time{})
		if kept := test.placed >= test.enough; got.Kept != kept || len(got.Places) != test.looked || got.Placed != test.placed {
			t.Errorf(
				"%d of %d pods: kept %t, looked at %d, %d placed, want %+v",
				test.enough,
				test.pods,
				got.Kept,
				len(got.Places),
				got.Placed,
				test,
			)
		}
		plan.Close()
	}
}

func TestWhenTimeIsUpThereIsTheBestAnswerSoFar(t *testing.T) {
	for name, test := range map[string]struct {
		atLeast, kept int
	}{
		"pods that have a place keep it":         {atLeast: 2, kept: 3},
		"or go again when they are not all that": {atLeast: 4, kept: 0},
	} {
		t.Run(name, func(t *testing.T) {
			c, store := newStoreAt(t, &ticking{})
			node := offering("8")
			node.Name = "node"
			set(t, c, node)
			pods := gang(c, 8)
			plan := New(store, pods, 1)
			defer plan.Close()
			got := plan.PlaceAll(pods, test.atLeast, store.Clock().Now().Add(3*time.Second))
			if !got.Late || got.Placed != 3 {
				t.Errorf("late: %v, placed: %d, want true and 3", got.Late, got.Placed)
			}
			for i, place := range got.Places {
				if placed := place.Node >= 0; placed != (i < 3) || place.Against != nil {
					t.Errorf("the place of pod %d is %+v", i, place)
				}
			}
			if kept := len(plan.Node(0).Pods); kept != test.kept {
				t.Errorf("%d pods are on the node, want %d", kept, test.kept)
			}
		})
	}
}

// ticking is a clock that goes on by a second whenever somebody looks.
type ticking struct{ now time.Time }

func (c *ticking) Now() time.Time {
	c.now = c.now.Add(time.Second)
	return c.now
}

func (c *ticking) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

func TestNobodyComesToANodeThatIsAvoided(t *testing.T) {
	c, store := newStore(t)
	for _, name := range []string{"left", "full"} {
		node := offering("1")
		node.Name = name
		set(t, c, node)
	}
	resident := worker(9)
	resident.Spec.NodeName = "full"
	set(t, c, resident)
	pods := gang(c, 1)
	plan := New(store, pods, 1)
	defer plan.Close()
	plan.Avoid(sets.New("left", "unknown"))
	got := plan.PlaceAll(pods, 1, time.Time{})
	want := []Objection{{"Insufficient cpu", 1}, {"node(s) are left by such pods, by a plan to move them", 1}}
	if diff := cmp.Diff(want, got.Places[0].Against); diff != "" || got.Kept {
		t.Errorf("%+v; against (-want +got):\n%s", got, diff)
	}
	// A change of the node makes no difference.
	plan.Put(cluster.NewPod(worker(8)), plan.Snapshot().NodeByName("left").Index)
	plan.Take(cluster.NewPod(worker(8)), plan.Snapshot().NodeByName("left").Index)
	if got := plan.PlaceAll(pods, 1, time.Time{}); got.Kept {
		t.Errorf("a pod came to %s", plan.Node(got.Places[0].Node).Name)
	}
}

func offering(cpu string) *corev1.Node {
	node := &corev1.Node{}
	node.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourcePods: resource.MustParse("110")}
	return node
}

// gang returns the pods of one Job. Each asks for a CPU.
func gang(c *cluster.Cluster, size int) []*cluster.Pod {
	var pods []*cluster.Pod
	for i := range size {
		pods = append(pods, cluster.NewPod(worker(i)))
	}
	return pods
}

func worker(i int) *corev1.Pod {
	yes, name := true, fmt.Sprint("worker-", i)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:            name,
			Namespace:       "default",
			UID:             types.UID(name),
			OwnerReferences: []metav1.OwnerReference{{UID: "job", Controller: &yes}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")},
		}}}},
	}
}

func holds(node *cluster.Node, pod *cluster.Pod) bool {
	for _, on := range node.Pods {
		if on.UID == pod.UID {
			return true
		}
	}
	return false
}

package cluster

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func gated(pod *corev1.Pod) { pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "later"}} }

func beingDeleted(pod *corev1.Pod) { pod.DeletionTimestamp = new(metav1.Now()) }

// told notes what a follower of pending pods hears, in words.
func told(c *Cluster) (words *[]string, stop func()) { return toldBy(c.FollowPending) }

func toldBy(following func(func(PodEvent)) (stop func())) (words *[]string, stop func()) {
	words = new([]string)
	stop = following(func(event PodEvent) {
		word := string(event.UID)
		switch {
		case event.Pod != nil:
			word += " waits"
		case event.Node != "":
			word += " is on " + event.Node
		default:
			word += " does not wait"
		}
		*words = append(*words, word)
	})
	return words, stop
}

func TestAFollowerOfGatedPodsIsToldOfThemAsOfThoseThatWait(t *testing.T) {
	c := newCluster(t)
	set(t, c, podObject("gated", gated), podObject("waits"), podObject("goes", gated, beingDeleted))
	words, stop := toldBy(c.FollowGated)
	set(t, c, podObject("gated"), podObject("gated", onNode("a")))
	set(t, c, podObject("comes", gated), podObject("comes", gated, beingDeleted))
	remove(t, c, podObject("comes"))
	stop()
	set(t, c, podObject("late", gated))
	want := []string{
		"pod-gated waits", "pod-waits waits", "pod-gated waits", "pod-gated is on a", "pod-comes waits", "pod-comes does not wait",
		"pod-comes does not wait",
	}
	if diff := cmp.Diff(want, *words); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

func TestAFollowerIsToldWhichPodsWait(t *testing.T) {
	tests := []struct {
		name         string
		before, then func(*testing.T, *Cluster)
		want         []string
	}{
		{
			name:   "one waits already",
			before: func(t *testing.T, c *Cluster) { set(t, c, podObject("p")) },
			want:   []string{"pod-p waits"},
		},
		{
			name:   "one is bound already",
			before: func(t *testing.T, c *Cluster) { set(t, c, podObject("p", onNode("a"))) },
		},
		{
			name: "it comes, changes and is bound",
			then: func(t *testing.T, c *Cluster) {
				set(t, c, podObject("p"), podObject("p"), podObject("p", onNode("a")), podObject("p", onNode("a")))
			},
			want: []string{"pod-p waits", "pod-p waits", "pod-p is on a"},
		},
		{
			name: "it comes bound",
			then: func(t *testing.T, c *Cluster) { set(t, c, podObject("p", onNode("a"))) },
		},
		{
			name: "it comes and goes",
			then: func(t *testing.T, c *Cluster) { set(t, c, podObject("p")); remove(t, c, podObject("p")) },
			want: []string{"pod-p waits", "pod-p does not wait"},
		},
		{
			name: "it fails before it is bound",
			then: func(t *testing.T, c *Cluster) {
				set(t, c, podObject("p"), podObject("p", inPhase(corev1.PodFailed)))
			},
			want: []string{"pod-p waits", "pod-p does not wait"},
		},
		{
			name: "it is gated for a while",
			then: func(t *testing.T, c *Cluster) { set(t, c, podObject("p", gated), podObject("p")) },
			want: []string{"pod-p does not wait", "pod-p waits"},
		},
		{
			name:   "one is gated already",
			before: func(t *testing.T, c *Cluster) { set(t, c, podObject("p", gated)) },
		},
		{
			name: "it is being deleted, and gone",
			then: func(t *testing.T, c *Cluster) {
				set(t, c, podObject("p"), podObject("p", beingDeleted))
				remove(t, c, podObject("p"))
			},
			want: []string{"pod-p waits", "pod-p does not wait", "pod-p does not wait"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(t)
			if test.before != nil {
				test.before(t, c)
			}
			words, stop := told(c)
			if test.then != nil {
				test.then(t, c)
			}
			if diff := cmp.Diff(test.want, *words); diff != "" {
				t.Errorf("what it was told (-want +got):\n%s", diff)
			}
			stop()
			heard := len(*words)
			set(t, c, podObject("later"))
			if len(*words) != heard {
				t.Error("it is told more after it stopped")
			}
		})
	}
}

func TestPodsOfOneNodeAreAssumedTogetherOrNotAtAll(t *testing.T) {
	c := newCluster(t)
	set(t, c, nodeObject("a"), podObject("p"), podObject("q"), podObject("bound"))
	pods := []*Pod{c.PendingPod("pod-p"), c.PendingPod("pod-q")}
	withBound := append([]*Pod{c.PendingPod("pod-bound")}, pods...)
	set(t, c, podObject("bound", onNode("b")))

	if err := c.AssumeAll(withBound, c.Snapshot().NodeByName("a")); !errors.Is(err, ErrPodPlaced) {
		t.Errorf("the error is %v, want %v", err, ErrPodPlaced)
	}
	if got := c.Assumed("pod-p") + c.Assumed("pod-q"); got != "" {
		t.Errorf("pods were assumed on %q with one that is placed", got)
	}
	old := c.Snapshot().NodeByName("a")
	set(t, c, podObject("other", onNode("a")))
	if err := c.AssumeAll(pods, old); !errors.Is(err, ErrNodeChanged) {
		t.Errorf("the error is %v, want %v", err, ErrNodeChanged)
	}
	if err := c.AssumeAll(pods, c.Snapshot().NodeByName("a")); err != nil {
		t.Fatal(err)
	}
	for _, pod := range pods {
		if got := c.Assumed(pod.UID); got != "a" {
			t.Errorf("%s is assumed on %q, want a", pod.Name, got)
		}
		c.Release(pod.UID)
	}
}

func TestAFollowerIsToldOfAllPods(t *testing.T) {
	c := newCluster(t)
	set(t, c, nodeObject("a"), podObject("waits"), podObject("is-bound", onNode("a")), podObject("is-assumed"), podObject("is-gated", gated))
	if err := c.AssumeAll([]*Pod{c.PendingPod("pod-is-assumed")}, c.Snapshot().NodeByName("a")); err != nil {
		t.Fatal(err)
	}
	var words []string
	stop := c.FollowPods(func(state PodState) {
		word := string(state.UID) + " is gone"
		if state.Pod != nil {
			word = string(state.UID) + " on " + state.Pod.Spec.NodeName
		}
		words = append(words, word)
	})
	c.Release("pod-is-assumed")
	set(t, c, podObject("waits", onNode("a")), podObject("is-bound", onNode("a"), inPhase(corev1.PodSucceeded)))
	remove(t, c, podObject("is-gated"))
	stop()
	set(t, c, podObject("later"))
	want := []string{
		"pod-is-assumed on ", "pod-is-bound on a", "pod-is-gated on ", "pod-waits on ",
		"pod-waits on a", "pod-is-bound is gone", "pod-is-gated is gone",
	}
	if diff := cmp.Diff(want, words); diff != "" {
		t.Errorf("what it was told (-want +got):\n%s", diff)
	}
}

package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func nominatedTo(name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Status.NominatedNodeName = name }
}

func withPriority(priority int32) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.Priority = &priority }
}

func TestRoomIsPromisedToPodsThatWaitAndAreNominated(t *testing.T) {
	for _, test := range []struct {
		name string
		then func(*testing.T, *Cluster)
		want []string
		told int // changes in the journal
	}{
		{"none is", func(t *testing.T, c *Cluster) { set(t, c, podObject("p"), podObject("p")) }, nil, 0},
		{
			"the most important ones first", func(t *testing.T, c *Cluster) {
				set(t, c, podObject("p", nominatedTo("a")), podObject("q", nominatedTo("a"), withPriority(1)), podObject("o", nominatedTo("b")))
			}, []string{"q", "o", "p"}, 3,
		},
		{
			"one changes in another way", func(t *testing.T, c *Cluster) {
				set(t, c, podObject("p", nominatedTo("a")), podObject("p", nominatedTo("a")))
			}, []string{"p"}, 1,
		},
		{
			"one is nominated to another node", func(t *testing.T, c *Cluster) {
				set(t, c, podObject("p", nominatedTo("a")), podObject("p", nominatedTo("b")))
			}, []string{"p"}, 2,
		},
		{
			"the nomination is taken back", func(t *testing.T, c *Cluster) {
				set(t, c, podObject("p", nominatedTo("a")), podObject("p"))
			}, nil, 2,
		},
		{
			"one goes", func(t *testing.T, c *Cluster) {
				set(t, c, podObject("p", nominatedTo("a")))
				remove(t, c, podObject("p"))
			}, nil, 2,
		},
		{"one is gated", func(t *testing.T, c *Cluster) { set(t, c, podObject("p", nominatedTo("a"), gated)) }, []string{"p"}, 1},
		{"one is being deleted", func(t *testing.T, c *Cluster) { set(t, c, podObject("p", nominatedTo("a"), beingDeleted)) }, nil, 0},
	} {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(t)
			test.then(t, c)
			wantNominated(t, c, test.want...)
			changes, _ := c.Snapshot().Since(0)
			for _, change := range changes {
				if change.Aspects != AspectNominated || change.Node >= 0 || change.Object.Name == "" {
					t.Errorf("the journal says %+v", change)
				}
			}
			if len(changes) != test.told {
				t.Errorf("%d changes, want %d", len(changes), test.told)
			}
		})
	}
}

func TestWhatCountsOnANodeIsNotPromisedRoomAsWell(t *testing.T) {
	c := newCluster(t)
	set(t, c, nodeObject("a"), podObject("p"))
	if err := c.AssumeAll([]*Pod{c.PendingPod("pod-p")}, c.Snapshot().NodeByName("a")); err != nil {
		t.Fatal(err)
	}
	before := c.Snapshot().Generation
	set(t, c, podObject("p", nominatedTo("a")))
	wantNominated(t, c)
	changes, _ := c.Snapshot().Since(before)
	for _, change := range changes {
		if change.Aspects&AspectNominated != 0 {
			t.Errorf("the journal says %+v", change)
		}
	}
	c.Release("pod-p")
	wantNominated(t, c, "p")
	set(t, c, podObject("p", onNode("a")))
	wantNominated(t, c)
}

func wantNominated(t *testing.T, c *Cluster, want ...string) {
	t.Helper()
	var got []string
	for _, pod := range c.Nominated() {
		got = append(got, pod.Name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("nominated (-want +got):\n%s", diff)
	}
}

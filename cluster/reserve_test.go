package cluster

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

func held(c *Cluster) *Pod { return NewPod(podObject("held")) }

func TestAHeldPodCountsUntilItIsLetGo(t *testing.T) {
	c := newCluster(t)
	set(t, c, nodeObject("a"), nodeObject("b"))
	c.Reserve(held(c), "a")
	c.Reserve(held(c), "b")
	if diff := cmp.Diff([]string{"b"}, places(c, "pod-held")); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
	c.Release("pod-held") // it is not assumed
	if c.PlaceOf("pod-held") != "b" {
		t.Error("it was released")
	}
	c.Unreserve("pod-held")
	c.Unreserve("pod-held")
	if got := places(c, "pod-held"); got != nil {
		t.Errorf("it counts on %v", got)
	}
}

func TestAHeldPodIsNoPod(t *testing.T) {
	c := newCluster(t)
	set(t, c, nodeObject("a"))
	c.Reserve(held(c), "a")
	if c.FindPod(types.NamespacedName{Namespace: "default", Name: "held"}) != nil {
		t.Error("it is found")
	}
	c.FollowPods(func(state PodState) { t.Errorf("followers are told of %s", state.UID) })()
}

func TestOnlyHeldPodsAreLetGo(t *testing.T) {
	c := newCluster(t)
	set(t, c, nodeObject("a"), podObject("p", onNode("a")))
	c.Unreserve("pod-p")
	if c.PlaceOf("pod-p") != "a" {
		t.Error("a pod was let go")
	}
}

func TestAHeldPodIsExchangedOnAKnownNodeOnly(t *testing.T) {
	c := newCluster(t)
	set(t, c, nodeObject("a"), podObject("p"))
	old := c.Snapshot().NodeByName("a")
	c.Reserve(held(c), "a")
	err := c.Exchange("pod-held", c.PendingPod("pod-p"), Basis{Node: old})
	if !errors.Is(err, ErrNodeChanged) || c.PlaceOf("pod-held") != "a" {
		t.Errorf("error %v, held on %q", err, c.PlaceOf("pod-held"))
	}
	if err := c.Exchange("pod-held", c.PendingPod("pod-p"), Basis{Node: c.Snapshot().NodeByName("a")}); err != nil {
		t.Fatal(err)
	}
	if c.PlaceOf("pod-held") != "" || c.Assumed("pod-p") != "a" {
		t.Errorf("held on %q, assumed on %q", c.PlaceOf("pod-held"), c.Assumed("pod-p"))
	}
}

package cluster

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
)

func TestRoomIsFreedUnseenWhenAPodLeavesANodeWhereTheWatchNeverShowedIt(t *testing.T) {
	nominated := func(pod *corev1.Pod) { pod.Status.NominatedNodeName = "a" }
	type step func(*testing.T, *Cluster, *Pod)
	assumed := func(t *testing.T, c *Cluster, p *Pod) { assume(t, c, p, "a") }
	expected := func(_ *testing.T, c *Cluster, p *Pod) { c.Expect(p, "a") }
	kept := func(_ *testing.T, c *Cluster, _ *Pod) { c.Reserve(held(c), "a") }
	nothing := func(*testing.T, *Cluster, *Pod) {}
	bindTo := func(node string) step {
		return func(t *testing.T, c *Cluster, _ *Pod) { set(t, c, podObject("p", onNode(node))) }
	}
	goes := func(t *testing.T, c *Cluster, p *Pod) { remove(t, c, p.Pod) }
	release := func(_ *testing.T, c *Cluster, p *Pod) { c.Release(p.UID) }
	lateness := func(*testing.T, *Cluster, *Pod) {
		<-time.After(testTTL)
		synctest.Wait()
	}
	for _, test := range []struct {
		name        string
		given, then step
		want        bool
	}{
		{"an assumption is released", assumed, release, true},
		{"an assumption expires", assumed, lateness, true},
		{"an assumption expires whose node is lost", func(t *testing.T, c *Cluster, p *Pod) {
			assume(t, c, p, "a")
			remove(t, c, nodeObject("a"))
		}, lateness, true},
		{"an assumption moves", assumed, func(t *testing.T, c *Cluster, p *Pod) { assume(t, c, p, "b") }, true},
		{"an assumption is renewed", assumed, func(_ *testing.T, c *Cluster, p *Pod) { c.Renew(p.UID) }, false},
		{"a pod is assumed once more where it is", assumed, assumed, false},
		{"an assumed pod is bound there", assumed, bindTo("a"), false},
		{"an assumed pod is bound elsewhere", assumed, bindTo("b"), true},
		{"an assumed pod goes", assumed, goes, true},
		{"an assumed pod changes", assumed, func(t *testing.T, c *Cluster, _ *Pod) { set(t, c, podObject("p", hostPort(1))) }, false},
		{"a pod that is not assumed is released", nothing, release, false},
		{"a pod without a node goes", nothing, goes, false},
		{"a pod is bound", nothing, bindTo("a"), false},
		{"a bound pod goes", bindTo("a"), goes, false},
		{"a bound pod has finished", bindTo("a"), func(t *testing.T, c *Cluster, _ *Pod) {
			set(t, c, podObject("p", onNode("a"), inPhase(corev1.PodSucceeded)))
		}, false},
		{"held room is let go", kept, func(_ *testing.T, c *Cluster, _ *Pod) { c.Unreserve("pod-held") }, true},
		{"held room is held elsewhere", kept, func(_ *testing.T, c *Cluster, _ *Pod) { c.Reserve(held(c), "b") }, true},
		{"an expected pod is not expected any more", expected, func(_ *testing.T, c *Cluster, p *Pod) { c.Unexpect(p.UID) }, true},
		{"an expected pod does not come", expected, lateness, true},
		{"an expected pod is assumed there", expected, assumed, false},
		{"an expected pod is bound there", expected, bindTo("a"), false},
		{"an expected pod is bound elsewhere", expected, bindTo("b"), true},
		{"a pod is expected once more", expected, expected, false},
		{"a nominated pod is bound there", func(t *testing.T, c *Cluster, _ *Pod) { set(t, c, podObject("p", nominated)) }, bindTo("a"), false},
		{
			"a nominated pod is bound elsewhere", func(t *testing.T, c *Cluster, _ *Pod) { set(t, c, podObject("p", nominated)) }, bindTo("b"), true,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				set(t, c, nodeObject("a"), nodeObject("b"), podObject("p"))
				pod := c.PendingPod("pod-p")
				test.given(t, c, pod)
				before := c.Snapshot()
				if before.Freed != 0 {
					t.Fatalf("room was freed at %d already", before.Freed)
				}
				test.then(t, c, pod)
				after := c.Snapshot()
				if got := after.Freed > before.Generation; got != test.want || after.Freed > after.Generation {
					t.Errorf("room is freed at %d, after %d and up to %d; want %t", after.Freed, before.Generation, after.Generation, test.want)
				}
				c.Release(pod.UID)
			})
		})
	}
}

func TestNodesThatAreOpenAgainCountAsFreed(t *testing.T) {
	c := newCluster(t)
	set(t, c, nodeObject("a"))
	before := c.Snapshot()
	c.NoteFreed()
	if after := c.Snapshot(); after.Freed <= before.Generation || after.Freed > after.Generation {
		t.Errorf("room is freed at %d, after %d and up to %d", after.Freed, before.Generation, after.Generation)
	}
}

// In any course of events: when muster's own books of a node become smaller and the watch shows no pod that
// left it, room was freed.
func TestNoRoomThatMusterAloneKeptIsFreedWithoutAWord(t *testing.T) {
	seeded.Check(t, func(rt *rapid.T) {
		c := newCluster(t)
		names := []string{"a", "b"}
		set(t, c, nodeObject("a"), nodeObject("b"))
		bound := map[string]string{}
		pods := []string{"p", "q", "r"}
		for range rapid.IntRange(1, 30).Draw(rt, "steps") {
			before := c.Snapshot()
			name, node := rapid.SampledFrom(pods).Draw(rt, "pod"), rapid.SampledFrom(names).Draw(rt, "node")
			pod := c.PendingPod(podObject(name).UID)
			seen := "" // where the watch shows a pod go
			switch step := rapid.SampledFrom([]string{
				"create", "assume", "release", "expect", "bind", "delete", "hold", "let go",
			}).Draw(rt, "step"); {
			case step == "create" && bound[name] == "":
				set(t, c, podObject(name))
			case step == "assume" && pod != nil:
				_ = c.AssumeAll([]*Pod{pod}, before.NodeByName(node))
			case step == "release":
				c.Release(podObject(name).UID)
			case step == "expect" && pod != nil:
				c.Expect(pod, node)
			case step == "bind" && bound[name] == "":
				set(t, c, podObject(name, onNode(node)))
				bound[name] = node
			case step == "delete":
				remove(t, c, podObject(name))
				seen = bound[name]
				delete(bound, name)
			case step == "hold":
				c.Reserve(held(c), node)
			case step == "let go":
				c.Unreserve("pod-held")
			}
			after := c.Snapshot()
			for _, on := range names {
				was, is := before.NodeByName(on), after.NodeByName(on)
				if fewer := len(is.Pods) < len(was.Pods); fewer && on != seen && after.Freed <= before.Generation {
					rt.Fatalf("%d of %d pods count on %s, the watch shows none go, and no room is freed", len(is.Pods), len(was.Pods), on)
				}
			}
		}
		for _, name := range pods {
			c.Release(podObject(name).UID)
		}
	})
}

package cluster

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// expectedOn says on which nodes pod p is expected.
func expectedOn(c *Cluster) (nodes string) {
	for node := range c.Snapshot().Nodes() {
		for _, pod := range node.Expected {
			if pod.UID == "pod-p" {
				nodes += node.Name
			}
		}
	}
	return nodes
}

func TestAPodIsExpectedUntilMoreIsKnown(t *testing.T) {
	for _, test := range []struct {
		name string
		then func(*testing.T, *Cluster, *Pod)
		want string
	}{
		{"nothing happens", func(*testing.T, *Cluster, *Pod) {}, "a"},
		{"it is expected elsewhere", func(_ *testing.T, c *Cluster, p *Pod) { c.Expect(p, "b") }, "b"},
		{"it is expected on a node that is not known", func(_ *testing.T, c *Cluster, p *Pod) { c.Expect(p, "c") }, ""},
		{"it is assumed there", func(t *testing.T, c *Cluster, p *Pod) { assume(t, c, p, "a") }, ""},
		{"it is assumed elsewhere", func(t *testing.T, c *Cluster, p *Pod) { assume(t, c, p, "b") }, ""},
		{"it is assumed and then expected", func(t *testing.T, c *Cluster, p *Pod) { assume(t, c, p, "b"); c.Expect(p, "a") }, ""},
		{"it is seen on a node", func(t *testing.T, c *Cluster, _ *Pod) { set(t, c, podObject("p", onNode("b"))) }, ""},
		{"it changes", func(t *testing.T, c *Cluster, _ *Pod) { set(t, c, podObject("p", hostPort(1))) }, "a"},
		{"it is deleted", func(_ *testing.T, c *Cluster, p *Pod) { _ = c.Delete(p.Pod) }, ""},
		{"it is released", func(_ *testing.T, c *Cluster, p *Pod) { c.Release(p.UID) }, ""},
		{"another pod is released", func(_ *testing.T, c *Cluster, _ *Pod) { c.Release("pod-q") }, "a"},
		{"the node goes and comes again", func(t *testing.T, c *Cluster, p *Pod) {
			_ = c.Delete(nodeObject("a"))
			set(t, c, nodeObject("a"))
			c.Release(p.UID)
		}, ""},
		{"the time of an assumption passes", func(*testing.T, *Cluster, *Pod) {
			<-time.After(time.Minute)
			synctest.Wait()
		}, ""},
		{"it is expected again before that", func(_ *testing.T, c *Cluster, p *Pod) {
			<-time.After(40 * time.Second)
			c.Expect(p, "a")
			<-time.After(40 * time.Second)
			synctest.Wait()
		}, "a"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCluster(t)
				set(t, c, nodeObject("a"), nodeObject("b"), podObject("p"))
				pod := c.PendingPod("pod-p")
				c.Expect(pod, "a")
				test.then(t, c, pod)
				if got := expectedOn(c); got != test.want {
					t.Errorf("it is expected on %q, want %q", got, test.want)
				}
				c.Release(pod.UID)
			})
		})
	}
}

func TestAnExpectedPodTakesNoRoom(t *testing.T) {
	c := newCluster(t)
	set(t, c, nodeObject("a"), podObject("p", func(p *corev1.Pod) { p.Spec.Containers = []corev1.Container{container("main", "cpu", "1")} }))
	before := c.Snapshot().NodeByName("a")
	pod := c.PendingPod("pod-p")
	c.Expect(pod, "a")
	defer c.Release(pod.UID)
	now := c.Snapshot()
	if after := now.NodeByName("a"); len(after.Pods) != 0 || !after.Requested.equal(&before.Requested) {
		t.Errorf("pods %v, requested %+v, want none", after.Pods, after.Requested)
	}
	if changes, _ := now.Since(now.Generation - 1); len(changes) != 1 || changes[0].Aspects != AspectExpected {
		t.Errorf("the journal says %+v, want one change of what is expected", changes)
	}
}

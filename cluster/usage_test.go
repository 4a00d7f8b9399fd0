package cluster

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

func TestUsageBelongsToTheNodeOfItsName(t *testing.T) {
	one, two := &Usage{Node: Resources{MilliCPU: 1}}, &Usage{Node: Resources{MilliCPU: 2}}
	tests := []struct {
		name string
		do   func(*Cluster)
		want *Usage
	}{
		{"a node that was not measured has none", func(*Cluster) {}, nil},
		{"a node that is measured has it", func(c *Cluster) { c.SetUsage("a", one) }, one},
		{"a later one takes the place of an earlier one", func(c *Cluster) { c.SetUsage("a", one); c.SetUsage("a", two) }, two},
		{"it can be taken back", func(c *Cluster) { c.SetUsage("a", one); c.SetUsage("a", nil) }, nil},
		{"that of another node does not matter", func(c *Cluster) { c.SetUsage("b", one) }, nil},
		{
			"it waits for its node",
			func(c *Cluster) { _ = c.Delete(nodeObject("a")); c.SetUsage("a", one); _ = c.Set(nodeObject("a")) },
			one,
		},
		{
			"it stays while its node is away",
			func(c *Cluster) { c.SetUsage("a", one); _ = c.Delete(nodeObject("a")); _ = c.Set(nodeObject("a")) },
			one,
		},
		{
			"it stays when the node changes, and when pods come and go",
			func(c *Cluster) {
				c.SetUsage("a", one)
				_ = c.Set(nodeObject("a", func(n *corev1.Node) { n.Spec.Unschedulable = true }))
				_ = c.Set(podObject("p", onNode("a")))
				_ = c.Set(podObject("q", onNode("a")))
				_ = c.Delete(podObject("p"))
			},
			one,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := newCluster(t)
			set(t, c, nodeObject("a"))
			test.do(c)
			if got := c.Snapshot().NodeByName("a").Usage; got != test.want {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

func TestANewMeasurementIsAChangeOfItsNode(t *testing.T) {
	c, usage := newCluster(t), &Usage{}
	set(t, c, nodeObject("a"))
	before := c.Snapshot()
	c.SetUsage("a", usage)
	c.SetUsage("a", usage)
	c.SetUsage("unknown", usage)
	after := c.Snapshot()
	changes, _ := after.Since(before.Generation)
	if diff := cmp.Diff([]Change{{Generation: before.Generation + 1, Aspects: AspectUsage}}, changes); diff != "" {
		t.Errorf("journal (-want +got):\n%s", diff)
	}
	if before.NodeByName("a").Usage != nil {
		t.Error("the snapshot before has it too")
	}
}

func TestTheAgeOfFiguresIsTakenWhenTheyWereLookedAt(t *testing.T) {
	taken := time.Unix(1000, 0)
	if got := (&Usage{Updated: taken, Seen: taken.Add(time.Minute)}).Age(); got != time.Minute {
		t.Errorf("%v, want a minute", got)
	}
}

func TestAPodWhoseConditionsDoNotSayIsAssignedWhenItComesToCountOnItsNode(t *testing.T) {
	tests := []struct {
		name string
		do   func(t *testing.T, c *Cluster)
		want time.Duration // after the start; -1 for never
	}{
		{
			"an assumed pod, when it is assumed",
			func(t *testing.T, c *Cluster) {
				set(t, c, podObject("p"))
				<-time.After(time.Second)
				assume(t, c, c.PendingPod("pod-p"), "a")
			},
			time.Second,
		},
		{
			"and not later when the watch says something else of it",
			func(t *testing.T, c *Cluster) {
				set(t, c, podObject("p"))
				assume(t, c, c.PendingPod("pod-p"), "a")
				<-time.After(time.Second)
				set(t, c, podObject("p", hostPort(80)))
			},
			0,
		},
		{
			"a bound pod, when it is first seen",
			func(t *testing.T, c *Cluster) {
				<-time.After(time.Second)
				set(t, c, podObject("p", onNode("a")))
				<-time.After(time.Second)
				set(t, c, podObject("p", onNode("a"), hostPort(80)))
			},
			time.Second,
		},
		{
			"a pod that moves, when it comes",
			func(t *testing.T, c *Cluster) {
				set(t, c, podObject("p", onNode("b")))
				<-time.After(time.Second)
				set(t, c, podObject("p", onNode("a")))
			},
			time.Second,
		},
		{
			"a pod whose conditions say it, never",
			func(t *testing.T, c *Cluster) {
				set(t, c, podObject("p"))
				assume(t, c, c.PendingPod("pod-p"), "a")
				set(t, c, podObject("p", onNode("a"), became(corev1.PodScheduled, 10)))
			},
			-1,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start, want := time.Now(), time.Time{}
				if test.want >= 0 {
					want = start.Add(test.want)
				}
				c := newCluster(t)
				set(t, c, nodeObject("a"), nodeObject("b"))
				test.do(t, c)
				if got := c.Snapshot().NodeByName("a").Pods[0].Assigned; !got.Equal(want) {
					t.Errorf("%v, want %v", got, want)
				}
				c.Release("pod-p") // ends the timer
			})
		})
	}
}

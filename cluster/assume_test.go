package cluster

import (
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// assumedOn is a cluster of nodes a and b where the watch shows a pod that
// muster has then assumed on a.
func assumedOn(t *testing.T) (*Cluster, *Pod) {
	t.Helper()
	c := newCluster(t)
	set(t, c, nodeObject("a"), nodeObject("b"), podObject("p"))
	pod := c.PendingPod("pod-p")
	assume(t, c, pod, "a")
	return c, pod
}

func assume(t *testing.T, c *Cluster, pod *Pod, node string) {
	t.Helper()
	if err := c.AssumeAll([]*Pod{pod}, c.Snapshot().NodeByName(node)); err != nil {
		t.Fatal(err)
	}
}

// places says on which nodes a pod counts.
func places(c *Cluster, uid types.UID) []string {
	var nodes []string
	for node := range c.Snapshot().Nodes() {
		for _, pod := range node.Pods {
			if pod.UID == uid {
				nodes = append(nodes, node.Name)
			}
		}
	}
	return nodes
}

func outcomes(c *Cluster) map[string]float64 {
	counts := map[string]float64{}
	for _, outcome := range []string{outcomeConfirmed, outcomeRefuted, outcomeReleased, outcomeExpired} {
		if n := testutil.ToFloat64(c.metrics.assumed.WithLabelValues(outcome)); n > 0 {
			counts[outcome] = n
		}
	}
	return counts
}

func TestAnAssumedPodCountsUntilTheWatchDecides(t *testing.T) {
	tests := []struct {
		name    string
		then    func(*testing.T, *Cluster)
		places  []string
		assumed string
		want    map[string]float64
	}{
		{
			name:   "nothing happens",
			then:   func(*testing.T, *Cluster) {},
			places: []string{"a"}, assumed: "a", want: map[string]float64{},
		},
		{
			name:   "the watch shows it there",
			then:   func(t *testing.T, c *Cluster) { set(t, c, podObject("p", onNode("a"))) },
			places: []string{"a"}, want: map[string]float64{"confirmed": 1},
		},
		{
			name:   "the watch shows it on another node",
			then:   func(t *testing.T, c *Cluster) { set(t, c, podObject("p", onNode("b"))) },
			places: []string{"b"}, want: map[string]float64{"refuted": 1},
		},
		{
			name:   "it is deleted",
			then:   func(t *testing.T, c *Cluster) { remove(t, c, podObject("p")) },
			places: nil, want: map[string]float64{"refuted": 1},
		},
		{
			name:   "it fails",
			then:   func(t *testing.T, c *Cluster) { set(t, c, podObject("p", inPhase(corev1.PodFailed))) },
			places: nil, want: map[string]float64{"refuted": 1},
		},
		{
			name: "its pending object changes",
			then: func(t *testing.T, c *Cluster) {
				set(t, c, podObject("p", func(p *corev1.Pod) { p.Labels["new"] = "label" }))
			},
			places: []string{"a"}, assumed: "a", want: map[string]float64{},
		},
		{
			name:   "muster takes it back",
			then:   func(_ *testing.T, c *Cluster) { c.Release("pod-p") },
			places: nil, want: map[string]float64{"released": 1},
		},
		{
			name: "muster takes it back twice",
			then: func(_ *testing.T, c *Cluster) {
				c.Release("pod-p")
				c.Release("pod-p")
			},
			places: nil, want: map[string]float64{"released": 1},
		},
		{
			name: "muster takes it back after the watch showed it there",
			then: func(t *testing.T, c *Cluster) {
				set(t, c, podObject("p", onNode("a")))
				c.Release("pod-p")
			},
			places: []string{"a"}, want: map[string]float64{"confirmed": 1},
		},
		{
			name:   "muster decides for another node",
			then:   func(t *testing.T, c *Cluster) { assume(t, c, c.PendingPod("pod-p"), "b") },
			places: []string{"b"}, assumed: "b", want: map[string]float64{"released": 1},
		},
		{
			name:   "its node goes",
			then:   func(t *testing.T, c *Cluster) { remove(t, c, nodeObject("a")) },
			places: nil, assumed: "a", want: map[string]float64{},
		},
		{
			name: "its node goes and comes back",
			then: func(t *testing.T, c *Cluster) {
				remove(t, c, nodeObject("a"))
				set(t, c, nodeObject("a"))
			},
			places: []string{"a"}, assumed: "a", want: map[string]float64{},
		},
		{
			name:   "time passes, less than its term",
			then:   func(*testing.T, *Cluster) { <-time.After(testTTL - 1) },
			places: []string{"a"}, assumed: "a", want: map[string]float64{},
		},
		{
			name:   "its term is over",
			then:   func(*testing.T, *Cluster) { <-time.After(testTTL + 1) },
			places: nil, want: map[string]float64{"expired": 1},
		},
		{
			name: "it is renewed",
			then: func(_ *testing.T, c *Cluster) {
				<-time.After(testTTL - 1)
				c.Renew("pod-p")
				<-time.After(testTTL - 1)
			},
			places: []string{"a"}, assumed: "a", want: map[string]float64{},
		},
		{
			name: "it is renewed and its new term is over",
			then: func(_ *testing.T, c *Cluster) {
				<-time.After(testTTL - 1)
				c.Renew("pod-p")
				<-time.After(testTTL + 1)
			},
			places: nil, want: map[string]float64{"expired": 1},
		},
		{
			name: "its term is over after the watch showed it there",
			then: func(t *testing.T, c *Cluster) {
				set(t, c, podObject("p", onNode("a")))
				c.Renew("pod-p")
				<-time.After(2 * testTTL)
			},
			places: []string{"a"}, want: map[string]float64{"confirmed": 1},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _ := assumedOn(t)
				test.then(t, c)
				synctest.Wait()
				if diff := cmp.Diff(test.places, places(c, "pod-p")); diff != "" {
					t.Errorf("nodes where it counts (-want +got):\n%s", diff)
				}
				if got := c.Assumed("pod-p"); got != test.assumed {
					t.Errorf("assumed on %q, want %q", got, test.assumed)
				}
				if diff := cmp.Diff(test.want, outcomes(c)); diff != "" {
					t.Errorf("outcomes (-want +got):\n%s", diff)
				}
				c.Release("pod-p")
			})
		})
	}
}

func TestARenewalWinsOverATimerThatFiredJustBefore(t *testing.T) {
	c, pod := assumedOn(t)
	fired := c.ledger.assumed[pod.UID]
	c.Renew(pod.UID)
	c.ledger.expire(pod, fired)
	if c.Assumed(pod.UID) != "a" {
		t.Error("the assumption expired")
	}
	c.Release(pod.UID)
	c.ledger.expire(pod, fired)
	if diff := cmp.Diff(map[string]float64{"released": 1}, outcomes(c)); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
}

func TestADecisionOnAnOldStateOfANodeIsRefused(t *testing.T) {
	changes := map[string]func(*testing.T, *Cluster){
		"a pod came": func(t *testing.T, c *Cluster) { set(t, c, podObject("other", onNode("a"))) },
		"its labels changed": func(t *testing.T, c *Cluster) {
			set(t, c, nodeObject("a", func(n *corev1.Node) { n.Labels["x"] = "y" }))
		},
		"it is gone":             func(t *testing.T, c *Cluster) { remove(t, c, nodeObject("a")) },
		"it is another by now":   func(t *testing.T, c *Cluster) { remove(t, c, nodeObject("a")); set(t, c, nodeObject("new")) },
		"it has another CSINode": func(t *testing.T, c *Cluster) { set(t, c, csiNode("a")) },
	}
	for name, change := range changes {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			set(t, c, nodeObject("a"), podObject("p"))
			decidedOn := c.Snapshot().NodeByName("a")
			change(t, c)
			before := c.Snapshot()
			if err := c.AssumeAll([]*Pod{c.PendingPod("pod-p")}, decidedOn); !errors.Is(err, ErrNodeChanged) {
				t.Errorf("the error is %v, want %v", err, ErrNodeChanged)
			}
			if c.Snapshot() != before || c.Assumed("pod-p") != "" {
				t.Error("the refused decision left a trace")
			}
		})
	}
	t.Run("it was only asked what if", func(t *testing.T) {
		c := newCluster(t)
		set(t, c, nodeObject("a"), podObject("p"))
		pod := c.PendingPod("pod-p")
		if err := c.AssumeAll([]*Pod{pod}, c.Snapshot().NodeByName("a").WithPod(pod)); !errors.Is(err, ErrNodeChanged) {
			t.Errorf("the error is %v, want %v", err, ErrNodeChanged)
		}
	})
}

func TestADecisionThatReadOtherNodesIsRefusedOnceWhatItReadHasChanged(t *testing.T) {
	for name, test := range map[string]struct {
		then func(*testing.T, *Cluster)
		want error
	}{
		"nothing happens":                 {func(*testing.T, *Cluster) {}, nil},
		"a pod comes to another node":     {func(t *testing.T, c *Cluster) { set(t, c, podObject("q", onNode("b"))) }, ErrNodeChanged},
		"a pod is assumed on another one": {func(t *testing.T, c *Cluster) { assume(t, c, c.PendingPod("pod-r"), "b") }, ErrNodeChanged},
		"another node is cordoned": {func(t *testing.T, c *Cluster) {
			set(t, c, nodeObject("b", func(node *corev1.Node) { node.Spec.Unschedulable = true }))
		}, nil},
		"more changes than are remembered": {func(t *testing.T, c *Cluster) {
			set(t, c, nodeObject("b", func(node *corev1.Node) { node.Spec.Unschedulable = true }))
			c.view.journal.forget(c.view.generation)
		}, ErrNodeChanged},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			set(t, c, nodeObject("a"), nodeObject("b"), podObject("p"), podObject("r"))
			snap := c.Snapshot()
			judged := Basis{Node: snap.NodeByName("a"), Generation: snap.Generation, Aspects: AspectPods}
			test.then(t, c)
			if err := c.AssumeAsJudged(c.PendingPod("pod-p"), judged); !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
		})
	}
}

func TestADecisionAboutAnEarlierStateOfThePodIsRefused(t *testing.T) {
	c := newCluster(t)
	set(t, c, nodeObject("a"), podObject("p"))
	pod := c.PendingPod("pod-p")
	set(t, c, podObject("p", func(pod *corev1.Pod) { pod.ResourceVersion = "2" }))
	snap := c.Snapshot()
	judged := Basis{Node: snap.NodeByName("a"), Generation: snap.Generation}
	if err := c.AssumeAsJudged(pod, judged); err != nil {
		t.Errorf("nothing of it has changed that counts: %v", err)
	}
	c.Release(pod.UID)
	set(t, c, podObject("p", func(pod *corev1.Pod) { pod.Labels = map[string]string{"app": "other"} }))
	snap = c.Snapshot()
	judged = Basis{Node: snap.NodeByName("a"), Generation: snap.Generation}
	if err := c.AssumeAsJudged(pod, judged); !errors.Is(err, ErrNodeChanged) {
		t.Errorf("error %v, want %v", err, ErrNodeChanged)
	}
	if err := c.AssumeAsJudged(c.PendingPod(pod.UID), judged); err != nil {
		t.Errorf("as it is now: %v", err)
	}
	c.Release(pod.UID)
}

func TestARefusedDecisionLeavesTheEarlierOne(t *testing.T) {
	c, pod := assumedOn(t)
	old := c.Snapshot().NodeByName("b")
	set(t, c, podObject("other", onNode("b")))
	if err := c.AssumeAll([]*Pod{pod}, old); !errors.Is(err, ErrNodeChanged) {
		t.Errorf("the error is %v, want %v", err, ErrNodeChanged)
	}
	if c.Assumed(pod.UID) != "a" {
		t.Errorf("assumed on %q, want a", c.Assumed(pod.UID))
	}
	c.Release(pod.UID)
}

func TestABoundPodIsNotAssumed(t *testing.T) {
	c := newCluster(t)
	set(t, c, nodeObject("a"), podObject("p"))
	pod := c.PendingPod("pod-p")
	set(t, c, podObject("p", onNode("a")))
	if err := c.AssumeAll([]*Pod{pod}, c.Snapshot().NodeByName("a")); !errors.Is(err, ErrPodPlaced) {
		t.Errorf("the error is %v, want %v", err, ErrPodPlaced)
	}
}

func TestOfManyDecisionsOnOneStateOneSucceeds(t *testing.T) {
	c := newCluster(t)
	set(t, c, nodeObject("a"))
	node := c.Snapshot().NodeByName("a")
	var deciders sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		pod := NewPod(podObject(string(rune('p' + i))))
		deciders.Go(func() { errs[i] = c.AssumeAll([]*Pod{pod}, node) })
	}
	deciders.Wait()
	succeeded := 0
	for _, err := range errs {
		switch {
		case err == nil:
			succeeded++
		case !errors.Is(err, ErrNodeChanged):
			t.Errorf("the error is %v, want %v", err, ErrNodeChanged)
		}
	}
	if pods := c.Snapshot().NodeByName("a").Pods; succeeded != 1 || len(pods) != 1 {
		t.Errorf("%d decisions succeeded and %d pods count, want 1 and 1", succeeded, len(pods))
	}
	for uid := range c.ledger.assumed {
		c.Release(uid)
	}
}

func TestAPodMayBeBoundForAWhileOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, pod := assumedOn(t)
		assume := func(node string) error { return c.AssumeAll([]*Pod{pod}, c.Snapshot().NodeByName(node)) }
		c.Bind(pod.UID, "b", c.ledger.term) // it is not assumed there
		c.Bind(pod.UID, "a", c.ledger.term)
		for range 3 { // to assume it there once more does not make it longer
			<-time.After(c.ledger.term / 4)
			if err := assume("a"); err != nil {
				t.Fatal(err)
			}
			if err := assume("b"); !errors.Is(err, ErrPodPlaced) {
				t.Errorf("assumed elsewhere while it may be bound: %v", err)
			}
			c.Release(pod.UID)
			if got := c.Assumed(pod.UID); got != "a" {
				t.Errorf("released while it may be bound; it is assumed on %q", got)
			}
		}
		<-time.After(c.ledger.term / 4)
		if got := c.Binding(pod.UID); got != "" {
			t.Errorf("it may be bound to %q after the while", got)
		}
		if err := assume("b"); err != nil {
			t.Errorf("assumed elsewhere after the while: %v", err)
		}
		c.Release(pod.UID)
	})
}

package main

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/e2e/workload"
)

// twoLevelNodes are nodes for contended pods.
func twoLevelNodes() []*corev1.Node {
	nodes := workload.Generate(workload.Shape{Nodes: 2, Seed: seed}).Nodes
	level(nodes)
	return nodes
}

// numbered gives pods the UIDs that an API server would.
func numbered(pods []*corev1.Pod) []*corev1.Pod {
	for _, p := range pods {
		p.UID = types.UID(p.Name)
	}
	return pods
}

func boundTo(p *corev1.Pod, node *corev1.Node) *corev1.Pod {
	p = p.DeepCopy()
	p.Spec.NodeName = node.Name
	return p
}

func TestAGangIsWholeWhenTheLastOfItsPodsIsBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := twoLevelNodes()
		pods := numbered(gangs{count: 1, size: 2, contended: true}.pods(withMuster))
		w := newWitness(nodes, map[string]map[string]int{"app-0": {"app-0": 2}, "app-1": {"app-1": 2}})
		began := time.Now()
		for i, p := range pods {
			w.observe(nil, p)
			if got := w.partial(); got != i {
				t.Errorf("after %d bindings %d gangs are bound in part", i, got)
			}
			<-time.After(time.Second)
			w.observe(p, boundTo(p, nodes[i]))
		}
		if diff := cmp.Diff(map[string]time.Time{"app-0": began.Add(2 * time.Second)}, w.started()); diff != "" {
			t.Errorf("whole gangs (-want +got):\n%s", diff)
		}
		w.observe(boundTo(pods[0], nodes[0]), nil)
		if got := w.partial(); got != 0 {
			t.Errorf("a gang that ends counts as %d in part", got)
		}
		if err := w.verdict(); err != nil {
			t.Error(err)
		}
	})
}

func TestAWitnessHearsOfWhatMustNotHappen(t *testing.T) {
	nodes := twoLevelNodes()
	pods := numbered(gangs{count: 1, size: 2, contended: true}.pods(withMuster))
	single := numbered(neighbours("beside-", 1))[0]
	for name, test := range map[string]struct {
		happens func(w *witness)
		err     string
	}{
		"a neighbour fits beside a member": {func(w *witness) {
			w.observe(nil, boundTo(pods[0], nodes[0]))
			w.observe(nil, boundTo(single, nodes[0]))
		}, ""},
		"a member fits where one was deleted": {func(w *witness) {
			w.observe(nil, boundTo(pods[0], nodes[0]))
			w.observe(boundTo(pods[0], nodes[0]), nil)
			w.observe(nil, boundTo(pods[1], nodes[0]))
		}, ""},
		"two members are on one node": {func(w *witness) {
			w.observe(nil, boundTo(pods[0], nodes[0]))
			w.observe(nil, boundTo(pods[1], nodes[0]))
		}, "too little: [cpu]"},
		"a bound pod moves": {func(w *witness) {
			w.observe(nil, boundTo(pods[0], nodes[0]))
			w.observe(boundTo(pods[0], nodes[0]), boundTo(pods[0], nodes[1]))
		}, "and then to " + nodes[1].Name},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWitness(nodes, map[string]map[string]int{"app-0": {"app-0": 2}, "app-1": {"app-1": 2}})
			test.happens(w)
			err := w.verdict()
			if test.err == "" && err == nil {
				return
			}
			if err == nil || test.err == "" || !strings.Contains(err.Error(), test.err) {
				t.Errorf("error %v, want %q", err, test.err)
			}
		})
	}
}

func TestWhoWaitsForAPodHearsWhenItIsBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		nodes := twoLevelNodes()
		p := numbered(neighbours("before-", 1))[0]
		w := newWitness(nodes, map[string]map[string]int{"app-0": {"app-0": 1}, "app-1": {"app-1": 1}})
		heard := w.hear(p.Name)
		w.observe(nil, p)
		select {
		case <-heard:
			t.Error("it was heard before it happened")
		default:
		}
		<-time.After(time.Second)
		w.observe(p, boundTo(p, nodes[0]))
		if at := <-heard; !at.Equal(time.Now()) {
			t.Errorf("heard of %s at %s", at, time.Now())
		}
		if len(w.started()) > 0 {
			t.Error("a pod without a gang is a whole gang")
		}
	})
}

package extender_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// packing has muster place gated pods, and fill a node before it takes the next one: kube-scheduler alone, which is not
// configured and has never heard of muster, spreads pods.
const packing = `
profiles:
- schedulerName: default-scheduler
  nodeSelection: Muster
  gates: UntilPlace
  equivalence: Template
  plugins:
    score:
      disabled: [{name: "*"}]
      enabled: [{name: NodeResourcesFit}]
  pluginConfig:
  - name: NodeResourcesFit
    args: {scoringStrategy: {type: MostAllocated, resources: [{name: cpu, weight: 1}]}}
`

// optedIn changes a pod as the policy changes opted-in pods.
func optedIn(pod *corev1.Pod) {
	pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: v1alpha1.AheadGate})
}

// nodesUsed counts the pods on each node.
func nodesUsed(pods map[string]*corev1.Pod) map[string]int {
	used := map[string]int{}
	for _, pod := range pods {
		if pod.Spec.NodeName != "" {
			used[pod.Spec.NodeName]++
		}
	}
	return used
}

func TestAStockSchedulerPutsGatedPodsWhereMusterHasPlannedThem(t *testing.T) {
	const pods = 16
	c := newCluster(t, workload.NewNodes("node", 8, "4")...)
	c.Schedule("")
	s := c.serve(muster.Options{Text: packing})
	c.createPods(workload.NewPods("pod", pods, "1", optedIn)...)
	c.awaitBound(pods)
	if used := nodesUsed(c.Pods()); len(used) != pods/4 {
		t.Errorf("%d pods are on %d nodes, want 4 each: %v", pods, len(used), used)
	}
	c.EventuallyIs("muster has seen that", pods, func() int { return s.nominations("confirmed") })
}

func TestAGatedPodThatFitsNowhereIsLeftToTheScheduler(t *testing.T) {
	c := newCluster(t, workload.NewNodes("node", 2, "4")...)
	c.Schedule("")
	c.serve(muster.Options{Text: packing})
	c.createPods(workload.NewPod("huge", "100", optedIn))
	c.Eventually("the scheduler says that it does not fit", func() error {
		pod := c.Pod("huge")
		if len(pod.Spec.SchedulingGates) > 0 {
			return errors.New("it is gated")
		}
		if !slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool { return c.Reason == corev1.PodReasonUnschedulable }) {
			return fmt.Errorf("conditions %+v", pod.Status.Conditions)
		}
		return nil
	})
	c.createNodes(workload.NewNode("large", "200"))
	c.awaitBound(1)
}

func TestAnotherMusterLetsGoWhatADeadOneKept(t *testing.T) {
	const pods = 100
	c := newCluster(t, workload.NewNodes("node", 8, "16")...)
	c.Schedule("")
	s := c.serve(muster.Options{Text: packing})
	c.createPods(workload.NewPods("pod", pods, "1", optedIn)...)
	c.Eventually("some pods are let go", func() error {
		if s.nominations("confirmed") < 10 {
			return fmt.Errorf("%v are bound", s.nominations("confirmed"))
		}
		return nil
	})
	s.Must(s.Crash())
	c.serve(muster.Options{Text: packing})
	c.awaitBound(pods)
	bound := c.Pods()
	for name, pod := range bound {
		if len(pod.Spec.SchedulingGates) > 0 {
			t.Errorf("%s is gated", name)
		}
	}
	for node, used := range nodesUsed(bound) {
		if used > 16 {
			t.Errorf("%d pods are on %s", used, node)
		}
	}
}

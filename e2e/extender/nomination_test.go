package extender_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// nominating has muster place pods ahead of kube-scheduler, whatever that saves.
const nominating = `
profiles:
- schedulerName: default-scheduler
  nodeSelection: Muster
  equivalence: Template
nomination: {minSaving: 0s}
`

func TestPodsThatWaitAreBoundWhereMusterNominatedThem(t *testing.T) {
	const pods = 200
	nodes := workload.NewNodes("node", 20, "4")
	c := newCluster(t, nodes...)
	s := c.serve(muster.Options{Text: nominating})
	c.createPods(workload.NewPods("pod", pods, "300m")...)

	planned := map[string]string{}
	c.Eventually("all pods are nominated", func() error {
		now := c.Pods()
		for name, pod := range now {
			if planned[name] = pod.Status.NominatedNodeName; planned[name] == "" {
				return fmt.Errorf("pod %s is not", name)
			}
		}
		return nil
	})
	c.Schedule(s.schedulerConfig(nil))
	c.awaitBound(pods)

	bound := c.Pods()
	var list []*corev1.Pod
	asPlanned := 0
	for name, pod := range bound {
		list = append(list, pod)
		if pod.Spec.NodeName == planned[name] {
			asPlanned++
		}
	}
	if asPlanned < pods/2 { // the scheduler is free to choose another node, and has no reason to
		t.Errorf("%d of %d pods are bound where they were nominated", asPlanned, pods)
	}
	if over := overcommitted(nodes, list); len(over) > 0 {
		t.Errorf("overcommitted: %s", strings.Join(over, ", "))
	}
	c.EventuallyIs("muster has seen that", asPlanned, func() int { return s.nominations("confirmed") })
	if page, err := s.Page(s.Context(), "/debug/placement"); err != nil || !strings.Contains(page, "confirmed") {
		t.Errorf("/debug/placement says %q, error %v", page, err)
	}
}

func TestPodsAreBoundWhileMusterNominatesTheNextOnes(t *testing.T) {
	lab.Long(t)
	const pods = 300
	nodes := workload.NewNodes("node", 20, "4")
	c := newCluster(t, nodes...)
	s := c.serve(muster.Options{Text: nominating})
	all := workload.NewPods("pod", pods, "250m") // of 320 that there is room for
	c.createPods(all[:pods/10]...)
	c.Eventually("muster nominates", func() error {
		planned, err := s.Planned(t.Context())
		if err == nil && planned == 0 {
			err = errors.New("it has not")
		}
		return err
	})
	c.Schedule(s.schedulerConfig(nil))
	c.createPods(all[pods/10:]...)
	c.awaitBound(pods)
	bound := c.Pods()
	var list []*corev1.Pod
	for _, pod := range bound {
		list = append(list, pod)
	}
	if over := overcommitted(nodes, list); len(over) > 0 {
		t.Errorf("overcommitted: %s", strings.Join(over, ", "))
	}
	if s.nominations("confirmed")+s.nominations("overtaken") == 0 {
		t.Error("muster nominated nothing")
	}
	if got := s.calls("filter", "error"); got > 0 {
		t.Errorf("%d filter calls failed", got)
	}
}

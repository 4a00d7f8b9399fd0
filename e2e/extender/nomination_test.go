package extender_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

// nominating has muster place pods ahead of kube-scheduler.
const nominating = `
profiles:
- schedulerName: default-scheduler
  nodeSelection: Nominate
  equivalence: Template
`

func TestPodsThatWaitAreBoundWhereMusterNominatedThem(t *testing.T) {
	const pods = 200
	nodes := newNodes(20, "4")
	c := newCluster(t, nodes...)
	s := c.serve(serving{config: nominating})
	c.createPods(newPods(pods, "300m")...)

	planned := map[string]string{}
	c.eventually("all pods are nominated", func() error {
		now, err := c.pods()
		if err != nil {
			return err
		}
		for name, pod := range now {
			if planned[name] = pod.Status.NominatedNodeName; planned[name] == "" {
				return fmt.Errorf("pod %s is not", name)
			}
		}
		return nil
	})
	c.schedule(s.schedulerConfig(nil))
	c.awaitBound(pods)

	bound, err := c.pods()
	if err != nil {
		t.Fatal(err)
	}
	var list []*corev1.Pod
	asPlanned := 0
	for name, pod := range bound {
		list = append(list, pod)
		if pod.Spec.NodeName == planned[name] {
			asPlanned++
		}
	}
	if asPlanned < pods*95/100 {
		t.Errorf("%d of %d pods are bound where they were nominated", asPlanned, pods)
	}
	if over := overcommitted(nodes, list); len(over) > 0 {
		t.Errorf("overcommitted: %s", strings.Join(over, ", "))
	}
	c.eventually("muster has seen that", func() error {
		if got := s.nominations("confirmed"); got != float64(asPlanned) {
			return fmt.Errorf("it counts %v confirmed nominations, want %d", got, asPlanned)
		}
		return nil
	})
	if page, err := s.get("/debug/placement"); err != nil || !strings.Contains(page, "confirmed") {
		t.Errorf("/debug/placement says %q, error %v", page, err)
	}
}

// nominations is how many nominations had an outcome.
func (s *server) nominations(outcome string) float64 {
	s.Helper()
	for _, metric := range s.metrics("muster_nominations_total") {
		if labelsOf(metric)["outcome"] == outcome {
			return metric.GetCounter().GetValue()
		}
	}
	return 0
}

func TestPodsAreBoundWhileMusterNominatesTheNextOnes(t *testing.T) {
	const pods = 300
	nodes := newNodes(20, "4")
	c := newCluster(t, nodes...)
	s := c.serve(serving{config: nominating + "nomination: {minBacklog: 1, minSaving: 0s}\n"})
	c.schedule(s.schedulerConfig(nil))
	c.createPods(newPods(pods, "250m")...) // of 320 that there is room for
	c.awaitBound(pods)
	bound, err := c.pods()
	if err != nil {
		t.Fatal(err)
	}
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

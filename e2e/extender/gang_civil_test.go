package extender_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// goneAfter waits until none of some pods is left, or stays, and returns how long that took from a time on to the first of them.
func (c *cluster) goneAfter(since time.Time, names ...string) (first time.Duration) {
	c.Helper()
	c.Eventually("pods are evicted", func() error {
		for _, name := range names {
			if pod, is := c.Pods()[name]; is && pod.DeletionTimestamp == nil {
				return fmt.Errorf("%s is not", name)
			} else if first == 0 {
				first = time.Since(since)
			}
		}
		return nil
	})
	return first
}

// awaitWords waits until muster says some words of why a gang waits.
func (s *server) awaitWords(gang, words string) {
	s.Helper()
	s.Eventually("muster says why "+gang+" waits", func() error {
		page, err := s.Page(s.Context(), "/debug/gangs/"+workload.Namespace+"/"+gang)
		if err == nil && !strings.Contains(page, words) {
			err = fmt.Errorf("it says %s", page)
		}
		return err
	})
}

func TestAGangLeavesOthersAloneForAsLongAsItSays(t *testing.T) {
	const after = 10 * time.Second
	nodes := workload.NewNodes("node", 2, "4")
	c := newCluster(t, nodes...)
	c.createPriorityClass("high", 1000)
	group := workload.NewPodGroup("g", 2)
	group.SetAnnotations(map[string]string{v1alpha1.AnnotationPreemptAfter: after.String()})
	c.createPodGroups(group)
	c.occupy("low", nodes)
	s := c.serveAndSchedule(muster.Options{})
	w := s.watch()
	began := time.Now()
	c.createPods(workload.NewMembers("g", 2, "3", workload.OfPriority("high"))...)
	s.awaitWords("g", "nobody is evicted for it before ")
	if took := c.goneAfter(began, "low-0", "low-1"); took < after {
		t.Errorf("a pod was evicted after %s", took)
	}
	w.settles(exactly(map[string]int{"": 2, "g": 2}))
}

func TestPodsAreNotEvictedForAGangBeforeTheyHaveRunForAsLongAsTheyAsk(t *testing.T) {
	const least = 10 * time.Second
	nodes := workload.NewNodes("node", 2, "4")
	c := newCluster(t, nodes...)
	c.createPriorityClass("high", 1000)
	c.createPodGroups(workload.NewPodGroup("g", 2))
	s := c.serveAndSchedule(muster.Options{})
	w := s.watch()
	began := time.Now()
	c.occupy("low", nodes, workload.Annotated(v1alpha1.AnnotationMinRuntime, least.String()))
	c.createPods(workload.NewMembers("g", 2, "3", workload.OfPriority("high"))...)
	s.awaitWords("g", "have not run for as long as they ask to")
	if took := c.goneAfter(began, "low-0", "low-1"); took < least-time.Second { // stamps are of whole seconds
		t.Errorf("a pod was evicted after %s", took)
	}
	w.settles(exactly(map[string]int{"": 2, "g": 2}))
}

func TestASinglePodWaitsUntilItsVictimHasRunForAsLongAsItAsks(t *testing.T) {
	const least = 10 * time.Second
	nodes := workload.NewNodes("node", 1, "4")
	c := newCluster(t, nodes...)
	c.createPriorityClass("high", 1000)
	w := c.serveAndSchedule(muster.Options{}).watch()
	began := time.Now()
	c.occupy("low", nodes, workload.Annotated(v1alpha1.AnnotationMinRuntime, least.String()))
	c.createPods(workload.NewPod("high", "3", workload.OfPriority("high")))
	if took := c.goneAfter(began, "low-0"); took < least-time.Second {
		t.Errorf("it was evicted after %s", took)
	}
	w.settles(exactly(map[string]int{"": 2}))
}

// The controller of the victims makes each of them again as soon as it has gone, while the other one takes its time.
func TestPodsInThePlaceOfVictimsDoNotTakeTheirRoomBack(t *testing.T) {
	nodes := workload.NewNodes("node", 2, "4")
	c := newCluster(t, nodes...)
	c.createPriorityClass("high", 1000)
	c.createPodGroups(workload.NewPodGroup("g", 2))
	c.occupy("slow", nodes, func(pod *corev1.Pod) { pod.Spec.TerminationGracePeriodSeconds = new(int64(3600)) })
	w := c.serveAndSchedule(muster.Options{}).watch()
	c.createPods(workload.NewMembers("g", 2, "3", workload.OfPriority("high"))...)
	c.goneAfter(time.Now(), "slow-0", "slow-1")
	for i, name := range []string{"slow-0", "slow-1"} {
		c.RemovePod(name)
		c.createPods(workload.NewPod(fmt.Sprint("again-", i), "3"))
		if i == 0 {
			w.settles(exactly(map[string]int{"": 2}))
		}
	}
	w.settles(exactly(map[string]int{"": 2, "g": 2}))
	for _, name := range []string{"again-0", "again-1"} {
		if on := c.Pod(name).Spec.NodeName; on != "" {
			t.Errorf("%s is on %s", name, on)
		}
	}
}

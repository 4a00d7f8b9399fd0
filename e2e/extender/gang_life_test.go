package extender_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

func TestCompletedPodsOfAFormerPodGroupDoNotCount(t *testing.T) {
	c := newCluster(t, workload.NewNodes("node", 2, "4")...)
	c.createPodGroups(workload.NewPodGroup("g", 2))
	w := c.serveAndSchedule(muster.Options{}).watch()
	c.createPods(workload.NewMembers("g", 2, "3")...)
	w.settles(exactly(map[string]int{"g": 2}))
	for _, name := range []string{"g-0", "g-1"} {
		pod := c.Pod(name)
		pod.Status.Phase = corev1.PodSucceeded
		_, err := c.Client.CoreV1().Pods(workload.Namespace).UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
		c.Must(err)
	}
	again := workload.NewPodGroup("g", 4)
	groups := c.podGroups(again)
	c.Eventually("the PodGroup is created again, in another second than its pods", func() error {
		if err := groups.Delete(t.Context(), "g", metav1.DeleteOptions{}); err != nil {
			return err
		}
		created, err := groups.Create(t.Context(), again.DeepCopy(), metav1.CreateOptions{})
		if err != nil {
			return err
		}
		if at := created.GetCreationTimestamp(); !at.After(c.Pod("g-1").CreationTimestamp.Time) {
			return fmt.Errorf("it was created at %s", at)
		}
		return nil
	})
	for i := range 4 {
		c.createPods(workload.NewPod(fmt.Sprintf("next-%d", i), "3", workload.InGang("g")))
	}
	w.settles(exactly(map[string]int{"g": 2})) // there is room for two of four
}

func TestMembersKeepTheirPlacesWhenTheirCallsHaveTakenAsLongAsTheyMay(t *testing.T) {
	lab.Long(t)
	c := newCluster(t, workload.NewNodes("node", 5, "4")...)
	group := workload.NewPodGroup("g", 4)
	group.Object["spec"].(map[string]any)["scheduleTimeoutSeconds"] = int64(600)
	c.createPodGroups(group)
	s := c.serve(muster.Options{Text: "timeouts:\n  bind: 3s\n"})
	w, d := s.watch(), s.shutFor("g-3")
	c.Schedule(s.schedulerConfig(nil, d.through))
	c.createPods(workload.NewMembers("g", 4, "3")...)
	for _, name := range []string{"g-0", "g-1", "g-2"} {
		c.Eventually("the call for "+name+" ends, and it keeps its place", func() error {
			page, err := s.Page(s.Context(), "/debug/gangs/"+workload.Namespace+"/g")
			for line := range strings.Lines(page) {
				if columns := strings.Fields(line); len(columns) > 2 && columns[0] == name && columns[1] == "kept" {
					return nil
				}
			}
			return fmt.Errorf("%s, error %w", page, err)
		})
	}
	d.open()
	w.settles(exactly(map[string]int{"g": 4}))
	denied, err := s.MetricBy(t.Context(), "muster_gang_denials_total", "reason", nil)
	c.Must(err)
	for why, count := range denied {
		if count > 0 {
			t.Errorf("it was denied %d times: %s", count, why)
		}
	}
}

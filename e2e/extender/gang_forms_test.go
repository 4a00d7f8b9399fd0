package extender_test

import (
	"fmt"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// oneOfEach has a profile for each way to pick a node.
const oneOfEach = `
profiles:
- {schedulerName: scheduler-picks, nodeSelection: Scheduler}
- {schedulerName: muster-picks, nodeSelection: Muster}
- {schedulerName: nominated, nodeSelection: Muster}
`

// by makes pods members of a group by a label or by Koordinator's annotation, and has them say how many must start
// together if no PodGroup does.
func by(label, group string, minMember int) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		if label == v1alpha1.AnnotationKoordinatorName {
			pod.Labels = nil
			pod.Annotations = map[string]string{label: group, v1alpha1.AnnotationKoordinatorMinAvailable: strconv.Itoa(minMember)}
			return
		}
		pod.Labels = map[string]string{label: group}
		if label == v1alpha1.LabelMuster {
			pod.Annotations = map[string]string{v1alpha1.AnnotationMinMember: strconv.Itoa(minMember)}
		}
	}
}

// Each form has, for each profile, a gang with room and one that will never have room.
func TestAGangMayHaveAnyFormAndBePlacedByAnybody(t *testing.T) {
	const each, tooMany = 3, 40
	profiles := []string{"scheduler-picks", "muster-picks", "nominated"}
	forms := append(v1alpha1.GroupLabels(), v1alpha1.AnnotationKoordinatorName)
	if testing.Short() {
		forms = []string{v1alpha1.LabelMuster, v1alpha1.LabelX, v1alpha1.AnnotationKoordinatorName}
	}
	room := each * len(profiles) * len(forms)
	c := newCluster(t, workload.NewNodes("node", room, "4")...)
	var groups []*unstructured.Unstructured
	var pods []*corev1.Pod
	want := map[string]int{}
	for number, label := range forms {
		for _, profile := range profiles {
			for name, count := range map[string]int{"fits": each, "large": tooMany} {
				name = fmt.Sprintf("%s-%s-%d", name, profile, number)
				if apiGroup := v1alpha1.APIGroupOf(label); apiGroup != "" {
					group := workload.NewPodGroup(name, count)
					group.SetAPIVersion(apiGroup + "/" + v1alpha1.Version)
					groups = append(groups, group)
				}
				pods = append(pods, workload.NewMembers(name, count, "3", workload.ScheduledBy(profile), by(label, name, count))...)
				if count == each {
					want[name] = each
				}
			}
		}
	}
	c.createPodGroups(groups...)
	w := c.serveAndSchedule(muster.Options{Text: oneOfEach}).watch()
	c.createPods(pods...)
	w.settles(exactly(want))
	if got := w.calls("filter", "error"); got > 0 {
		t.Errorf("%d filter calls failed", got)
	}
}

func TestAGangOfAThousandStartsWhole(t *testing.T) {
	lab.Long(t)
	const each = 1000
	c := newCluster(t, workload.NewNodes("node", each, "4")...)
	group := workload.NewPodGroup("g", each)
	group.Object["spec"].(map[string]any)["scheduleTimeoutSeconds"] = int64(600) // on a slow machine kube-scheduler takes minutes
	c.createPodGroups(group)
	w := c.serveAndSchedule(muster.Options{}).watch()
	created := time.Now()
	c.createPods(workload.NewMembers("g", each, "3")...)
	t.Logf("all pods were created in %s", time.Since(created))
	w.settles(exactly(map[string]int{"g": each}))
	t.Logf("all pods were bound %s after the first was created", time.Since(created))
}

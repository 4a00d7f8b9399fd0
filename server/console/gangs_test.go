package console

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/server/backfill"
	"muster.dev/muster/server/remote"
	"muster.dev/muster/server/servertest"
)

// Two nodes have four CPUs each. Pods take three of each, and end in ten minutes; a gang needs all of one.
func TestTheGangsPageHasTheRoomThatIsBooked(t *testing.T) {
	b := newBench(t, benchOptions{gangs: true, reserveAfter: time.Minute, plans: clocktesting.NewFakeClock(time.Now())})
	now := metav1.Now()
	for _, node := range []string{"a", "b"} {
		b.Node(node, "4")
		runs := servertest.Pod("on-"+node, "3")
		runs.Spec.NodeName, runs.CreationTimestamp = node, now
		runs.Annotations = map[string]string{v1alpha1.AnnotationExpectedRuntime: "10m"}
		runs.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: now}}
		if err := b.Cluster.Set(runs); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"g-0", "g-1"} {
		pod := servertest.Pod(name, "2")
		pod.CreationTimestamp = metav1.NewTime(now.Add(-time.Hour))
		pod.Labels = map[string]string{v1alpha1.LabelMuster: "g"}
		pod.Annotations = map[string]string{v1alpha1.AnnotationMinMember: "2"}
		b.Pending(pod)
		b.Filter(pod, "a", "b")
	}
	look := func() (all remote.AllGangs, text string) {
		_, text = b.Get("/debug/gangs")
		_, body := b.Get("/debug/gangs?format=json")
		if err := json.Unmarshal([]byte(body), &all); err != nil {
			t.Fatal(err)
		}
		return all, text
	}
	if all, text := look(); all.Booked != nil || strings.Contains(text, "booked") {
		t.Errorf("before it looks there is %+v:\n%s", all.Booked, text)
	}
	b.booker.Once()
	all, text := look()
	if all.Booked == nil {
		t.Fatalf("there is no booking in:\n%s", text)
	}
	got := *all.Booked
	if left := time.Until(got.From); left < 9*time.Minute || left > 10*time.Minute {
		t.Errorf("it is booked in %s, want ten minutes", left)
	}
	got.From = time.Time{}
	if want := (backfill.RoomBooked{Gang: "default/g", Label: v1alpha1.LabelMuster, Pods: 2, Nodes: 1}); got != want {
		t.Errorf("booked is %+v, want %+v", got, want)
	}
	if !strings.Contains(text, ": pods 2, nodes 1; pods that have room now, which is kept: 0 (0.0 % of all nodes)") {
		t.Errorf("it is not in the text:\n%s", text)
	}
	for _, node := range []string{"a", "b"} {
		gone := servertest.Pod("on-"+node, "3")
		gone.Spec.NodeName = node
		if err := b.Cluster.Delete(gone); err != nil {
			t.Fatal(err)
		}
	}
	if all, _ := look(); all.Booked.IdlePods != 2 || all.Booked.IdleShare != 0.5 {
		t.Errorf("of nodes that are free now it keeps %d pods and a share of %g idle, want 2 and 0.5", all.Booked.IdlePods, all.Booked.IdleShare)
	}
}

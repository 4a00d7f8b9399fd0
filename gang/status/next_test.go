package status

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/api/seeded"
	"muster.dev/muster/cluster"
)

// newPodGroup is a group of three that has a status.
func newPodGroup(status v1alpha1.PodGroupStatus) *v1alpha1.PodGroup {
	return &v1alpha1.PodGroup{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.ResourceOf(v1alpha1.GroupX).GroupVersion().String(), Kind: v1alpha1.Kind},
		ObjectMeta: metav1.ObjectMeta{Name: "g", Namespace: "default", UID: "u", ResourceVersion: "1", Generation: 2},
		Spec:       v1alpha1.PodGroupSpec{MinMember: 3},
		Status:     status,
	}
}

// first is when the story of a test begins, at a full second in the local time.
func first() time.Time { return time.Unix(1_637_488_800, 0) }

func condition(status metav1.ConditionStatus, reason Reason, message string, since time.Time) []metav1.Condition {
	scheduled := metav1.Condition{
		Type: v1alpha1.PodGroupScheduledCondition, Status: status, ObservedGeneration: 2,
		Reason: reason.String(), Message: message, LastTransitionTime: metav1.NewTime(since),
	}
	satisfied := scheduled // where nobody is being deleted
	satisfied.Type = v1alpha1.PodGroupSatisfiedCondition
	return []metav1.Condition{scheduled, satisfied}
}

func TestTheLifeOfAGroup(t *testing.T) {
	at := func(step int) time.Time { return first().Add(time.Duration(step) * time.Minute) }
	started := metav1.NewTime(at(2))
	again := metav1.NewTime(at(11))
	steps := []struct {
		name string
		o    Observation
		want v1alpha1.PodGroupStatus
	}{
		{"0: pods are missing", Observation{Counts: Counts{Pending: 1}, OccupiedBy: "default/job"}, v1alpha1.PodGroupStatus{
			Phase: "Pending", OccupiedBy: "default/job", Conditions: condition("False", MembersMissing, "1 of 3 pods exist", at(0)),
		}},
		{
			"1: all are there, and there is no place for them",
			Observation{Counts: Counts{Pending: 4}, Reason: Unschedulable, Message: "no node with 4 nvidia.com/gpu"},
			v1alpha1.PodGroupStatus{
				Phase: "PreScheduling", Conditions: condition("False", Unschedulable, "no node with 4 nvidia.com/gpu", at(0)),
			},
		},
		{"2: the first is held", Observation{Counts: Counts{Pending: 3, Held: 1}}, v1alpha1.PodGroupStatus{
			Phase: "Scheduling", ScheduleStartTime: &started,
			Conditions: condition("False", Waiting, "0 of 3 pods are bound, and 1 wait on their nodes for the others to come", at(0)),
		}},
		{
			"3: time was up, which is no new start",
			Observation{Counts: Counts{Pending: 4}, Reason: TimedOut, Message: "1 of 3 in time"},
			v1alpha1.PodGroupStatus{
				Phase: "PreScheduling", ScheduleStartTime: &started, Conditions: condition("False", TimedOut, "1 of 3 in time", at(0)),
			},
		},
		{
			"4: enough are bound, and what was said of waiting does not matter",
			Observation{Counts: Counts{Bound: 3, Pending: 1}, Reason: Waiting, Message: "late words"},
			v1alpha1.PodGroupStatus{
				Phase:             "Scheduled",
				Scheduled:         3,
				ScheduleStartTime: &started,
				Conditions:        condition("True", Scheduled, "at least 3 pods are bound", at(4)),
			},
		},
		{
			"5: all run",
			Observation{Counts: Counts{Running: 4}},
			v1alpha1.PodGroupStatus{
				Phase:             "Running",
				Scheduled:         4,
				Running:           4,
				ScheduleStartTime: &started,
				Conditions:        condition("True", Scheduled, "at least 3 pods are bound", at(4)),
			},
		},
		{"6: two fail", Observation{Counts: Counts{Running: 2, Failed: 2}}, v1alpha1.PodGroupStatus{
			Phase: "Failed", Scheduled: 2, Running: 2, Failed: 2, ScheduleStartTime: &started,
			Conditions: condition("False", MembersFailed, "2 pods have failed, and 2 of 3 are bound", at(6)),
		}},
		{
			"7: they are replaced, and it recovers",
			Observation{Counts: Counts{Running: 2, Bound: 2}},
			v1alpha1.PodGroupStatus{
				Phase:             "Scheduled",
				Scheduled:         4,
				Running:           2,
				ScheduleStartTime: &started,
				Conditions:        condition("True", Scheduled, "at least 3 pods are bound", at(7)),
			},
		},
		{
			"8: enough succeed",
			Observation{Counts: Counts{Running: 1, Succeeded: 3}},
			v1alpha1.PodGroupStatus{
				Phase:             "Finished",
				Scheduled:         4,
				Running:           1,
				Succeeded:         3,
				ScheduleStartTime: &started,
				Conditions:        condition("True", Scheduled, "at least 3 pods are bound", at(7)),
			},
		},
		{
			"9: the pods are cleaned up, and the status stays",
			Observation{Counts: Counts{Succeeded: 1}},
			v1alpha1.PodGroupStatus{
				Phase:             "Finished",
				Scheduled:         4,
				Running:           1,
				Succeeded:         3,
				ScheduleStartTime: &started,
				Conditions:        condition("True", Scheduled, "at least 3 pods are bound", at(7)),
			},
		},
		{"10: another pod restarts it", Observation{Counts: Counts{Pending: 1}}, v1alpha1.PodGroupStatus{
			Phase: "Pending", Conditions: condition("False", MembersMissing, "1 of 3 pods exist", at(10)),
		}},
		{"11: with another start", Observation{Counts: Counts{Pending: 1, Held: 2}}, v1alpha1.PodGroupStatus{
			Phase: "Scheduling", ScheduleStartTime: &again,
			Conditions: condition("False", Waiting, "0 of 3 pods are bound, and 2 wait on their nodes for the others to come", at(10)),
		}},
		{"12: and back to the beginning when pods are deleted", Observation{Counts: Counts{Held: 2}}, v1alpha1.PodGroupStatus{
			Phase: "Pending", Conditions: condition("False", MembersMissing, "2 of 3 pods exist", at(10)),
		}},
	}
	podGroup := newPodGroup(v1alpha1.PodGroupStatus{})
	for i, step := range steps {
		t.Run(step.name, func(t *testing.T) {
			step.o.PodGroup = podGroup.DeepCopy()
			got := Next(step.o, at(i).Add(time.Millisecond))
			if diff := cmp.Diff(step.want, got); diff != "" {
				t.Errorf("want (-) got (+):\n%s", diff)
			}
			if diff := cmp.Diff(podGroup, step.o.PodGroup); diff != "" {
				t.Errorf("the PodGroup was changed:\n%s", diff)
			}
			podGroup.Status = got
		})
	}
}

func TestAGroupIsSatisfiedByPodsThatStay(t *testing.T) {
	podGroup := newPodGroup(v1alpha1.PodGroupStatus{})
	for i, step := range []struct {
		name      string
		counts    Counts
		satisfied bool
		says      string // a part of it
	}{
		{"some are bound", Counts{Bound: 2, Pending: 1}, false, "2 of 3 pods are bound"},
		{"all are", Counts{Bound: 3}, true, "at least 3 pods are bound"},
		{"one is being deleted", Counts{Running: 3, Leaving: 1}, false, "3 of 3 pods are bound, and 1 of them are being deleted"},
		{"it is replaced", Counts{Running: 3, Bound: 1, Leaving: 1}, true, "at least 3 pods are bound"},
		{"it is gone", Counts{Running: 3}, true, "at least 3 pods are bound"},
		{"one has failed", Counts{Running: 2, Failed: 1}, false, "1 pods have failed"},
		{"all have succeeded", Counts{Succeeded: 3}, true, "at least 3 pods are bound"},
	} {
		before := meta.IsStatusConditionTrue(podGroup.Status.Conditions, v1alpha1.PodGroupSatisfiedCondition)
		at := first().Add(time.Duration(i) * time.Minute)
		podGroup.Status = Next(Observation{PodGroup: podGroup, Counts: step.counts}, at)
		got := meta.FindStatusCondition(podGroup.Status.Conditions, v1alpha1.PodGroupSatisfiedCondition)
		if (got.Status == metav1.ConditionTrue) != step.satisfied || !strings.Contains(got.Message, step.says) {
			t.Errorf("%s: %+v", step.name, got)
		}
		if flipped := got.LastTransitionTime.Time.Equal(at); i > 0 && flipped != (before != step.satisfied) {
			t.Errorf("%s: it is since %v", step.name, got.LastTransitionTime)
		}
	}
}

func TestConditionsOfOthersStay(t *testing.T) {
	theirs := metav1.Condition{Type: "Admitted", Status: metav1.ConditionTrue, Reason: "Quota", LastTransitionTime: metav1.NewTime(first())}
	got := Next(Observation{PodGroup: newPodGroup(v1alpha1.PodGroupStatus{Conditions: []metav1.Condition{theirs}})}, first())
	want := append([]metav1.Condition{theirs}, condition("False", MembersMissing, "0 of 3 pods exist", first())...)
	if diff := cmp.Diff(want, got.Conditions); diff != "" {
		t.Errorf("want (-) got (+):\n%s", diff)
	}
}

func TestAStatusIsSettledAtOnceAndSaysWhatTheCountsSay(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		few := rapid.IntRange(0, 3)
		draw := func() Observation {
			return Observation{
				Counts: Counts{
					Pending: few.Draw(t, "pending"), Held: few.Draw(t, "held"), Bound: few.Draw(t, "bound"),
					Running: few.Draw(t, "running"), Succeeded: few.Draw(t, "succeeded"), Failed: few.Draw(t, "failed"),
				},
				OccupiedBy: rapid.SampledFrom([]string{"", "default/job"}).Draw(t, "owner"),
				Reason:     rapid.SampledFrom([]Reason{None, Unschedulable, TimedOut}).Draw(t, "reason"),
			}
		}
		podGroup, now := newPodGroup(v1alpha1.PodGroupStatus{}), first()
		podGroup.Spec.MinMember = rapid.Int32Range(1, 5).Draw(t, "min")
		for range rapid.IntRange(1, 6).Draw(t, "steps") {
			o := draw()
			o.PodGroup, now = podGroup, now.Add(time.Minute)
			next := Next(o, now)
			podGroup = podGroup.DeepCopy()
			podGroup.Status = next
			o.PodGroup, now = podGroup, now.Add(time.Minute)
			if again := Next(o, now); !equality.Semantic.DeepEqual(next, again) {
				t.Fatalf("the status changes by itself, before (-) after (+):\n%s", cmp.Diff(next, again))
			}
			enough := next.Scheduled >= podGroup.Spec.MinMember
			if got := meta.IsStatusConditionTrue(next.Conditions, v1alpha1.PodGroupScheduledCondition); got != enough {
				t.Fatalf("condition Scheduled is %t with %d of %d bound", got, next.Scheduled, podGroup.Spec.MinMember)
			}
			if (next.Phase == v1alpha1.PodGroupScheduled || next.Phase == v1alpha1.PodGroupRunning || next.Phase == v1alpha1.PodGroupFinished) &&
				!enough {
				t.Fatalf("%s with %d of %d bound", next.Phase, next.Scheduled, podGroup.Spec.MinMember)
			}
			if (next.ScheduleStartTime == nil) && next.Scheduled > 0 && next.Phase != v1alpha1.PodGroupPending {
				t.Fatalf("%s without a start", next.Phase)
			}
		}
	})
}

func TestOccupiedBy(t *testing.T) {
	owned := func(namespace string, owners ...string) *cluster.Pod {
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace}}
		for _, name := range owners {
			pod.OwnerReferences = append(pod.OwnerReferences, metav1.OwnerReference{Name: name})
		}
		return cluster.NewPod(pod)
	}
	tests := []struct {
		name string
		pods []*cluster.Pod
		want string
	}{
		{name: "no pods"},
		{name: "a pod without an owner", pods: []*cluster.Pod{owned("a")}},
		{
			name: "owners in order, each once",
			pods: []*cluster.Pod{owned("a", "workers"), owned("a", "launcher"), owned("a", "workers")},
			want: "a/launcher,a/workers",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := OccupiedBy(slices.Values(test.pods)); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

package status

import (
	"testing"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

func TestPhase(t *testing.T) {
	const minMember = 3
	tests := []struct {
		name   string
		counts Counts
		want   v1alpha1.PodGroupPhase
	}{
		{"no pods", Counts{}, v1alpha1.PodGroupPending},
		{"too few pods", Counts{Pending: 2}, v1alpha1.PodGroupPending},
		{"too few pods, though some are held", Counts{Held: 2}, v1alpha1.PodGroupPending},
		{"too few pods, though all of them run", Counts{Running: 2}, v1alpha1.PodGroupPending},
		{"too few pods, one of them failed", Counts{Running: 1, Failed: 1}, v1alpha1.PodGroupPending},

		{"enough pods", Counts{Pending: 3}, v1alpha1.PodGroupPreScheduling},
		{"more than enough pods", Counts{Pending: 5}, v1alpha1.PodGroupPreScheduling},
		{"enough pods, one of them failed before the others had a place", Counts{Pending: 2, Failed: 1}, v1alpha1.PodGroupPreScheduling},

		{"one is held", Counts{Pending: 2, Held: 1}, v1alpha1.PodGroupScheduling},
		{"all are held", Counts{Held: 3}, v1alpha1.PodGroupScheduling},
		{"one is bound", Counts{Pending: 2, Bound: 1}, v1alpha1.PodGroupScheduling},
		{"one runs", Counts{Pending: 2, Running: 1}, v1alpha1.PodGroupScheduling},
		{"one has succeeded before the others had a place", Counts{Pending: 2, Succeeded: 1}, v1alpha1.PodGroupScheduling},
		{"held and bound are enough only together", Counts{Held: 1, Bound: 2}, v1alpha1.PodGroupScheduling},
		{"one of those bound has failed", Counts{Bound: 2, Failed: 1}, v1alpha1.PodGroupScheduling},

		{"enough are bound", Counts{Bound: 3}, v1alpha1.PodGroupScheduled},
		{"enough are bound, more wait", Counts{Bound: 3, Held: 1, Pending: 1}, v1alpha1.PodGroupScheduled},
		{"enough are bound, some run", Counts{Bound: 1, Running: 2}, v1alpha1.PodGroupScheduled},
		{"enough are bound, one has succeeded", Counts{Bound: 2, Succeeded: 1}, v1alpha1.PodGroupScheduled},
		{"enough are bound, one more has failed", Counts{Bound: 3, Failed: 1}, v1alpha1.PodGroupScheduled},

		{"enough run", Counts{Running: 3}, v1alpha1.PodGroupRunning},
		{"enough run, more wait", Counts{Running: 3, Pending: 2}, v1alpha1.PodGroupRunning},
		{"enough run or have succeeded", Counts{Running: 1, Succeeded: 2}, v1alpha1.PodGroupRunning},

		{"one of enough that started has failed", Counts{Running: 2, Failed: 1}, v1alpha1.PodGroupFailed},
		{"all have failed", Counts{Failed: 3}, v1alpha1.PodGroupFailed},
		{"some have succeeded, some failed", Counts{Succeeded: 2, Failed: 1}, v1alpha1.PodGroupFailed},
		{"enough run, and one more has failed", Counts{Running: 3, Failed: 1}, v1alpha1.PodGroupFailed},
		{"one has failed and its successor waits", Counts{Running: 2, Failed: 1, Pending: 1}, v1alpha1.PodGroupFailed},

		{"enough have succeeded", Counts{Succeeded: 3}, v1alpha1.PodGroupFinished},
		{"enough have succeeded, more run", Counts{Succeeded: 3, Running: 2}, v1alpha1.PodGroupFinished},
		{"enough have succeeded, and one more has failed", Counts{Succeeded: 3, Failed: 1}, v1alpha1.PodGroupFinished},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := Phase(minMember, test.counts); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

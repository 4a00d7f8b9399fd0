package placement

import (
	"math"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/cluster"
)

func TestAPodLeavesByItselfWithinABoundOfOurs(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, test := range map[string]struct {
		gone *metav1.Time
		want bool
		in   time.Duration
	}{
		"it stays":                         {nil, false, 30 * time.Second},
		"in its grace period":              {new(metav1.NewTime(now.Add(10 * time.Second))), true, 10 * time.Second},
		"in the longest that counts":       {new(metav1.NewTime(now.Add(MostGrace + time.Second))), true, MostGrace},
		"in 2312":                          {new(metav1.NewTime(now.Add(9_000_000_000 * time.Second))), false, MostGrace},
		"at the end of time":               {new(metav1.NewTime(time.Unix(1<<40, 0))), false, MostGrace},
		"any moment":                       {new(metav1.NewTime(now.Add(-time.Second))), true, 0},
		"long ago, and something keeps it": {new(metav1.NewTime(now.Add(-time.Hour))), false, 0},
		"never, as far as is known":        {&metav1.Time{}, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			pod := cluster.NewPod(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: test.gone}})
			if got, in := Leaves(pod, now), LeavesIn(pod, now); got != test.want || in != test.in {
				t.Errorf("got %v in %s, want %v in %s", got, in, test.want, test.in)
			}
		})
	}
}

func TestNoGracePeriodIsLessThanNothing(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for seconds, want := range map[int64]time.Duration{
		0: 0, 30: 30 * time.Second, 9_000_000_000: year, 10_000_000_000: year, math.MaxInt64: year, -1: 0,
	} {
		if got := Grace(&corev1.PodSpec{TerminationGracePeriodSeconds: &seconds}); got != want {
			t.Errorf("terminationGracePeriodSeconds %d is %s, want %s", seconds, got, want)
		}
	}
}

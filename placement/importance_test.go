package placement

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/cluster"
)

func TestCostsOfVictimsAreOrderedAsKubeSchedulerDoes(t *testing.T) {
	victim := func(priority int32, started time.Duration) *cluster.Pod {
		at := metav1.NewTime(time.Unix(0, 0).Add(started))
		return cluster.NewPod(&corev1.Pod{Spec: corev1.PodSpec{Priority: &priority}, Status: corev1.PodStatus{StartTime: &at}})
	}
	costOf := func(violations int64, victims ...*cluster.Pod) Cost {
		c := Cost{Violations: violations}
		for _, pod := range victims {
			c.Add(pod)
		}
		return c
	}
	unknown := Cost{}
	unknown.AddUnknown()
	rising := []Cost{
		{}, // nobody goes: no priority is lower than that
		costOf(0, victim(-1<<31, 0)),
		costOf(0, victim(-5, 0)),
		costOf(0, victim(0, time.Hour)),
		costOf(0, victim(0, 0)), // it has run for longer
		costOf(0, victim(0, 0), victim(-5, 0)),
		costOf(0, victim(0, 0), victim(0, 0)),
		costOf(0, victim(7, 0)),
		unknown,
		costOf(1, victim(-5, 0)),
	}
	for i := range rising {
		for j := range rising {
			if got, want := sign(rising[i].Compare(&rising[j])), sign(i-j); got != want {
				t.Errorf("cost %d compares to cost %d as %d, want %d", i, j, got, want)
			}
		}
	}
}

func sign(n int) int { return min(max(n, -1), 1) }

package core

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/cluster"
)

// bounds is a world with pods of some priorities, each bound.
func bounds(priorities ...int32) *world {
	w := newWorld(&model{room: []int{len(priorities)}, least: [mostGroups][]int64{{1}, {1}}})
	for i, priority := range priorities {
		w.singles = append(w.singles, 0)
		w.made[w.singlePod(i).Name] = &cluster.Pod{Pod: &corev1.Pod{Spec: corev1.PodSpec{NodeName: "n0", Priority: &priority}}}
	}
	return w
}

func TestTheLowestPriorityThatIsBoundIsOfTheLatestGeneration(t *testing.T) {
	for _, test := range []struct {
		priorities []int32
		want       int32
	}{{[]int32{2, 1, 3}, 1}, {[]int32{2}, 2}} {
		if got := outrankedIn(bounds(test.priorities...)); got.lowest != test.want || got.generation != 1 {
			t.Errorf("of %v the lowest is %d, in generation %d", test.priorities, got.lowest, got.generation)
		}
	}
}

func TestEveryCodeOfAStageAndAStepHasAName(t *testing.T) {
	for s := range stages {
		if s.String() == "" {
			t.Errorf("stage %d has no name", s)
		}
	}
	for k := range kinds {
		if kindNames[k] == "" {
			t.Errorf("step %d has no name", k)
		}
	}
}

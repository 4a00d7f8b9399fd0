package placement

import (
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// kinds tells which pods are alike. The kind of a pod is its equivalence class. Pods
// without one are alike as well when no plugin can tell them apart: within one plan, what
// is known of one of them is as good for the next.
type kinds struct {
	store *predicates.VerdictStore
	known map[*cluster.Pod]predicates.Class
	left  map[predicates.Class]int // how many pods of a kind that is no class are yet to be placed
}

func newKinds(store *predicates.VerdictStore) *kinds {
	return &kinds{store: store, known: map[*cluster.Pod]predicates.Class{}, left: map[predicates.Class]int{}}
}

// expect takes note of pods that are going to be placed. It returns a pod of each
// equivalence class among them.
func (k *kinds) expect(pods []*cluster.Pod) map[predicates.Class]*cluster.Pod {
	examples := map[predicates.Class]*cluster.Pod{}
	for _, pod := range pods {
		kind := k.of(pod)
		if _, alone := k.left[kind]; alone {
			k.left[kind]++
		} else if examples[kind] == nil {
			examples[kind] = pod
		}
	}
	return examples
}

func (k *kinds) of(pod *cluster.Pod) predicates.Class {
	kind, known := k.known[pod]
	if known {
		return kind
	}
	if kind = k.store.ClassOf(pod); kind.None() {
		kind = k.store.Profile.AloneAs(pod)
		if _, met := k.left[kind]; !met {
			k.left[kind] = 0
		}
	}
	k.known[pod] = kind
	return kind
}

// placed takes note of a pod that was placed, and says whether it was the last of the
// expected ones of a kind that is not a class.
func (k *kinds) placed(pod *cluster.Pod) (kind predicates.Class, last bool) {
	kind = k.of(pod)
	left, alone := k.left[kind]
	if !alone {
		return kind, false
	}
	k.left[kind] = left - 1
	return kind, left <= 1
}

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
	known map[*cluster.Pod]*predicates.Class
	alone map[string]*predicates.Class // of pods without a class, by their form
	left  map[*predicates.Class]int    // how many pods of such a kind are yet to be placed
}

func newKinds(store *predicates.VerdictStore) *kinds {
	return &kinds{
		store: store, known: map[*cluster.Pod]*predicates.Class{},
		alone: map[string]*predicates.Class{}, left: map[*predicates.Class]int{},
	}
}

// expect takes note of pods that are going to be placed. It returns a pod of each
// equivalence class among them.
func (k *kinds) expect(pods []*cluster.Pod) map[*predicates.Class]*cluster.Pod {
	examples := map[*predicates.Class]*cluster.Pod{}
	for _, pod := range pods {
		class := k.store.ClassOf(pod)
		if class == nil {
			k.left[k.of(pod)]++
			continue
		}
		if k.known[pod] = class; examples[class] == nil {
			examples[class] = pod
		}
	}
	return examples
}

func (k *kinds) of(pod *cluster.Pod) *predicates.Class {
	kind := k.known[pod]
	if kind == nil {
		if kind = k.store.ClassOf(pod); kind == nil {
			kind = k.alike(pod)
		}
		k.known[pod] = kind
	}
	return kind
}

// alike is the kind of a pod without a class.
func (k *kinds) alike(pod *cluster.Pod) *predicates.Class {
	form := k.store.FormOf(pod)
	kind := k.alone[form]
	if kind == nil {
		kind = &predicates.Class{}
		k.alone[form], k.left[kind] = kind, 0
	}
	return kind
}

// placed takes note of a pod that was placed, and says whether it was the last of the
// expected ones of a kind that is not a class.
func (k *kinds) placed(pod *cluster.Pod) (kind *predicates.Class, last bool) {
	kind = k.of(pod)
	left, alone := k.left[kind]
	if !alone {
		return kind, false
	}
	k.left[kind] = left - 1
	return kind, left <= 1
}

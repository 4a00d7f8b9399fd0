package predicates

import (
	"maps"
	"reflect"
	"slices"
	"unsafe"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
)

// affinitySubject is the pod at hand as inter-pod affinity sees it: by its own terms,
// and as one that the terms of other pods may be about.
type affinitySubject struct {
	pod       *cluster.Pod
	namespace labels.Set // the labels of its namespace, nil when that is not known
	terms     []ownTerm
}

func newAffinitySubject(pod *cluster.Pod, objects *cluster.Objects, terms []*cluster.AffinityTerm) affinitySubject {
	s := affinitySubject{pod: pod, namespace: namespaceLabels(objects, pod.Namespace), terms: make([]ownTerm, len(terms))}
	for i, term := range terms {
		s.terms[i] = newOwnTerm(term, objects)
	}
	return s
}

// matchedBy reports whether a term of another pod is about the pod.
func (s *affinitySubject) matchedBy(term *cluster.AffinityTerm) bool {
	return term.Matches(s.pod, s.namespace)
}

// DependsOn implements [Selective]. The labels of the pod's own namespace always matter,
// as pods may come whose terms select it by them.
func (s *affinitySubject) DependsOn(_ cluster.Aspect, name types.NamespacedName, before, after *cluster.Objects) bool {
	return name.Name == s.pod.Namespace && !maps.Equal(namespaceLabels(before, name.Name), namespaceLabels(after, name.Name)) ||
		slices.ContainsFunc(s.terms, func(t ownTerm) bool { return t.selects(name.Name, before) != t.selects(name.Name, after) })
}

// matter returns the nodes with pods that have terms: no others matter to a pod that has none itself. ok is false for
// a pod that has terms.
func (s *affinitySubject) matter(snap *cluster.Snapshot) (nodes []int32, ok bool) {
	if len(s.terms) > 0 {
		return nil, false
	}
	return snap.Having(cluster.TraitAffine), true
}

// remember prepares for a look at nodes. forget must follow.
func (s *affinitySubject) remember(nodes []int32) {
	for i := range s.terms {
		s.terms[i].remember(nodes)
	}
}

func (s *affinitySubject) forget() {
	for i := range s.terms {
		s.terms[i].forget()
	}
}

// size of the terms, in bytes.
func (s *affinitySubject) size() int64 {
	var size int64
	for i := range s.terms {
		size += int64(unsafe.Sizeof(s.terms[i])) + sizeOfMap(reflect.ValueOf(s.terms[i].namespaces))
	}
	return size
}

// ownTerm is a term of the pod at hand, whose namespaces are looked up beforehand.
type ownTerm struct {
	*cluster.AffinityTerm
	selection
	namespaces sets.Set[string]
	// anywhere means all namespaces, also of pods whose namespace is not known
	// (mergeAffinityTermNamespacesIfNotEmpty in pkg/scheduler/framework/plugins/interpodaffinity).
	anywhere bool
}

func newOwnTerm(term *cluster.AffinityTerm, objects *cluster.Objects) ownTerm {
	t := ownTerm{AffinityTerm: term, anywhere: term.NamespaceSelector.Empty()}
	if t.anywhere {
		return t
	}
	t.namespaces = sets.New(term.Namespaces...)
	if _, selectsAny := term.NamespaceSelector.Requirements(); selectsAny {
		for name := range objects.Namespaces.All() {
			if t.selects(name, objects) {
				t.namespaces.Insert(name)
			}
		}
	}
	return t
}

// selects reports whether the namespace selector makes a difference to whether the term is
// about a namespace, and matches it.
func (t *ownTerm) selects(namespace string, objects *cluster.Objects) bool {
	if t.anywhere || t.Names(namespace) {
		return false
	}
	object, known := objects.Namespaces.Get(namespace)
	return known && t.NamespaceSelector.Matches(labels.Set(object.Labels))
}

// matches reports whether the term is about a pod of a node, by its place among the node's pods.
func (t *ownTerm) matches(node *cluster.Node, place int) bool { return t.of(node, place, t.isAbout) }

// matchesAny reports whether the term is about any pod of a node.
func (t *ownTerm) matchesAny(node *cluster.Node) bool {
	for place := range node.Pods {
		if t.matches(node, place) {
			return true
		}
	}
	return false
}

func (t *ownTerm) isAbout(pod *cluster.Pod) bool {
	return (t.anywhere || t.namespaces.Has(pod.Namespace)) && t.Selector.Matches(labels.Set(pod.Labels))
}

func namespaceLabels(objects *cluster.Objects, name string) labels.Set {
	object, known := objects.Namespaces.Get(name)
	if !known {
		return nil
	}
	return object.Labels
}

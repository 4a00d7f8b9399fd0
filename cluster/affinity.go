package cluster

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
)

// Affinity is the inter-pod affinity and anti-affinity of a pod, parsed as
// kube-scheduler does it (PodInfo.Update in pkg/scheduler/framework/types.go).
//
// matchLabelKeys and mismatchLabelKeys are not looked at: the API server has
// merged them into the label selector when the pod was created (mutatePodAffinity
// in pkg/registry/core/pod/strategy.go).
type Affinity struct {
	// Required and RequiredAnti must hold for a node to be feasible.
	Required, RequiredAnti []AffinityTerm
	// Preferred and PreferredAnti add to the score of a node.
	Preferred, PreferredAnti []WeightedAffinityTerm
	// Err says that a selector does not parse, nil when all do. The list that the
	// selector is in is then empty, the others are not. kube-scheduler refuses to
	// place such a pod, and counts what did parse when it is on a node already. With
	// ErrTooManyTerms all lists are empty.
	Err error
}

// MostTerms is how many terms a pod may have, and how many requirements a selector: each is held
// against every pod, and some take memory for every node.
const MostTerms = 100

// ErrTooManyTerms reports more than MostTerms.
var ErrTooManyTerms = fmt.Errorf("more than %d terms or requirements", MostTerms)

// ParseSelector is [metav1.LabelSelectorAsSelector] of a selector of up to MostTerms requirements.
func ParseSelector(selector *metav1.LabelSelector) (labels.Selector, error) {
	if selector != nil && len(selector.MatchLabels)+len(selector.MatchExpressions) > MostTerms {
		return nil, ErrTooManyTerms
	}
	return metav1.LabelSelectorAsSelector(selector)
}

// AffinityTerm is one rule: it is about the pods that it matches, and the nodes
// with the same value of the label TopologyKey as those pods' nodes.
type AffinityTerm struct {
	// TopologyKey is the name of a node label; see [Snapshot.Domains].
	TopologyKey string
	// Selector selects pods by their labels. Without one in the API object it
	// matches no pod, and an empty one matches all.
	Selector labels.Selector
	// Namespaces are the names of namespaces whose pods the term is about, in order and each once: that of
	// its own pod when the API object names none and has no namespace selector.
	Namespaces []string
	// NamespaceSelector selects more namespaces by their labels. Without one in the
	// API object it matches no namespace, and an empty one matches all.
	NamespaceSelector labels.Selector
}

// WeightedAffinityTerm is a preferred rule. Weight is from 1 to 100.
type WeightedAffinityTerm struct {
	AffinityTerm
	Weight int32
}

// Matches reports whether the term is about a pod. namespaceLabels belong to the pod's
// namespace, and are nil when that is not known (AffinityTerm.Matches in
// k8s.io/kube-scheduler/framework/types.go).
func (t *AffinityTerm) Matches(pod *Pod, namespaceLabels labels.Set) bool {
	return (t.Names(pod.Namespace) || t.NamespaceSelector.Matches(namespaceLabels)) &&
		t.Selector.Matches(labels.Set(pod.Labels))
}

// Names reports whether the term names a namespace. A pod may name very many.
func (t *AffinityTerm) Names(namespace string) bool {
	_, named := slices.BinarySearch(t.Namespaces, namespace)
	return named
}

// parseAffinity is nil for a pod without inter-pod affinity, as most are.
func parseAffinity(object *corev1.Pod) *Affinity {
	spec := object.Spec.Affinity
	if spec == nil || spec.PodAffinity == nil && spec.PodAntiAffinity == nil {
		return nil
	}
	with := cmp.Or(spec.PodAffinity, &corev1.PodAffinity{})
	against := cmp.Or(spec.PodAntiAffinity, &corev1.PodAntiAffinity{})

	if countTerms(with.RequiredDuringSchedulingIgnoredDuringExecution, with.PreferredDuringSchedulingIgnoredDuringExecution)+
		countTerms(against.RequiredDuringSchedulingIgnoredDuringExecution, against.PreferredDuringSchedulingIgnoredDuringExecution) > MostTerms {
		return &Affinity{Err: ErrTooManyTerms}
	}
	var parsed Affinity
	var errs [4]error
	parsed.Required, errs[0] = parseTerms(object, "requiredAffinityTerms", with.RequiredDuringSchedulingIgnoredDuringExecution)
	parsed.RequiredAnti, errs[1] = parseTerms(object, "requiredAntiAffinityTerms", against.RequiredDuringSchedulingIgnoredDuringExecution)
	parsed.Preferred, errs[2] = parseWeightedTerms(object, "preferredAffinityTerms", with.PreferredDuringSchedulingIgnoredDuringExecution)
	parsed.PreferredAnti, errs[3] = parseWeightedTerms(
		object, "preferredAntiAffinityTerms", against.PreferredDuringSchedulingIgnoredDuringExecution,
	)
	parsed.Err = utilerrors.NewAggregate(errs[:])
	return &parsed
}

func countTerms(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm) int {
	return len(required) + len(preferred)
}

func parseTerms(owner *corev1.Pod, list string, terms []corev1.PodAffinityTerm) ([]AffinityTerm, error) {
	var parsed []AffinityTerm
	for i := range terms {
		term, err := parseTerm(owner, &terms[i])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", list, err)
		}
		parsed = append(parsed, term)
	}
	return parsed, nil
}

func parseWeightedTerms(owner *corev1.Pod, list string, terms []corev1.WeightedPodAffinityTerm) ([]WeightedAffinityTerm, error) {
	var parsed []WeightedAffinityTerm
	for i := range terms {
		term, err := parseTerm(owner, &terms[i].PodAffinityTerm)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", list, err)
		}
		parsed = append(parsed, WeightedAffinityTerm{AffinityTerm: term, Weight: terms[i].Weight})
	}
	return parsed, nil
}

func parseTerm(owner *corev1.Pod, term *corev1.PodAffinityTerm) (AffinityTerm, error) {
	selector, err := ParseSelector(term.LabelSelector)
	if err != nil {
		return AffinityTerm{}, err
	}
	namespaceSelector, err := ParseSelector(term.NamespaceSelector)
	if err != nil {
		return AffinityTerm{}, err
	}
	namespaces := slices.Compact(slices.Sorted(slices.Values(term.Namespaces)))
	if len(namespaces) == 0 && term.NamespaceSelector == nil {
		namespaces = []string{owner.Namespace}
	}
	return AffinityTerm{
		TopologyKey:       term.TopologyKey,
		Selector:          selector,
		Namespaces:        namespaces,
		NamespaceSelector: namespaceSelector,
	}, nil
}

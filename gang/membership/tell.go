package membership

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/api/spelling"
	"muster.dev/muster/cluster"
)

// Tell says in words what makes a pod a member of its gang, or why it is of none and what it would take.
func Tell(pod *cluster.Pod) string {
	key, marked := Marked(pod.Pod)
	belongs := &pod.Affiliation
	switch {
	case Left(pod):
		return fmt.Sprintf("member of a group of Kubernetes' own (spec.schedulingGroup), left to kube-scheduler: %s",
			cmp.Or(belongs.Why, "muster serves none"))
	case marked:
		return fmt.Sprintf("member of gang %s by its own mark %s", key, key.Label)
	case belongs.Gang != "":
		return fmt.Sprintf("member of gang %s/%s: %s", pod.Namespace, belongs.Gang, belongs.Why)
	case belongs.Unseen:
		return "member of a gang that is not known yet: " + belongs.Why
	case belongs.Why != "":
		return "member of no gang: " + belongs.Why
	default:
		return fmt.Sprintf("member of no gang: it has no mark of one, such as %s, and no owner that makes one", v1alpha1.LabelMuster)
	}
}

// prefix begins all marks of muster's.
const prefix = "muster.dev/"

// MayIgnore reports whether a pod has marks that [Ignored] has to look at. It takes no time.
func MayIgnore(pod *cluster.Pod) bool {
	return pod.Affiliation.Ignored || hasAny(pod.Labels, prefix) || hasAny(pod.Annotations, prefix, koordinator)
}

func hasAny(marks map[string]string, prefixes ...string) bool {
	for name := range marks {
		for _, prefix := range prefixes {
			if strings.HasPrefix(name, prefix) {
				return true
			}
		}
	}
	return false
}

// koordinator begins all marks of Koordinator's gangs.
const koordinator = "gang.scheduling.koordinator.sh/"

// Ignored says in words which marks of a pod have no effect on it: misspelled ones, ones without what they need, and ones of
// others that muster does not read or understand.
func Ignored(pod *cluster.Pod) []string {
	ignored := append(ignoredMarks(pod.Pod, pod.Affiliation.Gang != ""), nonsense(pod.Pod)...)
	if _, marked := Marked(pod.Pod); pod.Affiliation.Ignored && !marked {
		ignored = append(ignored, pod.Affiliation.Why)
	}
	return ignored
}

// needsMark reports whether an annotation counts only on pods that have a mark: of pods that their owner makes a gang some count without.
func needsMark(name string, owned bool) bool {
	counts := []string{
		v1alpha1.AnnotationRequiredTopology, v1alpha1.AnnotationPreferredTopology, v1alpha1.AnnotationTopologyWaitFor,
		v1alpha1.AnnotationTopologySlices, v1alpha1.AnnotationTopologyShares, v1alpha1.AnnotationBalancedTopology,
		v1alpha1.AnnotationReserveAfter, v1alpha1.AnnotationPreemptAfter,
	}
	return slices.Contains(v1alpha1.MemberAnnotations(), name) && (!owned || !slices.Contains(counts, name))
}

// nonsense says which annotations of a pod that need no gang make no sense.
func nonsense(pod *corev1.Pod) (ignored []string) {
	_, runtime := v1alpha1.DecodeMinRuntime(pod.Annotations)
	_, checkpoint := v1alpha1.DecodeCheckpoint(pod.Annotations)
	for _, err := range []error{runtime, checkpoint} {
		if err != nil {
			ignored = append(ignored, fmt.Sprintf("annotation ignored: %s", err))
		}
	}
	return ignored
}

// ignoredMarks are the marks of a pod that have no effect, which may be a member by its owner.
func ignoredMarks(pod *corev1.Pod, owned bool) (ignored []string) {
	_, _, member := v1alpha1.GroupOf(pod.Labels, pod.Annotations)
	for _, name := range slices.Sorted(maps.Keys(pod.Labels)) {
		switch {
		case !strings.HasPrefix(name, prefix) || slices.Contains(v1alpha1.PodLabels(), name):
		case slices.Contains(v1alpha1.PodAnnotations(), name):
			ignored = append(ignored, fmt.Sprintf("label %s is ignored: it is an annotation", name))
		default:
			ignored = append(ignored, fmt.Sprintf("label %s is ignored: muster knows no such label%s", name, meant(name)))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(pod.Annotations)) {
		switch {
		case strings.HasPrefix(name, koordinator) && !member:
			ignored = append(ignored, fmt.Sprintf("annotation %s is ignored: the pod has no annotation %s that can be a name", name,
				v1alpha1.AnnotationKoordinatorName))
		case !strings.HasPrefix(name, prefix):
		case slices.Contains(v1alpha1.PodLabels(), name):
			ignored = append(ignored, fmt.Sprintf("annotation %s is ignored: it is a label", name))
		case !slices.Contains(v1alpha1.PodAnnotations(), name):
			ignored = append(ignored, fmt.Sprintf("annotation %s is ignored: muster knows no such annotation%s", name, meant(name)))
		case name == v1alpha1.AnnotationGangScope:
			ignored = append(ignored, fmt.Sprintf("annotation %s is ignored: it is for the owner of the pod", name))
		case !member && needsMark(name, owned):
			ignored = append(ignored, fmt.Sprintf(
				"annotation %s is ignored: the pod has no label of a gang, such as %s", name, v1alpha1.LabelMuster))
		}
	}
	return ignored
}

// meant says which mark a misspelled one is taken for: the one that has the same letters, or nearly.
func meant(name string) string {
	letters := func(name string) string {
		return strings.ToLower(strings.NewReplacer("-", "", "_", "", ".", "").Replace(strings.TrimPrefix(name, prefix)))
	}
	var short []string
	for _, known := range slices.Concat(v1alpha1.PodLabels(), v1alpha1.PodAnnotations()) {
		if own, is := strings.CutPrefix(known, prefix); is {
			short = append(short, own)
		}
		if of := letters(known); strings.HasPrefix(known, prefix) && (strings.TrimSuffix(of, "s") == strings.TrimSuffix(letters(name), "s")) {
			return "; " + known + " may be meant"
		}
	}
	if near := spelling.Nearest(strings.TrimPrefix(name, prefix), short); near != "" {
		return "; " + prefix + near + " may be meant"
	}
	return ""
}

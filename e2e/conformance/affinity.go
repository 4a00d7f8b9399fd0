package conformance

import (
	"encoding/json"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
)

func selectNodes(s *source, pod *corev1.Pod) {
	if s.chance(20) {
		pod.Spec.NodeSelector = s.labels(2, nodeLabels())
	}
	if s.chance(35) {
		pod.Spec.Affinity = &corev1.Affinity{}
		if s.chance(90) {
			pod.Spec.Affinity.NodeAffinity = &corev1.NodeAffinity{}
			if s.chance(90) {
				pod.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution = s.nodeSelector(s.upTo(3))
			}
			pod.Spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution = s.preferredTerms()
		}
	}
}

// addAffinity draws an affinity for all pods of a profile. Its terms parse.
func addAffinity(s *source) map[string]any {
	affinity := &corev1.NodeAffinity{}
	if s.chance(80) {
		selector := &corev1.NodeSelector{}
		for range 1 + s.upTo(1) {
			selector.NodeSelectorTerms = append(selector.NodeSelectorTerms, corev1.NodeSelectorTerm{
				MatchExpressions: []corev1.NodeSelectorRequirement{s.valid()},
			})
		}
		affinity.RequiredDuringSchedulingIgnoredDuringExecution = selector
	}
	for _, term := range s.preferredTerms() {
		if term.Weight > 0 && !slices.ContainsFunc(term.Preference.MatchExpressions, isInvalid) {
			affinity.PreferredDuringSchedulingIgnoredDuringExecution = append(affinity.PreferredDuringSchedulingIgnoredDuringExecution, term)
		}
	}
	return map[string]any{"addedAffinity": plain(affinity)}
}

func (s *source) nodeSelector(terms int) *corev1.NodeSelector {
	selector := &corev1.NodeSelector{}
	for range terms {
		term := corev1.NodeSelectorTerm{}
		for range s.upTo(2) {
			term.MatchExpressions = append(term.MatchExpressions, s.requirement())
		}
		if s.chance(35) {
			for range 1 + s.upTo(1) {
				term.MatchFields = append(term.MatchFields, s.nameRequirement())
			}
		}
		selector.NodeSelectorTerms = append(selector.NodeSelectorTerms, term)
	}
	return selector
}

// labelled selects nodes by the values of a label.
func labelled(key string, how corev1.NodeSelectorOperator, values ...string) *corev1.NodeSelector {
	requirement := corev1.NodeSelectorRequirement{Key: key, Operator: how, Values: values}
	return &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{requirement}}},
	}
}

// preferredTerms draws terms that parse, since kube-scheduler gives up on a pod with another one before it has scored a
// node. Some are empty, or weigh nothing.
func (s *source) preferredTerms() []corev1.PreferredSchedulingTerm {
	var terms []corev1.PreferredSchedulingTerm
	for range s.upTo(3) {
		term := corev1.PreferredSchedulingTerm{Weight: one(s, int32(0), 1, 1, 7, 33, 50, 100)}
		for range s.upTo(2) {
			term.Preference.MatchExpressions = append(term.Preference.MatchExpressions, s.wellFormed())
		}
		if s.chance(20) {
			requirement := s.nameRequirement()
			requirement.Values = requirement.Values[:1]
			term.Preference.MatchFields = append(term.Preference.MatchFields, requirement)
		}
		terms = append(terms, term)
	}
	return terms
}

// requirement draws a requirement that may be malformed: a comparison with something that is no number, values where
// none may be.
func (s *source) requirement() corev1.NodeSelectorRequirement {
	r := s.wellFormed()
	if s.chance(5) {
		r.Values = append(r.Values, one(s, "high", "-1", " 3", "9223372036854775808"))
	}
	if s.chance(3) {
		r.Values = nil
	}
	if s.chance(3) {
		r.Values = []string{one(s, " 3", "3 ", "", "1e1", "9223372036854775808")}
	}
	return r
}

func (s *source) wellFormed() corev1.NodeSelectorRequirement {
	label := one(s, nodeLabels()...)
	r := corev1.NodeSelectorRequirement{
		Key: one(s, label.key, label.key, label.key, "absent"),
		Operator: one(s, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn, corev1.NodeSelectorOpExists,
			corev1.NodeSelectorOpDoesNotExist, corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt),
	}
	switch r.Operator {
	case corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn:
		for range 1 + s.upTo(2) {
			r.Values = append(r.Values, one(s, label.values...))
		}
	case corev1.NodeSelectorOpGt, corev1.NodeSelectorOpLt:
		r.Key, r.Values = levelLabel, []string{one(s, "0", "3", "4", "6", "06", "+4", "-6", "9223372036854775806", "-9223372036854775808")}
	case corev1.NodeSelectorOpExists, corev1.NodeSelectorOpDoesNotExist:
	}
	return r
}

// valid draws a requirement that a configuration may have: its values can be values of labels.
func (s *source) valid() corev1.NodeSelectorRequirement {
	for {
		if r := s.wellFormed(); !isInvalid(r) {
			return r
		}
	}
}

func isInvalid(r corev1.NodeSelectorRequirement) bool {
	return slices.ContainsFunc(r.Values, func(value string) bool { return len(validation.IsValidLabelValue(value)) > 0 })
}

// nameRequirement draws a requirement on the node's name, now and then with more names than the one that is allowed.
func (s *source) nameRequirement() corev1.NodeSelectorRequirement {
	r := corev1.NodeSelectorRequirement{
		Key:      metav1.ObjectNameField,
		Operator: one(s, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpIn, corev1.NodeSelectorOpNotIn),
		Values:   []string{one(s, nodeName(0), nodeName(1), nodeName(2), nodeName(3), "nowhere")},
	}
	if s.chance(10) {
		r.Values = append(r.Values, nodeName(1))
	}
	return r
}

// plain is a value in the form that a configuration file has after decoding.
func plain(value any) any {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // API types have a JSON form
	}
	var decoded any
	if err := json.Unmarshal(data, &decoded); err != nil {
		panic(err) // it was just encoded
	}
	return decoded
}

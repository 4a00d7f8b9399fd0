package conformance

import (
	"math/rand/v2"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// source is where everything random comes from. Two of the same seed draw the same.
type source struct {
	random *rand.Rand
	large  bool // has devices drawn for the largest number of nodes
}

func newSource(seed uint64) *source {
	return &source{random: rand.New(rand.NewPCG(seed, 0))}
}

// chance is true with a chance in percent.
func (s *source) chance(percent int) bool { return s.random.IntN(100) < percent }

// upTo draws a number from 0 to most.
func (s *source) upTo(most int) int { return s.random.IntN(most + 1) }

// one draws one of the choices.
func one[T any](s *source, choices ...T) T { return choices[s.random.IntN(len(choices))] }

// maybe draws one of the choices with a chance in percent, else it is nil.
func maybe[T any](s *source, percent int, choices ...T) *T {
	if !s.chance(percent) {
		return nil
	}
	return new(one(s, choices...))
}

// several draws from none to most of the choices, none of them twice.
func several[T any](s *source, most int, choices ...T) []T {
	choices = slices.Clone(choices)
	s.random.Shuffle(len(choices), func(i, j int) { choices[i], choices[j] = choices[j], choices[i] })
	return choices[:s.upTo(min(most, len(choices)))]
}

// vocabulary is the labels that there are, with their values: few, so that what is drawn for one side of a selector
// often matches what is drawn for the other.
type vocabulary []struct {
	key    string
	values []string
}

// Labels of nodes that are topology keys, beside the name of the host.
const (
	zoneLabel   = corev1.LabelTopologyZone
	regionLabel = corev1.LabelTopologyRegion
	diskLabel   = "disk"
)

// levelLabel is a number, mostly, for the operators Lt and Gt.
const levelLabel = "example.com/level"

func nodeLabels() vocabulary {
	return vocabulary{
		{zoneLabel, []string{"a", "a", "b", "b", "c", ""}},
		{regionLabel, []string{"north", "south"}},
		{diskLabel, []string{"", "ssd"}},
		{levelLabel, []string{"0", "3", "5", "7", "007", "-5", "+5", " 5", "9223372036854775807", "9223372036854775808", "high"}},
	}
}

func podLabels() vocabulary {
	return vocabulary{
		{"app", []string{"web", "web", "db", "cache"}},
		{"tier", []string{"front", "back", ""}},
		{"version", []string{"1", "2"}},
	}
}

func namespaceLabels() vocabulary {
	return vocabulary{
		{"team", []string{"red", "blue"}},
		{"stage", []string{"test", "live"}},
	}
}

// labels draws from none to most labels, nil rather than none.
func (s *source) labels(most int, from vocabulary) map[string]string {
	var labels map[string]string
	for _, label := range several(s, most, from...) {
		if labels == nil {
			labels = map[string]string{}
		}
		labels[label.key] = one(s, label.values...)
	}
	return labels
}

// keys draws from none to two keys of labels.
func (s *source) keys(from vocabulary) []string {
	var keys []string
	for _, label := range several(s, 2, from...) {
		keys = append(keys, label.key)
	}
	return keys
}

// labelNode gives a node its labels. Some have none, and some lack the name of the host or have one that is not theirs.
func labelNode(s *source, node *corev1.Node) {
	if s.chance(8) {
		return
	}
	node.Labels = map[string]string{}
	for _, label := range nodeLabels() {
		if s.chance(60) {
			node.Labels[label.key] = one(s, label.values...)
		}
	}
	if s.chance(85) {
		node.Labels[corev1.LabelHostname] = node.Name
	} else if s.chance(30) {
		node.Labels[corev1.LabelHostname] = nodeName(s.upTo(3))
	}
}

// labelSelector draws a selector: none, one that selects everything, and all operators. It parses.
func (s *source) labelSelector(of vocabulary) *metav1.LabelSelector {
	if s.chance(5) {
		return nil
	}
	selector := &metav1.LabelSelector{}
	if s.chance(75) {
		selector.MatchLabels = s.labels(2, of)
	}
	if s.chance(35) {
		label := one(s, of...)
		r := metav1.LabelSelectorRequirement{
			Key: label.key,
			Operator: one(
				s, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn, metav1.LabelSelectorOpExists,
				metav1.LabelSelectorOpDoesNotExist,
			),
		}
		if r.Operator == metav1.LabelSelectorOpIn || r.Operator == metav1.LabelSelectorOpNotIn {
			r.Values = []string{one(s, label.values...), one(s, label.values...)}
		}
		selector.MatchExpressions = append(selector.MatchExpressions, r)
	}
	return selector
}

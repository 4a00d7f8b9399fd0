package reschedulerfaults

import (
	"fmt"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/rescheduling/v1alpha1"
)

// judgeMarks looks for marks on nodes that have no plan behind them at the end.
func (s *story) judgeMarks() (findings []finding) {
	for _, text := range s.final.marksLeft(s.end.Add(-s.mostApart())) {
		findings = append(findings, finding{markLeft, text})
	}
	return findings
}

// marksLeft are marks that should have been taken off: of a plan that has ended or is gone, of an emptied node that is not
// empty, and of one that was to be open again. A node is to be open by a clock that may be ahead of this one.
func (s *state) marksLeft(now time.Time) (left []string) {
	for _, name := range slices.Sorted(maps.Keys(s.nodes)) {
		if n := s.nodes[name]; !n.gone {
			if why := s.markLeft(n.object, now); why != "" {
				left = append(left, fmt.Sprintf("node %s %s", name, why))
			}
		}
	}
	return left
}

func (s *state) markLeft(node *corev1.Node, now time.Time) string {
	emptying, emptied := node.Annotations[v1alpha1.AnnotationEmptying], node.Annotations[v1alpha1.AnnotationEmptied]
	closed := node.Annotations[v1alpha1.AnnotationCordoned] != "" ||
		slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Key == v1alpha1.TaintClosed })
	switch {
	case emptying != "" && !s.empties(emptying):
		return "is being emptied by " + emptying + ", which does not"
	case emptied != "" && !s.isEmpty(node.Name):
		return "has been emptied by " + emptied + ", and is not empty"
	case closed && emptying == "" && emptied == "":
		return "is closed for no plan"
	case closed && emptied != "":
		until, err := time.Parse(time.RFC3339, node.Annotations[v1alpha1.AnnotationClosedUntil])
		if err != nil || now.After(until.Add(slack)) {
			return "was to be open since " + node.Annotations[v1alpha1.AnnotationClosedUntil]
		}
	}
	return ""
}

// empties says that the plan of a name is there, and has not ended.
func (s *state) empties(name string) bool {
	for _, p := range s.plans {
		if p.object.Name == name && !p.gone {
			return !p.object.Ended()
		}
	}
	return false
}

func (s *state) isEmpty(node string) bool {
	for _, p := range s.pods {
		if !p.gone && p.object.Spec.NodeName == node && !finished(p.object) {
			return false
		}
	}
	return true
}

package reschedulerfaults

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// judgeProtected looks for evictions of pods that nobody may move: those that say so, and those of Jobs that fail by it.
func (s *story) judgeProtected() (findings []finding) {
	for _, m := range s.moves(s.final) {
		if m.life == nil {
			continue
		}
		owner := metav1.GetControllerOfNoCopy(m.life.object)
		if m.life.object.Annotations[safeToEvict] == "false" || owner != nil && owner.Kind == "Job" {
			findings = append(findings, finding{protected, fmt.Sprintf("pod %s", m.pod)})
		}
	}
	return findings
}

// notReplaced is how many pods were evicted that nothing has replaced in the end: of workloads with fewer pods on nodes than
// they are to have, unless something else is to blame for that.
func (s *story) notReplaced() (count int) {
	missing := map[types.UID]int{}
	for uid, set := range s.final.sets {
		if !set.gone {
			missing[uid] = set.object.replicas
		}
	}
	for _, p := range s.final.pods {
		if p.leaves.IsZero() && !p.bound.IsZero() {
			missing[controllerOf(p.object)]--
		}
	}
	for _, m := range s.moves(s.final) {
		if m.plan == nil || s.final.excuse(&m) != "" || missing[m.step.Controller.UID] <= 0 {
			continue
		}
		missing[m.step.Controller.UID]--
		count++
	}
	return count
}

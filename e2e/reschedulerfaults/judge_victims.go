package reschedulerfaults

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/rescheduling/v1alpha1"
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

// hasMoved says that a plan says of a pod that it has been replaced.
func (p *planLife) hasMoved(uid types.UID) bool {
	for i := range p.object.Spec.Steps {
		if p.object.Spec.Steps[i].Pod.UID == uid {
			return p.object.Step(i).Phase == v1alpha1.StepMoved
		}
	}
	return false
}

// judgeReplaced looks for pods that were evicted and that nothing has replaced in the end: of workloads with fewer pods on
// nodes than they are to have, unless something else is to blame for that.
func (s *story) judgeReplaced() (findings []finding) {
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
		if m.plan == nil || m.plan.hasMoved(m.uid) || s.final.excuse(&m) != "" || missing[m.step.Controller.UID] <= 0 {
			continue
		}
		missing[m.step.Controller.UID]--
		text := fmt.Sprintf("pod %s of %s, by plan %s", m.pod, m.step.Controller.Name, m.plan.object.Name)
		findings = append(findings, finding{notReplaced, text})
	}
	return findings
}

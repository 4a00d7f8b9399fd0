package reschedulerfaults

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// judgeProtected looks for evictions of pods that nobody may move: those whose labels say that something forbids it, and
// those with claims, unless these are allowed.
func (s *story) judgeProtected() (findings []finding) {
	for _, m := range s.moves(s.final) {
		if m.life == nil {
			continue
		}
		if why := m.life.object.Labels[staysLabel]; why != "" {
			findings = append(findings, finding{protected, fmt.Sprintf("pod %s: %s", m.pod, why)})
		}
		for i := range m.life.object.Spec.Volumes {
			if !s.allowClaims && m.life.object.Spec.Volumes[i].PersistentVolumeClaim != nil {
				findings = append(findings, finding{protected, fmt.Sprintf("pod %s has a claim", m.pod)})
			}
		}
	}
	return findings
}

// judgeSingles looks for evictions of the only pod of a controller that is ready, unless these are allowed: it is so for long
// enough to be known, and none of the others is, or was lately. A gang is moved whole, and Jobs do not serve anyone.
func (s *story) judgeSingles() (findings []finding) {
	for pod, before := range s.leaving() {
		e := s.granted(pod.UID)
		if e == nil || s.allowSingle || isMember(pod) || ofJob(pod) {
			continue
		}
		if before.pods[pod.UID].upSince.Before(e.asked.Add(-slack)) && !before.othersWork(pod.UID, controllerOf(pod), e.asked.Add(-slack)) {
			findings = append(findings, finding{protected, fmt.Sprintf("pod %s is the only one of its controller that is ready", pod.Name)})
		}
	}
	return findings
}

func ofJob(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	return owner != nil && owner.Kind == string(batch)
}

package reschedulerfaults

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/rescheduling/v1alpha1"
)

func staying(p *corev1.Pod) { p.Labels[staysLabel] = string(notSafe) }

func withClaim(p *corev1.Pod) {
	p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
	}}}
}

// alone is a tale in which the only pods that are ready stay.
func alone(others ...func(*corev1.Pod)) *tale {
	t := newTale()
	t.allowSingle = false
	if len(others) > 0 {
		t.pod("other", others...)
	}
	return t
}

// about has the plan be about to evict.
func about(t *tale) *tale { return t.plan(v1alpha1.Executing, v1alpha1.StepEvicting, "") }

// robbed has a stranger be bound to where the pod is to go.
func robbed(t *tale) *tale {
	return t.pod("thief", stranger, large).pod("thief", stranger, large, on("to"))
}

// asking has plans ask for a yes.
func (t *tale) asking(yes string) *tale {
	for _, e := range t.entries {
		if e.plan != nil {
			e.plan.Spec.Mode, e.plan.Annotations = v1alpha1.Approve, map[string]string{v1alpha1.AnnotationApprove: yes}
		}
	}
	return t
}

// givenUp has muster give up the room of the plan.
func (t *tale) givenUp() *tale {
	t.plan(v1alpha1.Executing, v1alpha1.StepEvicted, "")
	t.entries[len(t.entries)-1].plan.Status.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionReserved, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonReplacementDiffers,
	}}
	return t
}

func (t *tale) allowingClaims() *tale {
	t.allowClaims = true
	return t
}

func TestWhoMustStayIsFound(t *testing.T) {
	const message = "why"
	failed := func() *tale { return moving().pod("new").plan(v1alpha1.Failed, "", message) }
	for name, test := range map[string]struct {
		tale *tale
		want string // kinds, "" for nothing
	}{
		"one that must stay":                        {newTale().pod("old", on("from"), ready, staying).moves(), protected},
		"one with a claim":                          {newTale().pod("old", on("from"), ready, withClaim).moves(), protected},
		"one with a claim, which may":               {tale: newTale().pod("old", on("from"), ready, withClaim).allowingClaims().moves()},
		"the only one":                              {alone().moves(), protected},
		"the only one, which has just become ready": {tale: about(alone()).pod("old", on("from")).pod("old", on("from"), ready).evict("old", 0)},
		"the only one that is ready":                {alone(on("to")).pass(time.Minute).moves(), protected},
		"one of two that are ready":                 {tale: alone(on("to"), ready).moves()},
		"another one has been ready until lately":   {tale: about(alone(on("to"), ready)).pod("other", on("to")).evict("old", 0)},
		"nobody has approved":                       {moving().asking(""), unapproved},
		"somebody has approved":                     {tale: moving().asking("true")},

		"a stranger takes room that was given up for a pod that differs": {
			tale: moving().pod("new", large).pod("thief", stranger, large).pod("thief", stranger, large, on("to")).givenUp(),
		},
		"a stranger takes room long before it was given up": {
			moving().pod("thief", stranger, large).pod("thief", stranger, large, on("to")).pass(time.Minute).pod("new", large).givenUp(), stolen,
		},

		"nothing has replaced it":                          {failed(), unreplaced},
		"it has been replaced elsewhere":                   {tale: failed().pod("new", on("from"), ready)},
		"what replaced it was evicted by others":           {tale: failed().pod("new", on("from"), ready).gone("new").pod("newer")},
		"its plan has not ended":                           {tale: moving().pod("new")},
		"what replaces it asks for more":                   {tale: moving().pod("new", large).plan(v1alpha1.Failed, "", message)},
		"others took the room when the plan had failed":    {tale: robbed(failed().pass(slack))},
		"others took the room when the plan had succeeded": {robbed(moving().pod("new").plan(v1alpha1.Succeeded, "", message)), unreplaced},
	} {
		t.Run(name, func(t *testing.T) { test.tale.expect(t, test.want) })
	}
}

package loop

import (
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/rescheduler/planner"
)

// object returns a plan as an object.
func object(policy v1alpha1.Policy, mode v1alpha1.Mode, plan *planner.Plan, expires time.Time) *v1alpha1.ReschedulingPlan {
	object := &v1alpha1.ReschedulingPlan{
		ObjectMeta: metav1.ObjectMeta{GenerateName: strings.ToLower(string(policy)) + "-"},
		Spec:       v1alpha1.ReschedulingPlanSpec{Policy: policy, Mode: mode, Expires: metav1.NewTime(expires)},
	}
	for _, node := range plan.Emptied {
		object.Spec.Empties = append(object.Spec.Empties, node.Name)
	}
	for i := range plan.Placements {
		p := &plan.Placements[i]
		if p.Awaits {
			continue // its room is not there to be kept
		}
		beneficiary := v1alpha1.Beneficiary{PodReference: reference(p.Pod), Node: p.Node.Name, Why: p.Why}
		if p.Group != p.Pod.FullName() {
			beneficiary.Gang = p.Group
		}
		object.Spec.Beneficiaries = append(object.Spec.Beneficiaries, beneficiary)
	}
	for i := range plan.Steps {
		object.Spec.Steps = append(object.Spec.Steps, step(&plan.Steps[i]))
	}
	return object
}

func step(s *planner.Step) v1alpha1.Step {
	made := v1alpha1.Step{
		Pod: reference(s.Pod), Gang: s.Gang, From: s.From.Name, To: s.To.Name, Why: s.Why, Cost: s.Cost,
		Replacement: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: s.Pod.Labels, Annotations: s.Pod.Annotations, OwnerReferences: s.Pod.OwnerReferences},
			Spec:       s.Replacement.Spec,
		},
	}
	if owner := metav1.GetControllerOfNoCopy(s.Pod.Pod); owner != nil {
		made.Controller = v1alpha1.Controller{Kind: owner.Kind, Name: owner.Name, UID: owner.UID}
	}
	return made
}

func reference(pod *cluster.Pod) v1alpha1.PodReference {
	return v1alpha1.PodReference{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID}
}

// run is one look for something to plan.
type run struct {
	At   time.Time
	Took time.Duration
	What string
	Plan string
	// Refused are the pods that the plan does not help, and the ones that it leaves alone.
	Refused []planner.Refusal
}

// journal has the last run of each policy. It is safe for concurrent use.
type journal struct {
	mu   sync.Mutex
	runs map[v1alpha1.Policy]run
}

func newJournal() *journal { return &journal{runs: map[v1alpha1.Policy]run{}} }

func (j *journal) note(policy v1alpha1.Policy, last run) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.runs[policy] = last
}

// last is the zero run when there was none.
func (j *journal) last(policy v1alpha1.Policy) run {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.runs[policy]
}

package console

import (
	"cmp"
	"net/http"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/inspect"
	"muster.dev/muster/rescheduler/reservation"
	"muster.dev/muster/server/remote"
)

// reservationsPage is the room that plans of the rescheduler keep.
type reservationsPage struct{ remote.AllReservations }

func (s *Console) debugReservations(*http.Request) (inspect.Answer, error) {
	if s.options.Reservations == nil {
		return nil, inspect.Refuse(http.StatusNotFound, "reservations: there is no API server")
	}
	return reservationsPage{remote.AllReservations{Reservations: append([]reservation.About{}, s.options.Reservations.Report()...)}}, nil
}

// Text implements [inspect.Answer].
func (p reservationsPage) Text(t *inspect.Table) {
	t.Title("%d reservations of plans that are carried out", len(p.Reservations))
	t.Row("PLAN", "NODE", "FOR", "OPEN", "TAKEN BY")
	for _, r := range p.Reservations {
		t.Row(r.Plan, r.Node, r.For, r.Open, r.Taker)
	}
}

// plansPage is the ReschedulingPlans, the oldest first.
type plansPage struct{ remote.AllPlans }

func newPlan(plan *v1alpha1.ReschedulingPlan) remote.Plan {
	row := remote.Plan{
		Plan: plan.Name, Policy: plan.Spec.Policy, Mode: plan.Spec.Mode, Approved: plan.IsApproved(),
		Phase: cmp.Or(plan.Status.Phase, v1alpha1.Pending), Moved: plan.Status.Moved, Message: plan.Status.Message,
		Created: plan.CreationTimestamp.UTC(), Expires: plan.Expires().UTC(), Empties: plan.Spec.Empties,
	}
	for i := range plan.Spec.Beneficiaries {
		b := &plan.Spec.Beneficiaries[i]
		row.Beneficiaries = append(row.Beneficiaries, remote.Beneficiary{Pod: b.String(), Gang: b.Gang, Node: b.Node, Why: b.Why})
	}
	for i := range plan.Spec.Steps {
		step := &plan.Spec.Steps[i]
		row.Steps = append(row.Steps, remote.Step{
			Pod: step.Pod.String(), Controller: step.Controller.Kind + "/" + step.Controller.Name, Gang: step.Gang,
			From: step.From, To: step.To, Why: step.Why, Phase: cmp.Or(plan.Step(i).Phase, v1alpha1.StepWaiting),
		})
	}
	return row
}

func (s *Console) debugPlans(*http.Request) (inspect.Answer, error) {
	if s.options.Reservations == nil {
		return nil, inspect.Refuse(http.StatusNotFound, "plans: there is no API server")
	}
	page := plansPage{remote.AllPlans{Plans: []remote.Plan{}}}
	for _, plan := range s.options.Reservations.Plans() {
		page.Plans = append(page.Plans, newPlan(plan))
	}
	return page, nil
}

// Text implements [inspect.Answer].
func (p plansPage) Text(t *inspect.Table) {
	t.Title("%d ReschedulingPlans, the oldest first", len(p.Plans))
	t.Row("PLAN", "POLICY", "MODE", "PHASE", "MOVED", "EXPIRES", "MESSAGE")
	for i := range p.Plans {
		plan := &p.Plans[i]
		t.Row(plan.Plan, plan.Policy, plan.Mode, plan.Phase, cmp.Or(plan.Moved, "-"), inspect.Time(plan.Expires), cmp.Or(plan.Message, "-"))
	}
	t.Gap()
	t.Row("PLAN", "POD", "FROM", "TO", "PHASE", "WHY")
	for i := range p.Plans {
		for _, step := range p.Plans[i].Steps {
			t.Row(p.Plans[i].Plan, step.Pod, step.From, step.To, step.Phase, cmp.Or(step.Why, "-"))
		}
	}
}

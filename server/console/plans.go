package console

import (
	"cmp"
	"net/http"
	"time"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/inspect"
)

// reservationsPage is the room that plans of the rescheduler keep.
type reservationsPage struct {
	Reservations []reservationRow `json:"reservations"`
}

type reservationRow struct {
	Plan string `json:"plan"`
	Node string `json:"node"`
	For  string `json:"for"`
	// Open says that its pod may come.
	Open bool `json:"open"`
	// TakenBy is the UID of the pod that has it.
	TakenBy string `json:"takenBy"`
}

func (s *Console) debugReservations(*http.Request) (inspect.Answer, error) {
	if s.options.Reservations == nil {
		return nil, inspect.Refuse(http.StatusNotFound, "reservations: there is no API server")
	}
	page := reservationsPage{Reservations: []reservationRow{}}
	for _, r := range s.options.Reservations.Report() {
		page.Reservations = append(page.Reservations, reservationRow{Plan: r.Plan, Node: r.Node, For: r.For, Open: r.Open, TakenBy: r.Taker})
	}
	return page, nil
}

// Text implements [inspect.Answer].
func (p reservationsPage) Text(t *inspect.Table) {
	t.Title("%d reservations of plans that are carried out", len(p.Reservations))
	t.Row("PLAN", "NODE", "FOR", "OPEN", "TAKEN BY")
	for _, r := range p.Reservations {
		t.Row(r.Plan, r.Node, r.For, r.Open, r.TakenBy)
	}
}

// plansPage is the ReschedulingPlans, the oldest first. What replaces pods is left out: it is
// all of their specs.
type plansPage struct {
	Plans []planRow `json:"plans"`
}

type planRow struct {
	Plan          string           `json:"plan"`
	Policy        v1alpha1.Policy  `json:"policy"`
	Mode          v1alpha1.Mode    `json:"mode"`
	Approved      bool             `json:"approved"`
	Phase         v1alpha1.Phase   `json:"phase"`
	Moved         string           `json:"moved,omitempty"`
	Message       string           `json:"message,omitempty"`
	Created       time.Time        `json:"created,omitzero"`
	Expires       time.Time        `json:"expires"`
	Beneficiaries []beneficiaryRow `json:"beneficiaries,omitempty"`
	Empties       []string         `json:"empties,omitempty"`
	Steps         []stepRow        `json:"steps"`
}

// beneficiaryRow is a pending pod that gets a place.
type beneficiaryRow struct {
	Pod  string `json:"pod"`
	Gang string `json:"gang,omitempty"`
	Node string `json:"node"`
	Why  string `json:"why,omitempty"`
}

// stepRow is a pod that moves.
type stepRow struct {
	Pod        string             `json:"pod"`
	Controller string             `json:"controller"`
	Gang       string             `json:"gang,omitempty"`
	From       string             `json:"from"`
	To         string             `json:"to"`
	Why        string             `json:"why,omitempty"`
	Phase      v1alpha1.StepPhase `json:"phase"`
}

func newPlanRow(plan *v1alpha1.ReschedulingPlan) planRow {
	row := planRow{
		Plan: plan.Name, Policy: plan.Spec.Policy, Mode: plan.Spec.Mode, Approved: plan.IsApproved(),
		Phase: cmp.Or(plan.Status.Phase, v1alpha1.Pending), Moved: plan.Status.Moved, Message: plan.Status.Message,
		Created: plan.CreationTimestamp.UTC(), Expires: plan.Expires().UTC(), Empties: plan.Spec.Empties,
	}
	for i := range plan.Spec.Beneficiaries {
		b := &plan.Spec.Beneficiaries[i]
		row.Beneficiaries = append(row.Beneficiaries, beneficiaryRow{b.String(), b.Gang, b.Node, b.Why})
	}
	for i := range plan.Spec.Steps {
		step := &plan.Spec.Steps[i]
		row.Steps = append(row.Steps, stepRow{
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
	page := plansPage{Plans: []planRow{}}
	for _, plan := range s.options.Reservations.Plans() {
		page.Plans = append(page.Plans, newPlanRow(plan))
	}
	return page, nil
}

// Text implements [inspect.Answer].
func (p plansPage) Text(t *inspect.Table) {
	t.Title("%d ReschedulingPlans, the oldest first", len(p.Plans))
	t.Row("PLAN", "POLICY", "MODE", "PHASE", "MOVED", "EXPIRES", "MESSAGE")
	for i := range p.Plans {
		plan := &p.Plans[i]
		t.Row(plan.Plan, plan.Policy, plan.Mode, plan.Phase, cmp.Or(plan.Moved, "-"), when(plan.Expires), cmp.Or(plan.Message, "-"))
	}
	t.Gap()
	t.Row("PLAN", "POD", "FROM", "TO", "PHASE", "WHY")
	for i := range p.Plans {
		for _, step := range p.Plans[i].Steps {
			t.Row(p.Plans[i].Plan, step.Pod, step.From, step.To, step.Phase, cmp.Or(step.Why, "-"))
		}
	}
}

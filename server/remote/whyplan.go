package remote

import (
	"cmp"
	"context"
	"fmt"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/inspect"
	"muster.dev/muster/rescheduler/executor"
	"muster.dev/muster/rescheduler/loop"
	"muster.dev/muster/rescheduler/reservation"
)

// PlanReason is why a ReschedulingPlan goes on, or does not.
type PlanReason struct {
	Plan
	// Summary is State, for who asks in another language.
	Summary string `json:"summary"`
	// At is the step at which it stands, counted from 1; 0 when all pods have moved.
	At int `json:"at,omitempty"`
	// Reservations is the room that it keeps.
	Reservations []reservation.About `json:"reservations,omitempty"`
	// UsedUp are budgets of evictions without anything left, and ReschedulerError says why they are not known.
	UsedUp           []executor.Allowance `json:"usedUp,omitempty"`
	ReschedulerError string               `json:"reschedulerError,omitempty"`
}

// WhyPlan asks muster why a plan does or does not go on, and the rescheduler for its budgets. The latter may be nil.
func (c *Client) WhyPlan(ctx context.Context, name string, rescheduler *Client) (*PlanReason, error) {
	var all AllPlans
	if err := c.get(ctx, "/debug/plans", &all); err != nil {
		return nil, err
	}
	var found *Plan
	for i := range all.Plans {
		if all.Plans[i].Plan == name {
			found = &all.Plans[i]
		}
	}
	if found == nil {
		return nil, absent("plan", name, all.names())
	}
	r := &PlanReason{Plan: *found}
	for i := range r.Steps {
		if r.Steps[i].Phase != v1alpha1.StepMoved {
			r.At = i + 1
			break
		}
	}
	if err := c.addRoom(ctx, r); err != nil {
		return nil, err
	}
	if rescheduler != nil && r.GoesOn() && r.Phase != v1alpha1.Succeeded {
		rescheduler.addBudgets(ctx, r)
	}
	r.Summary = r.State()
	return r, nil
}

// addRoom adds the room that the plan keeps.
func (c *Client) addRoom(ctx context.Context, r *PlanReason) error {
	var room AllReservations
	if err := c.get(ctx, "/debug/reservations", &room); err != nil {
		return err
	}
	for _, reservation := range room.Reservations {
		if reservation.Plan == r.Plan.Plan {
			r.Reservations = append(r.Reservations, reservation)
		}
	}
	return nil
}

// addBudgets adds the budgets of a rescheduler without anything left.
func (c *Client) addBudgets(ctx context.Context, r *PlanReason) {
	page := &loop.Page{}
	if err := c.get(ctx, "/debug/rescheduler", page); err != nil {
		r.ReschedulerError = err.Error()
	}
	for _, budget := range page.Budgets {
		if budget.Left <= 0 {
			r.UsedUp = append(r.UsedUp, budget)
		}
	}
}

// GoesOn says that the plan is carried out, or is about to be, or was.
func (r *PlanReason) GoesOn() bool {
	return r.Phase == v1alpha1.Approved || r.Phase == v1alpha1.Executing || r.Phase == v1alpha1.Succeeded
}

// State is how far the plan is, and what it waits for, in words.
func (r *PlanReason) State() string {
	because := ""
	if r.Message != "" {
		because = ": " + r.Message
	}
	switch r.Phase {
	case v1alpha1.Pending:
		return r.pending() + because
	case v1alpha1.Approved:
		return "waits for its turn" + because
	case v1alpha1.Executing:
		return "is carried out" + r.standing() + because
	case v1alpha1.Succeeded:
		return "has ended: what it moves has moved" + because
	case v1alpha1.Failed:
		return "has failed" + r.standing() + because
	case v1alpha1.Expired:
		return "has expired" + r.standing() + because
	}
	return string(r.Phase) + because
}

func (r *PlanReason) pending() string {
	switch {
	case r.Mode == v1alpha1.DryRun:
		return "is only shown: its mode is DryRun, and nobody carries it out"
	case r.Mode == v1alpha1.Approve && !r.Approved:
		return "waits for approval by 'kubectl annotate reschedulingplan " + r.Plan.Plan + " " + v1alpha1.AnnotationApprove + "=true'"
	default:
		return "waits for the rescheduler to take it up"
	}
}

// standing is the step at which the plan stands.
func (r *PlanReason) standing() string {
	if r.At == 0 {
		return ""
	}
	step := &r.Steps[r.At-1]
	return fmt.Sprintf(", at step %d of %d, %s from %s to %s, which is %s", r.At, len(r.Steps), step.Pod, step.From, step.To, step.Phase)
}

// Text implements [inspect.Answer].
func (r *PlanReason) Text(t *inspect.Table) {
	r.head(t)
	t.Gap()
	t.Row("STEP", "POD", "FROM", "TO", "PHASE")
	for i := range r.Steps {
		step := &r.Steps[i]
		t.Row(i+1, step.Pod, step.From, step.To, step.Phase)
	}
}

// Wide implements [inspect.WideAnswer]: with why pods move, what replaces them, and the room that is kept.
func (r *PlanReason) Wide(t *inspect.Table) {
	r.head(t)
	t.Gap()
	t.Row("STEP", "POD", "CONTROLLER", "FROM", "TO", "PHASE", "WHY")
	for i := range r.Steps {
		step := &r.Steps[i]
		t.Row(i+1, step.Pod, step.Controller, step.From, step.To, step.Phase, cmp.Or(step.Why, "-"))
	}
	if len(r.Reservations) == 0 {
		return
	}
	t.Gap()
	t.Row("ROOM ON", "FOR", "OPEN", "TAKEN BY")
	for _, room := range r.Reservations {
		t.Row(room.Node, room.For, room.Open, cmp.Or(room.Taker, "-"))
	}
}

func (r *PlanReason) head(t *inspect.Table) {
	if head := "plan " + r.Plan.Plan + " " + r.State(); r.GoesOn() {
		t.Row(inspect.Good(head))
	} else {
		t.Row(inspect.Doubtful(head))
	}
	t.Gap()
	t.Row("policy", fmt.Sprintf("%s, mode %s, phase %s", r.Policy, r.Mode, r.Phase))
	t.Row("moved", cmp.Or(r.Moved, "-"))
	t.Row("expires", inspect.Time(r.Expires))
	for _, b := range r.Beneficiaries {
		t.Row("for", b.Pod+" on "+b.Node)
	}
	for _, node := range r.Empties {
		t.Row("empties", node)
	}
	if r.GoesOn() {
		t.Row("room", fmt.Sprintf("%d places are kept", len(r.Reservations)))
	}
	for _, budget := range r.UsedUp {
		t.Row("used up", inspect.Doubtful(fmt.Sprintf("budget %s %s %s", budget.Budget, budget.Namespace, budget.Selector)))
	}
	if r.ReschedulerError != "" {
		t.Row("budgets", "are not known: the rescheduler cannot be asked: "+r.ReschedulerError)
	}
}

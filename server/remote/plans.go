package remote

import (
	"context"
	"time"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/rescheduler/reservation"
)

// AllPlans is the ReschedulingPlans, the oldest first. What replaces pods is left out: it is all of
// their specs.
type AllPlans struct {
	Plans []Plan `json:"plans"`
}

// Plan is how far a ReschedulingPlan is.
type Plan struct {
	Plan          string          `json:"plan"`
	Policy        v1alpha1.Policy `json:"policy"`
	Mode          v1alpha1.Mode   `json:"mode"`
	Approved      bool            `json:"approved"`
	Phase         v1alpha1.Phase  `json:"phase"`
	Moved         string          `json:"moved,omitempty"`
	Message       string          `json:"message,omitempty"`
	Created       time.Time       `json:"created,omitzero"`
	Expires       time.Time       `json:"expires"`
	Beneficiaries []Beneficiary   `json:"beneficiaries,omitempty"`
	Empties       []string        `json:"empties,omitempty"`
	Steps         []Step          `json:"steps"`
}

// Beneficiary is a pending pod that gets a place.
type Beneficiary struct {
	Pod  string `json:"pod"`
	Gang string `json:"gang,omitempty"`
	Node string `json:"node"`
	Why  string `json:"why,omitempty"`
}

// Step is a pod that moves.
type Step struct {
	Pod        string             `json:"pod"`
	Controller string             `json:"controller"`
	Gang       string             `json:"gang,omitempty"`
	From       string             `json:"from"`
	To         string             `json:"to"`
	Why        string             `json:"why,omitempty"`
	Phase      v1alpha1.StepPhase `json:"phase"`
}

// AllReservations is the room that plans of the rescheduler keep.
type AllReservations struct {
	Reservations []reservation.About `json:"reservations"`
}

// PlanNames asks for the names of all plans.
func (c *Client) PlanNames(ctx context.Context) ([]string, error) {
	var all AllPlans
	if err := c.get(ctx, "/debug/plans", &all); err != nil {
		return nil, err
	}
	return all.names(), nil
}

func (p *AllPlans) names() (names []string) {
	for i := range p.Plans {
		names = append(names, p.Plans[i].Plan)
	}
	return names
}

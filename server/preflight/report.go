package preflight

import (
	"muster.dev/muster/inspect"
)

// State is the outcome of a check.
type State string

// The states.
const (
	OK      State = "OK"
	Missing State = "MISSING"
	Unknown State = "UNKNOWN" // it cannot be told, or not by who asks
)

// Check is one thing that was looked at.
type Check struct {
	Check string `json:"check"`
	State State  `json:"state"`
	// Required says that muster does not work as it is configured where this is missing.
	Required bool `json:"required"`
	// Found is the finding, and Follows its consequence in muster, or what is to be done.
	Found   string `json:"found,omitempty"`
	Follows string `json:"follows,omitempty"`
}

// Report is all that was looked at.
type Report struct {
	// User is whose rights were looked at, "" if that is unknown.
	User   string  `json:"user,omitempty"`
	Plan   string  `json:"plan"` // what muster is configured to do
	Checks []Check `json:"checks"`
}

// Passes reports whether nothing is missing that is required.
func (r *Report) Passes() bool {
	for i := range r.Checks {
		if r.Checks[i].Required && r.Checks[i].State == Missing {
			return false
		}
	}
	return true
}

// Text implements [inspect.Answer].
func (r *Report) Text(t *inspect.Table) {
	t.Row("muster", r.Plan)
	if r.User != "" {
		t.Row("rights of", r.User)
	}
	t.Gap()
	t.Row("STATE", "NEEDED", "CHECK", "FOUND", "WHAT FOLLOWS")
	for i := range r.Checks {
		c := &r.Checks[i]
		needed := "no"
		if c.Required {
			needed = "yes"
		}
		t.Row(c.cell(), needed, c.Check, c.Found, c.Follows)
	}
}

// cell is the state, in the colour of what it means.
func (c *Check) cell() any {
	switch {
	case c.State == OK:
		return inspect.Good(c.State)
	case c.State == Missing && c.Required:
		return inspect.Bad(c.State)
	}
	return inspect.Doubtful(c.State)
}

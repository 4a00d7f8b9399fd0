package remote

import (
	"context"
	"time"
)

// AllGangs is all gangs, in the order in which they are planned.
type AllGangs struct {
	Gangs []Gang `json:"gangs"`
}

// Gang is how far a gang is.
type Gang struct {
	Gang      string `json:"gang"`  // namespace/name
	Label     string `json:"label"` // that makes pods its members
	MinMember int    `json:"minMember"`
	Priority  int32  `json:"priority"`
	// Room says how the places of members are kept that go without a bind call: Nominated or Uncontested.
	Room string `json:"room,omitempty"`
	// How many members are how far.
	Pending   int `json:"pending"`
	Placed    int `json:"placed"`
	Held      int `json:"held"`
	Binding   int `json:"binding"`
	Bound     int `json:"bound"`
	Succeeded int `json:"succeeded"`
	Failed    int `json:"failed"`
	// Why it waits, "" when it does not.
	Why string `json:"why,omitempty"`
	// When it was last denied, when its present plan was made, and when that ends without quorum.
	Denied   time.Time `json:"denied,omitzero"`
	Planned  time.Time `json:"planned,omitzero"`
	Deadline time.Time `json:"deadline,omitzero"`
}

// NamedGangs is the gangs of one name: there may be one for each label.
type NamedGangs struct {
	Gangs []GangDetails `json:"gangs"`
}

// GangDetails is all about a gang.
type GangDetails struct {
	Gang
	Members []Member `json:"members"` // by name
}

// Member is how far a member of a gang is.
type Member struct {
	Pod        string  `json:"pod"` // its name
	Stage      string  `json:"stage"`
	Node       string  `json:"node,omitempty"` // its place
	AgeSeconds float64 `json:"ageSeconds"`     // of the stage
}

// Gangs asks for the names of all gangs, namespace/name.
func (c *Client) Gangs(ctx context.Context) ([]string, error) {
	var all AllGangs
	if err := c.get(ctx, "/debug/gangs", &all); err != nil {
		return nil, err
	}
	var names []string
	for i := range all.Gangs {
		names = append(names, all.Gangs[i].Gang)
	}
	return names, nil
}

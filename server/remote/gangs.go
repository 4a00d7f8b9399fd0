package remote

import (
	"context"

	"muster.dev/muster/gang/core"
	"muster.dev/muster/server/backfill"
)

// AllGangs is all gangs, in the order in which they are planned.
type AllGangs struct {
	Gangs []core.Summary `json:"gangs"`
	// Booked is the room that is booked for one of them, nil for none.
	Booked *backfill.RoomBooked `json:"booked,omitempty"`
}

// Gangs asks for the names of all gangs, namespace/name.
func (c *Client) Gangs(ctx context.Context) ([]string, error) {
	var all AllGangs
	if err := c.get(ctx, "/debug/gangs", &all); err != nil {
		return nil, err
	}
	var names []string
	for i := range all.Gangs {
		names = append(names, all.Gangs[i].Name)
	}
	return names, nil
}

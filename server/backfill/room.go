package backfill

import "time"

// RoomBooked is the room that is booked, for people to see.
type RoomBooked struct {
	Gang  string    `json:"gang"`  // namespace/name
	Label string    `json:"label"` // of the gang
	Pods  int       `json:"pods"`  // that have to start together
	Nodes int       `json:"nodes"` // that they are to have
	From  time.Time `json:"from"`  // by the clock of muster, in whole seconds
	// IdlePods is for how many of the pods there is room now, which is kept for them, and IdleShare the share of all nodes that this is,
	// from 0 to 1: of the resource with the largest one.
	IdlePods  int     `json:"idlePods"`
	IdleShare float64 `json:"idleShare"`
}

// Room returns the room that is booked, nil for none.
func (b *Booker) Room() *RoomBooked {
	of := b.last.Load()
	if of.booking == nil {
		return nil
	}
	snap := b.cluster.Snapshot()
	idle, kept := keptIdle(of.booking, snap)
	all := snap.Offered()
	return &RoomBooked{
		Gang: of.Key.String(), Label: of.Key.Label, Pods: of.Pods, Nodes: len(of.booking.Pods), From: of.From.UTC().Truncate(time.Second),
		IdlePods: idle, IdleShare: kept.ShareOf(&all),
	}
}

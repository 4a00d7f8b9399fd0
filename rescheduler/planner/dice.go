package planner

import "math/rand/v2"

// dice make a search try what does not look best. They are seeded, so that the same problem has the same
// plan, and still until there is noise.
type dice struct {
	*rand.Rand
	noise float64 // how often the best choice is passed over, 0 to 1
}

func newDice(seed uint64) *dice { return &dice{Rand: rand.New(rand.NewPCG(seed, 0))} }

// pass reports whether to pass over a choice.
func (d *dice) pass() bool { return d.noise > 0 && d.Float64() < d.noise }

// extra returns by how much to overrate a cost.
func (d *dice) extra() int64 {
	if d.noise > 0 {
		return d.Int64N(plainCost / 5)
	}
	return 0
}

package placement

import (
	"maps"
	"slices"
	"time"

	"muster.dev/muster/cluster"
)

// Demand has the pods of one group that starts together with others.
type Demand struct {
	Pods []*cluster.Pod // in their order
	// AtLeast is how many of them have to have places before a pod of any group has one.
	AtLeast int
}

// Together is the result for groups that start together.
type Together struct {
	// Enough[i] has the least number of pods of the i-th group, and More[i] the others. If there are too few places,
	// More is nil, and Enough ends with the first group that lacks some when pods take the best nodes in their order.
	Enough, More []Outcome
	// Kept says that the plan goes on with these places.
	Kept bool
	// Cut says that the search came to its bound, and Late that this was the deadline: there may be places all the same.
	Cut, Late bool
}

// PlaceTogether places the least number of pods of each group, and then the others as far as there is room. It takes the best
// node for each pod in its order, like [Plan.PlaceAll]. It tries other orders and other nodes only if that leaves a group with
// too few, and takes up to a quarter of the time that is left. If there are too few places all the same, the plan is as it was
// before.
func (p *Plan) PlaceTogether(demands []Demand, deadline time.Time) (result Together) {
	before, kept, left := p.Moves(), p.kept, maps.Clone(p.kinds.left)
	for _, d := range demands {
		enough := p.PlaceEnough(d.Pods, d.AtLeast, deadline)
		result.Enough = append(result.Enough, enough)
		if enough.Kept {
			continue
		}
		p.Undo(before)
		p.kept, p.kinds.left = kept, left
		if result.Late = enough.Late; result.Late {
			return result
		}
		var found []Outcome
		if found, result.Cut, result.Late = p.rearrange(demands, p.quarterTo(deadline)); found == nil {
			return result
		}
		result.Enough = found
		break
	}
	result.Kept = true
	for i, d := range demands {
		result.More = append(result.More, p.PlaceAll(result.Enough[i].unreached(d.Pods), 0, deadline))
	}
	return result
}

// quarterTo returns when a quarter of the time to a deadline is over.
func (p *Plan) quarterTo(deadline time.Time) time.Time {
	if deadline.IsZero() {
		return deadline
	}
	now := p.store.Clock().Now()
	return now.Add(deadline.Sub(now) / 4)
}

// unreached returns the pods that the outcome says nothing about.
func (o *Outcome) unreached(pods []*cluster.Pod) []*cluster.Pod {
	reached := make(map[*cluster.Pod]bool, len(o.Places))
	for _, place := range o.Places {
		reached[place.Pod] = true
	}
	return slices.DeleteFunc(slices.Clone(pods), func(pod *cluster.Pod) bool { return reached[pod] })
}

package placement

import (
	"slices"
	"time"

	"muster.dev/muster/cluster"
)

// Demand has the pods of one group that starts together with others.
type Demand struct {
	Pods []*cluster.Pod // in their order
	// AtLeast is how many of them have to have places before a pod of any group has one.
	AtLeast int
	// Network has their demands on the network, nil for none. Within are domains that they share with other groups, the outermost first.
	Network *Network
	Within  []*Common
}

// enough places the least number of pods of a group.
func (p *Plan) enough(d *Demand, deadline time.Time) (outcome Outcome, cut bool) {
	if d.Network == nil || d.AtLeast <= 0 || len(d.Pods) < d.AtLeast {
		return p.PlaceEnough(d.Pods, d.AtLeast, deadline), false
	}
	if outcome, cut = p.placeNear(d.Pods, d.AtLeast, d.Network, deadline); !outcome.Kept && d.Network.isSoft() && !p.past(deadline) {
		return p.PlaceEnough(d.Pods, d.AtLeast, deadline), cut
	}
	return outcome, cut
}

// more places the pods of a group that the places of enough say nothing about.
func (p *Plan) more(d *Demand, enough *Outcome, deadline time.Time) Outcome {
	left := enough.unreached(d.Pods)
	if d.Network == nil || len(left) == 0 {
		return p.PlaceAll(left, 0, deadline)
	}
	beside := *d.Network
	beside.Beside = slices.Clone(beside.Beside)
	for _, place := range enough.Places {
		beside.Beside = append(beside.Beside, place.Node)
	}
	return p.placeSpare(left, &beside, deadline)
}

// Together is the result for groups that start together.
type Together struct {
	// Enough[i] has the least number of pods of the i-th group, and More[i] the others. If there are too few places,
	// More is nil, and Enough ends with the first group that lacks some when pods take the best nodes in their order.
	Enough, More []Outcome
	// Kept says that the plan goes on with these places, and Shared, where it does not, that Enough has one outcome for all groups, as
	// they share domains.
	Kept, Shared bool
	// Cut says that the search came to its bound, and Late that this was the deadline: there may be places all the same. Where
	// places are kept, Cut says that there may be nearer ones for pods that ask something of the network.
	Cut, Late bool
}

// PlaceTogether places the least number of pods of each group, and then the others as far as there is room. It takes the best
// node for each pod in its order, like [Plan.PlaceAll]. It tries other orders and other nodes only if that leaves a group with
// too few, and takes up to a quarter of the time that is left. Pods that ask something of the network have the nodes that it
// leaves them, and no other orders are tried unless they would do without. Groups that share domains have theirs there, see [Common].
// If there are too few places all the same, the plan is as it was before.
func (p *Plan) PlaceTogether(demands []Demand, deadline time.Time) (result Together) {
	if slices.ContainsFunc(demands, func(d Demand) bool { return len(d.Within) > 0 }) {
		result = p.placeInCommon(demands, deadline)
		if result.Kept || binds(demands) || p.past(deadline) {
			return result
		}
		demands = slices.Clone(demands)
		for i := range demands { // a preference keeps nobody from starting
			demands[i].Within = nil
		}
		result = Together{}
	}
	before := p.Mark()
	for i := range demands {
		enough, cut := p.enough(&demands[i], deadline)
		result.Enough = append(result.Enough, enough)
		if enough.Kept {
			result.Cut = result.Cut || cut
			continue
		}
		p.Return(before)
		if result.Late, result.Cut = enough.Late, cut || network(demands) && len(demands) > 1; enough.Late || network(demands) {
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
	for i := range demands {
		result.More = append(result.More, p.more(&demands[i], &result.Enough[i], deadline))
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

package predicates

import (
	"fmt"
	"math/bits"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/quantity"
	"muster.dev/muster/cluster"
)

// nodeResourcesFitScore prefers nodes by how much of them would be requested: little
// (LeastAllocated, which spreads), much (MostAllocated, which packs), or what a shape says.
type nodeResourcesFitScore struct {
	resources []config.ResourceSpec
	rate      func(requested, offered int64) int64
	mean      func(sum, weights int64) int64
	// onlyPositive leaves out of the mean the resources that rate 0.
	onlyPositive bool
}

func newNodeResourcesFitScore(profile *config.Profile) (Score, error) {
	strategy := profile.NodeResourcesFitArgs().ScoringStrategy
	s := nodeResourcesFitScore{resources: strategy.Resources, mean: roundedDown}
	switch strategy.Type {
	case config.LeastAllocated:
		s.rate = leastAllocated
	case config.MostAllocated:
		s.rate = mostAllocated
	case config.RequestedToCapacityRatio:
		s.rate, s.mean, s.onlyPositive = shape(strategy.RequestedToCapacityRatio.Shape).rate, rounded, true
	default:
		return nil, fmt.Errorf("scoringStrategy.type: %q is not known", strategy.Type)
	}
	return s, nil
}

func (nodeResourcesFitScore) Name() string { return config.NodeResourcesFit }

func (nodeResourcesFitScore) Aspects() cluster.Aspect {
	return cluster.AspectAllocatable | cluster.AspectRequested
}

func (s nodeResourcesFitScore) For(pod *cluster.Pod, snap *cluster.Snapshot) Rating {
	adds := cluster.ContainerRequests(pod.Pod)
	resources := shares(s.resources, &adds, true)
	return Rating{Alone: func(node *cluster.Node) int64 {
		var sum, weights int64
		for i := range resources {
			r := &resources[i]
			taken, offered := r.of(node)
			if offered == 0 {
				continue
			}
			rate := s.rate(quantity.Sum(taken, r.adds), offered)
			if rate == 0 && s.onlyPositive {
				continue
			}
			sum += r.weight * rate
			weights += r.weight
		}
		if weights == 0 {
			return 0
		}
		return s.mean(sum, weights)
	}}
}

func leastAllocated(requested, offered int64) int64 {
	if requested > offered {
		return 0
	}
	return portion(offered-requested, offered)
}

func mostAllocated(requested, offered int64) int64 {
	return portion(min(requested, offered), offered)
}

// portion returns how much a part is of the whole, from 0 to MaxScore, whatever 64 bits hold.
func portion(part, whole int64) int64 {
	high, low := bits.Mul64(uint64(part), MaxScore)     //nolint:gosec // not negative
	quotient, _ := bits.Div64(high, low, uint64(whole)) //nolint:gosec // at most MaxScore, so high is less than whole
	return int64(quotient)                              //nolint:gosec // as above
}

// shape is a function from utilization in percent to a score, linear between its points, which
// are in the order of utilization (pkg/scheduler/framework/plugins/helper/shape_score.go).
type shape []config.UtilizationShapePoint

// rate returns the score of a resource, 0 to MaxScore. An over-committed resource is full.
func (s shape) rate(requested, offered int64) int64 {
	utilization := portion(min(requested, offered), offered) // in percent
	for i, point := range s {
		if utilization > int64(point.Utilization) {
			continue
		}
		if i == 0 {
			return scaled(point)
		}
		before := s[i-1]
		rise, run := scaled(point)-scaled(before), int64(point.Utilization-before.Utilization)
		return scaled(before) + rise*(utilization-int64(before.Utilization))/run
	}
	return scaled(s[len(s)-1])
}

// scaled returns the score of a point as plugins give it.
func scaled(point config.UtilizationShapePoint) int64 {
	return int64(point.Score) * (MaxScore / config.MaxShapeScore)
}

func roundedDown(sum, weights int64) int64 { return sum / weights }

func rounded(sum, weights int64) int64 { return (2*sum + weights) / (2 * weights) }

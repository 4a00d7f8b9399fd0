package predicates

import (
	"math"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/quantity"
	"muster.dev/muster/cluster"
)

// balancedAllocation prefers nodes whose resources the pod would bring closer
// to being used in equal parts. A node where the pod changes nothing rates 75,
// one that it balances more, one that it tilts less
// (pkg/scheduler/framework/plugins/noderesources/balanced_allocation.go).
type balancedAllocation struct {
	resources []config.ResourceSpec
}

func newBalancedAllocation(profile *config.Profile) (Score, error) {
	return balancedAllocation{resources: profile.NodeResourcesBalancedAllocationArgs().Resources}, nil
}

func (balancedAllocation) Name() string { return config.NodeResourcesBalancedAllocation }

func (balancedAllocation) Aspects() cluster.Aspect {
	return cluster.AspectAllocatable | cluster.AspectRequested
}

// For rates all nodes alike for pods that ask for nothing, as those would else
// flock to one node.
func (s balancedAllocation) For(pod *cluster.Pod, snap *cluster.Snapshot) Rating {
	resources := shares(s.resources, &pod.Requests, false)
	asks := false
	for _, r := range resources {
		asks = asks || r.adds != 0
	}
	if !asks {
		return Rating{}
	}
	return Rating{Alone: func(node *cluster.Node) int64 {
		with := balance(resources, node, true)
		without := balance(resources, node, false)
		return MaxScore/2 + (MaxScore/2+with-without)/2
	}}
}

// balance is MaxScore when all resources are requested in equal parts, less the
// further their parts are from each other (by standard deviation).
func balance(resources []share, node *cluster.Node, withPod bool) int64 {
	parts := make([]float64, 0, 8)
	sum := 0.0
	for i := range resources {
		taken, offered := resources[i].of(node)
		if offered == 0 {
			continue
		}
		if withPod {
			taken = quantity.Sum(taken, resources[i].adds)
		}
		part := min(float64(taken)/float64(offered), 1)
		parts = append(parts, part)
		sum += part
	}
	deviation := 0.0
	switch {
	case len(parts) == 2:
		deviation = math.Abs((parts[0] - parts[1]) / 2)
	case len(parts) > 2:
		mean, squares := sum/float64(len(parts)), 0.0
		for _, part := range parts {
			squares += (part - mean) * (part - mean)
		}
		deviation = math.Sqrt(squares / float64(len(parts)))
	}
	return int64((1 - deviation) * MaxScore)
}

package placement

import (
	"math"
	"math/rand/v2"
	"slices"

	"muster.dev/muster/api/quantity"
	"muster.dev/muster/cluster"
)

// worth rates amounts by how scarce each resource is: by how much of what is free the pods of a search ask for.
type worth struct {
	free   cluster.Resources // on all nodes together
	cpu    float64           // of a thousandth of a CPU
	memory float64           // of a byte
	scalar []scalarWorth     // the ones that pods ask for
}

type scalarWorth struct {
	name cluster.ScalarName
	each float64
}

func newWorth(plan *Plan, pods []*cluster.Pod) worth {
	w := worth{}
	for node := range plan.Snapshot().Nodes() {
		free := room(plan.Node(node.Index))
		w.free = w.free.Plus(&free)
	}
	asked := cluster.Resources{}
	for _, pod := range pods {
		asked = asked.Plus(&pod.Requests)
	}
	rate := func(asked, free int64) float64 {
		if free <= 0 {
			return float64(asked) * nothingFree
		}
		return float64(asked) / float64(free) / float64(free)
	}
	w.cpu, w.memory = rate(asked.MilliCPU, w.free.MilliCPU), rate(asked.Memory, w.free.Memory)
	for _, s := range asked.Scalars {
		w.scalar = append(w.scalar, scalarWorth{s.Name, rate(s.Amount, w.free.Scalar(s.Name))})
	}
	return w
}

// otherwise returns a rating in which each resource is worth up to four times as much, or as little.
func (w worth) otherwise(random *rand.Rand) worth {
	by := func() float64 { return math.Exp2(4*random.Float64() - 2) }
	w.cpu, w.memory = w.cpu*by(), w.memory*by()
	w.scalar = slices.Clone(w.scalar)
	for i := range w.scalar {
		w.scalar[i].each *= by()
	}
	return w
}

// nothingFree makes what no node has the scarcest.
const nothingFree = 1e6

// room returns what is free on a node of the resources that are rated.
func room(node *cluster.Node) cluster.Resources {
	free := cluster.Resources{
		MilliCPU: max(0, node.Allocatable.MilliCPU-node.Requested.MilliCPU), Memory: max(0, node.Allocatable.Memory-node.Requested.Memory),
	}
	for _, s := range node.Allocatable.Scalars {
		if amount := s.Amount - node.Requested.Scalar(s.Name); amount > 0 {
			free.Scalars = append(free.Scalars, cluster.Scalar{Name: s.Name, Amount: amount})
		}
	}
	return free
}

// covers reports whether enough of every resource is free, counting the least demanding pods of each group.
func (w *worth) covers(demands []Demand) bool {
	amount := func(of func(*cluster.Resources) int64) bool {
		sum := int64(0)
		for _, d := range demands {
			amounts := make([]int64, len(d.Pods))
			for i, pod := range d.Pods {
				amounts[i] = of(&pod.Requests)
			}
			slices.Sort(amounts)
			for _, amount := range amounts[:d.AtLeast] {
				sum = quantity.Sum(sum, amount)
			}
		}
		return sum <= of(&w.free)
	}
	for _, s := range w.scalar {
		if !amount(func(r *cluster.Resources) int64 { return r.Scalar(s.name) }) {
			return false
		}
	}
	return amount(func(r *cluster.Resources) int64 { return r.MilliCPU }) && amount(func(r *cluster.Resources) int64 { return r.Memory })
}

// of returns what an amount is worth.
func (w *worth) of(r *cluster.Resources) float64 {
	sum := w.cpu*float64(r.MilliCPU) + w.memory*float64(r.Memory)
	for _, s := range w.scalar {
		sum += s.each * float64(r.Scalar(s.name))
	}
	return sum
}

// left rates what is left on a node when a pod comes there, from 0 to less than 1.
func (w *worth) left(node *cluster.Node, pod *cluster.Pod) float64 {
	free := room(node)
	left := max(0, w.of(&free)-w.of(&pod.Requests))
	return left / (1 + left)
}

package planner

import (
	"cmp"
	"math"

	"muster.dev/muster/api/quantity"
	"muster.dev/muster/cluster"
)

// amounts are amounts of all resources of a reckoning.
type amounts []int64

// reckoning says which resources amounts are of, in their order: CPU, memory, ephemeral storage, pods, then the
// scalar ones that some node offers, all others together, and then the resources of [Load]. No node has any of
// the others: a pod that asks for some fits nowhere.
type reckoning struct {
	scalars map[cluster.ScalarName]int // their places
	load    *Load                      // of no amounts for none
}

const plainResources = 4

func newReckoning(p *Problem) *reckoning {
	scalars := map[cluster.ScalarName]int{}
	for node := range p.Snapshot.Nodes() {
		for _, offered := range node.Allocatable.Scalars {
			if _, known := scalars[offered.Name]; !known {
				scalars[offered.Name] = plainResources + len(scalars)
			}
		}
	}
	return &reckoning{scalars: scalars, load: cmp.Or(p.Load, noLoad())}
}

// length returns how many amounts there are of a pod or a node.
func (r *reckoning) length() int { return r.plain() + r.load.Amounts }

// plain returns how many of them are of resources that pods request. The others are of load.
func (r *reckoning) plain() int { return plainResources + len(r.scalars) + 1 }

func (r *reckoning) amountsOf(of *cluster.Resources, pods int64) amounts {
	a := make(amounts, r.length())
	a[0], a[1], a[2], a[3] = of.MilliCPU, of.Memory, of.EphemeralStorage, pods
	for _, scalar := range of.Scalars {
		at, offered := r.scalars[scalar.Name]
		if !offered {
			at = r.plain() - 1
		}
		a[at] += scalar.Amount
	}
	return a
}

// fitsInto reports whether there is enough of all that is asked for. To ask for nothing always fits.
func (a amounts) fitsInto(free []int64) bool {
	for d, asked := range a {
		if asked > free[d] && asked > 0 {
			return false
		}
	}
	return true
}

// times returns how often there is enough of all that is asked for, one beside the other.
func (a amounts) times(free []int64) int {
	times := int64(math.MaxInt32)
	for d, asked := range a {
		if asked > 0 {
			times = min(times, max(0, free[d])/asked)
		}
	}
	return int(times)
}

// gain returns how much more often at most there is enough once others are free as well.
func (a amounts) gain(others amounts) int {
	gain := int64(0)
	for d, asked := range a {
		if asked > 0 && others[d] > 0 {
			gain = max(gain, (others[d]-1)/asked+1)
		}
	}
	return int(min(gain, math.MaxInt32))
}

// short sets lacks to what is missing.
func (a amounts) short(free []int64, lacks amounts) {
	for d, asked := range a {
		lacks[d] = 0
		if asked > 0 {
			lacks[d] = max(0, quantity.Difference(asked, free[d]))
		}
	}
}

// addTo adds them to what is free on a node, or takes them off. That can be taken back, whatever the amounts: a sum beyond
// 64 bits is less than nothing for as long as it stands.
func (a amounts) addTo(sum []int64, sign int64) {
	for d, amount := range a {
		sum[d] += sign * amount
	}
}

// gather adds them to a sum that nothing is taken off, as far as 64 bits hold it.
func (a amounts) gather(sum []int64) {
	for d, amount := range a {
		sum[d] = quantity.Sum(sum[d], amount)
	}
}

// rates make amounts of different resources comparable: the reciprocal of the average offer, over the nodes
// that offer any.
type rates []float64

func ratesOf(snap *cluster.Snapshot, reckoning *reckoning) rates {
	dims := reckoning.length()
	offered, offering := make([]float64, dims), make([]float64, dims)
	for node := range snap.Nodes() {
		capacity, _ := reckoning.offers(node)
		for d, amount := range capacity {
			if amount > 0 {
				offered[d] += float64(amount)
				offering[d]++
			}
		}
	}
	r := make(rates, dims)
	for d := range r {
		if offered[d] > 0 {
			r[d] = offering[d] / offered[d]
		}
	}
	r[3] /= 4 // room for pods is hardly ever what is short
	return r
}

// size returns how much amounts are, all resources together.
func (r rates) size(a []int64) float64 {
	size := 0.0
	for d, amount := range a {
		size += float64(amount) * r[d]
	}
	return size
}

// rest returns what would be left of free.
func (r rates) rest(free []int64, asked amounts) float64 {
	rest := 0.0
	for d, rate := range r {
		rest += math.Max(0, float64(free[d]-asked[d])) * rate
	}
	return rest
}

// Load is the load of pods on nodes besides their requests, such as their measured use. No predicate knows it:
// for the search it adds amounts of further resources, so that no node takes more than it bears after any step.
// A node that bears too much as it is takes no load, and may keep its own.
type Load struct {
	// Amounts is how many there are, at least one.
	Amounts int
	// Node is how much a node of the snapshot bears, at most MostLoad, and how much there is.
	Node func(node *cluster.Node) (bears, load []int64)
	// Pod is how much a pod is that is on a node, is about to come there or, when that is nil,
	// is nowhere. It puts as much on any other node.
	Pod func(pod *cluster.Pod, on *cluster.Node) []int64
}

// MostLoad is borne by a node that bears any load.
const MostLoad = 1 << 60

// noLoad returns a Load that is none.
func noLoad() *Load {
	return &Load{
		Node: func(*cluster.Node) (bears, load []int64) { return nil, nil },
		Pod:  func(*cluster.Pod, *cluster.Node) []int64 { return nil },
	}
}

// needs returns the needs of a pod that is on a node, is about to come there, or is nowhere.
func (r *reckoning) needs(pod *cluster.Pod, on *cluster.Node) amounts {
	a := r.amountsOf(&pod.Requests, 1)
	copy(a[r.plain():], r.load.Pod(pod, on))
	return a
}

// offers returns the capacity of a node for pods, and how much of that is taken.
func (r *reckoning) offers(node *cluster.Node) (capacity, taken amounts) {
	capacity = r.amountsOf(&node.Allocatable, node.Allocatable.Pods)
	taken = r.amountsOf(&node.Requested, int64(len(node.Pods)))
	bears, load := r.load.Node(node)
	copy(capacity[r.plain():], bears)
	copy(taken[r.plain():], load)
	return capacity, taken
}

package planner

import (
	"math"

	"muster.dev/muster/cluster"
)

// amounts are amounts of all resources, in an order of their own: CPU, memory, ephemeral
// storage, pods, then the scalar ones, and then those of [Load].
type amounts []int64

const plainResources = 4

func amountsOf(r *cluster.Resources, pods int64, dims int) amounts {
	a := make(amounts, dims)
	a[0], a[1], a[2], a[3] = r.MilliCPU, r.Memory, r.EphemeralStorage, pods
	copy(a[plainResources:], r.Scalar)
	return a
}

// fitsInto says that there is enough of all that is asked for. To ask for nothing always
// fits.
func (a amounts) fitsInto(free []int64) bool {
	for d, asked := range a {
		if asked > free[d] && asked > 0 {
			return false
		}
	}
	return true
}

// short sets lacks to what is missing.
func (a amounts) short(free []int64, lacks amounts) {
	for d, asked := range a {
		lacks[d] = 0
		if asked > 0 {
			lacks[d] = max(0, asked-free[d])
		}
	}
}

func (a amounts) addTo(sum []int64, sign int64) {
	for d, amount := range a {
		sum[d] += sign * amount
	}
}

// rates make amounts of different resources comparable: one over what a node offers on
// average of those that offer any.
type rates []float64

func ratesOf(p *Problem) rates {
	dims := p.dims()
	offered, offering := make([]float64, dims), make([]float64, dims)
	for node := range p.Snapshot.Nodes() {
		capacity, _ := p.offers(node)
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

// size is how much amounts are, all resources together.
func (r rates) size(a []int64) float64 {
	size := 0.0
	for d, amount := range a {
		size += float64(amount) * r[d]
	}
	return size
}

// rest is what would be left of free.
func (r rates) rest(free []int64, asked amounts) float64 {
	rest := 0.0
	for d, rate := range r {
		rest += math.Max(0, float64(free[d]-asked[d])) * rate
	}
	return rest
}

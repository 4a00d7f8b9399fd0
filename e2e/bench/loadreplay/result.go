package loadreplay

import "math"

// threshold is the utilisation above which a node is overloaded, in percent: the default of
// usageThresholds for CPU.
const threshold = 65

// Result is the outcome of a run, or of several together.
type Result struct {
	// Overload is how many node-minutes were spent above the threshold.
	Overload int
	// Highest is the highest utilisation of a node, in percent.
	Highest float64
	// Pending is how many pods have no node in the end, Rejected how often one found none.
	Pending, Rejected int

	minutes          int
	deviations, mean float64 // summed up over minutes
}

// add takes in the utilisation of all nodes at a minute.
func (r *Result) add(utilisation []float64) {
	var sum, squares float64
	for _, u := range utilisation {
		if u > threshold {
			r.Overload++
		}
		r.Highest = max(r.Highest, u)
		sum += u
	}
	mean := sum / float64(len(utilisation))
	for _, u := range utilisation {
		squares += (u - mean) * (u - mean)
	}
	r.minutes++
	r.deviations += math.Sqrt(squares / float64(len(utilisation)))
	r.mean += mean
}

// Deviation is the standard deviation between nodes, in percent, on average over time.
func (r *Result) Deviation() float64 { return r.deviations / float64(r.minutes) }

// Mean is the mean utilisation, in percent.
func (r *Result) Mean() float64 { return r.mean / float64(r.minutes) }

// Add takes in another run.
func (r *Result) Add(other Result) {
	r.Overload += other.Overload
	r.Highest = max(r.Highest, other.Highest)
	r.Pending += other.Pending
	r.Rejected += other.Rejected
	r.minutes += other.minutes
	r.deviations += other.deviations
	r.mean += other.mean
}

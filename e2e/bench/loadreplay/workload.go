package loadreplay

import (
	"math/rand/v2"
	"time"
)

// Pod is a pod that arrives, runs for a time and uses CPU as its trace says.
type Pod struct {
	ID      int
	Arrives time.Duration // since the start
	Runs    time.Duration // from when it has started
	// Request and Limit are of CPU, in thousandths.
	Request, Limit int64
	trace          []float64
	offset         int
}

// usage returns the pod's usage at an age, in thousandths of a CPU.
func (p *Pod) usage(ran time.Duration) int64 {
	if ran < 0 || ran >= p.Runs {
		return 0
	}
	at := (p.offset + int(ran/Step)) % len(p.trace)
	return int64(p.trace[at] * float64(p.Limit) / 100)
}

// averageUsage is the same as an average over a time.
func (p *Pod) averageUsage(ran, over time.Duration) int64 {
	const parts = 6
	var sum int64
	for i := range parts {
		sum += p.usage(ran - over*time.Duration(i)/parts)
	}
	return sum / parts
}

// Workload is the input of a run. Everything in it follows from the seed.
type Workload struct {
	Seed   uint64
	Length time.Duration
	Nodes  int
	// Cores is how many cores a node has.
	Cores int64
	Pods  []*Pod // by arrival
}

// ties returns what breaks ties. It is the same for all rules, so that two that think alike do
// alike: what differs between them is no accident.
func (w *Workload) ties() func(n int) int { return rand.New(rand.NewPCG(w.Seed, 2)).IntN }

// Plan says what workloads look like.
type Plan struct {
	Nodes  int
	Cores  int64
	Length time.Duration
	// Burst is how many pods arrive at once, PerMinute how many in a minute on average.
	Burst     int
	PerMinute float64
	// MeanRun is how long pods run on average.
	MeanRun time.Duration
}

// NewPlan returns the plan of the benchmark, for bursts of a size.
func NewPlan(burst int) Plan {
	return Plan{Nodes: 40, Cores: 32, Length: 4 * time.Hour, Burst: burst, PerMinute: 16, MeanRun: time.Hour}
}

// settling is the time without new pods in the end, so that pending pods then do not only wait for
// the next report.
const settling = 10 * time.Minute

// Workload draws one. Limits and requests of pods are drawn apart: what pods ask for says little
// about what they use.
func (p Plan) Workload(traces Traces, seed uint64) *Workload {
	r := rand.New(rand.NewPCG(seed, 0))
	w := &Workload{Seed: seed, Length: p.Length, Nodes: p.Nodes, Cores: p.Cores}
	exponential := func(mean time.Duration) time.Duration {
		return time.Duration(r.ExpFloat64() * float64(mean))
	}
	between := time.Duration(float64(p.Burst) / p.PerMinute * float64(time.Minute))
	for at := exponential(between); at < p.Length-settling; at += exponential(between) {
		for range p.Burst {
			trace := traces[r.IntN(len(traces))]
			limit := []int64{2000, 4000, 8000}[r.IntN(3)]
			w.Pods = append(w.Pods, &Pod{
				ID: len(w.Pods), Arrives: at, Runs: exponential(p.MeanRun),
				Request: []int64{250, 500, 1000}[r.IntN(3)], Limit: limit,
				trace: trace, offset: r.IntN(len(trace)),
			})
		}
	}
	return w
}

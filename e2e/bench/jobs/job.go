package jobs

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"muster.dev/muster/e2e/bench/racks"
)

// unit is one GPU or processor, in thousandths.
const unit = 1000

// Job is pods that start together and end at the same time.
type Job struct {
	ID   int
	At   time.Duration // when it comes, since the start
	Pods int
	Size int64 // of each pod, in thousandths of a unit
	// Says is how long it says that it runs, 0 if it says nothing.
	Says time.Duration
	// App numbers programs: jobs of one App run for a similar time.
	App int

	runs time.Duration
}

// Runs is how long the job really runs. Only an [Ender] may ask: it ends the job.
func (j *Job) Runs(Ender) time.Duration { return j.runs }

// Ender ends jobs. No rule has one.
type Ender struct{ _ struct{} }

func (j *Job) asked() int64 { return int64(j.Pods) * j.Size }

// Workload is jobs for a cluster of nodes that are alike.
type Workload struct {
	Name  string
	Nodes int
	Size  int64 // of a node
	Over  time.Duration
	Jobs  []*Job // in the order in which they come
}

// Saying is how far jobs tell their runtimes.
type Saying int

const (
	// Perfect says the truth.
	Perfect Saying = iota
	// Noisy is wrong by a factor whose logarithm is normal, of deviation 1.
	Noisy
	// Nothing has to be learned.
	Nothing
)

func (s Saying) String() string { return []string{"perfect", "noisy", "learned"}[s] }

// Where returns the same workload with jobs that say something else.
func (w *Workload) Where(s Saying, seed uint64) *Workload {
	random, said := rand.New(rand.NewPCG(seed, 1)), *w
	said.Jobs = make([]*Job, len(w.Jobs))
	for i, j := range w.Jobs {
		one := *j
		switch noise := math.Exp(random.NormFloat64()); s {
		case Perfect:
			one.Says = one.runs
		case Noisy:
			one.Says = max(time.Second, time.Duration(float64(one.runs)*noise))
		case Nothing:
			one.Says = 0
		}
		said.Jobs[i] = &one
	}
	return &said
}

// apps is how many Apps there are.
const apps = 30

// finish numbers jobs in the order in which they come, and has jobs of one App run for a similar time: Apps are ranges of runtimes that
// are blurred by a factor of e^0.5.
func finish(w *Workload, random *rand.Rand) *Workload {
	slices.SortStableFunc(w.Jobs, func(a, b *Job) int { return cmp.Compare(a.At, b.At) })
	blurred := map[*Job]float64{}
	for _, j := range w.Jobs {
		blurred[j] = math.Log(j.runs.Seconds()) + 0.5*random.NormFloat64()
	}
	alike := slices.Clone(w.Jobs)
	slices.SortStableFunc(alike, func(a, b *Job) int { return cmp.Compare(blurred[a], blurred[b]) })
	for rank, j := range alike {
		j.App = rank * apps / len(alike)
	}
	for i, j := range w.Jobs {
		j.ID, j.runs = i, max(time.Second, j.runs.Round(time.Second))
	}
	return w
}

// longest is how long jobs of racks run at most.
const longest = 6 * time.Hour

// FromRacks returns the jobs of [racks.Arrivals].
func FromRacks(name string, t racks.Trace, nodes, gpus int, load float64, over time.Duration, seed uint64) *Workload {
	arrivals, over := racks.Arrivals(t, nodes, gpus, load, over, longest, seed)
	w := &Workload{Name: name, Nodes: nodes, Size: int64(gpus) * unit, Over: over}
	for _, a := range arrivals {
		w.Jobs = append(w.Jobs, &Job{At: a.At, Pods: a.Pods, Size: a.GPU, runs: a.Runs})
	}
	return finish(w, rand.New(rand.NewPCG(seed, 2)))
}

// Lublin returns jobs of the model of Lublin and Feitelson (The workload on parallel supercomputers, 2003) for batch and interactive jobs
// together, with its published parameters, for the processors of a cluster. The times between arrivals are as in its rush
// hour, scaled to a load: it knows nights, and here it is always day. A pod is one processor. No job asks for more than half of
// the cluster.
func Lublin(nodes, processors int, load float64, over time.Duration, seed uint64) *Workload {
	w := &Workload{Name: "lublin", Nodes: nodes, Size: int64(processors) * unit, Over: over}
	random := rand.New(rand.NewPCG(seed, 3))
	most := math.Log2(float64(nodes * processors / 2))
	at, asked := 0.0, 0.0
	for enough := load * float64(nodes*processors) * over.Seconds(); asked < enough; {
		size := lublinSize(random, most)
		runs := lublinRuns(random, size)
		at += math.Exp2(gamma(random, 10.2303, 0.4871))
		asked += float64(size) * runs
		w.Jobs = append(w.Jobs, &Job{At: seconds(at), Pods: size, Size: unit, runs: seconds(runs)})
	}
	for _, j := range w.Jobs {
		j.At = time.Duration(float64(j.At) / at * over.Seconds())
	}
	return finish(w, random)
}

func seconds(n float64) time.Duration { return time.Duration(n * float64(time.Second)) }

// lublinSize draws a number of processors: one, or a power of two in most cases, by two uniform distributions of its logarithm.
func lublinSize(random *rand.Rand, most float64) int {
	const serial, powerOf2, low, first = 0.244, 0.576, 0.8, 0.86
	if random.Float64() < serial {
		return 1
	}
	middle := most - 2.5
	log := low + random.Float64()*(middle-low)
	if random.Float64() >= first {
		log = middle + random.Float64()*(most-middle)
	}
	if random.Float64() < powerOf2/(1-serial) {
		log = math.Round(log)
	}
	return max(1, min(int(math.Exp2(log)), int(math.Exp2(most))))
}

// lublinRuns draws a runtime in seconds, whose logarithm is of one of two gamma distributions: larger jobs are more often of the second.
func lublinRuns(random *rand.Rand, size int) float64 {
	short := min(1, max(0, -0.0054*float64(size)+0.78))
	for {
		log := gamma(random, 312, 0.03)
		if random.Float64() < short {
			log = gamma(random, 4.2, 0.94)
		}
		if log < 12 {
			return math.Exp(log)
		}
	}
}

// gamma draws of a gamma distribution, by Marsaglia and Tsang (2000), of a shape of 1 or more.
func gamma(random *rand.Rand, shape, scale float64) float64 {
	d := shape - 1.0/3
	c := 1 / math.Sqrt(9*d)
	for {
		x := random.NormFloat64()
		root := 1 + c*x
		v := root * root * root
		if v > 0 && math.Log(1-random.Float64()) < 0.5*x*x+d-d*v+d*math.Log(v) {
			return d * v * scale
		}
	}
}

// String describes the workload.
func (w *Workload) String() string {
	return fmt.Sprintf("%s: %d jobs for %d nodes of %d over %s", w.Name, len(w.Jobs), w.Nodes, w.Size/unit, w.Over.Round(time.Hour))
}

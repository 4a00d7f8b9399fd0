package racks

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"
)

// synthetic says how jobs are drawn. What is public of Microsoft's Philly trace (Jeon et al., USENIX ATC 2019) is a shape: most
// jobs ask for one GPU, the few that ask for many run for longer, and how long jobs run differs by orders of magnitude. The
// numbers are ours.
type synthetic struct {
	// gangs is the part of jobs with several pods, of a whole node each: from 2 to most, by a Pareto distribution of exponent tail.
	gangs, tail float64
	most        int
	// How long jobs run is a lognormal distribution, cut at longest. A gang runs for longer, by the root of its pods.
	median, longest time.Duration
	spread          float64
}

// philly has the parameters of the benchmark.
func philly() synthetic {
	return synthetic{gangs: 0.08, tail: 0.9, most: 24, median: 20 * time.Minute, spread: 2, longest: 3 * 24 * time.Hour}
}

// mostPods is how many nodes of a shape a gang may ask for: a block has room for it.
func (s synthetic) mostPods(on shape) int { return min(s.most, on.racks*on.nodes) }

// draw returns jobs that arrive over a time and together ask for a part of the cluster.
func (s synthetic) draw(on shape, load float64, over time.Duration, r *rand.Rand) (jobs []*job) {
	asked, enough := 0.0, load*float64(on.capacity())*float64(over)
	for asked < enough {
		j := &job{pods: 1, gpu: int64(min([]int{1, 1, 1, 1, 1, 1, 1, 1, 2, 4}[r.IntN(10)], on.gpus)) * wholeGPU}
		if r.Float64() < s.gangs {
			j.pods, j.gpu = min(int(2*math.Pow(1-r.Float64(), -1/s.tail)), s.mostPods(on)), on.node()
		}
		runs := float64(s.median) * math.Exp(s.spread*r.NormFloat64()) * math.Sqrt(float64(j.pods))
		j.runs = max(time.Second, min(time.Duration(min(runs, float64(s.longest))), s.longest))
		j.arrives = time.Duration(r.Float64() * float64(over))
		asked += float64(j.asked()) * float64(j.runs)
		jobs = append(jobs, j)
	}
	return inOrder(jobs)
}

func inOrder(jobs []*job) []*job {
	slices.SortStableFunc(jobs, func(a, b *job) int { return cmp.Compare(a.arrives, b.arrives) })
	for i, j := range jobs {
		j.id = i
	}
	return jobs
}

// Trace has the jobs of a trace of a cluster, each of one pod.
type Trace []*job

// ReadOpenB reads the jobs with GPUs of the openb trace, from the table of its pods. GPUs of a node are one amount.
func ReadOpenB(r io.Reader) (Trace, error) {
	rows, err := csv.NewReader(r).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read the trace: %w", err)
	}
	if len(rows) == 0 {
		return nil, errors.New("the trace is empty")
	}
	var trace Trace
	for line, row := range rows[1:] {
		number := map[string]int64{}
		for _, column := range []string{"num_gpu", "gpu_milli", "creation_time", "deletion_time"} {
			at := slices.Index(rows[0], column)
			if at < 0 {
				return nil, fmt.Errorf("the trace has no column %q", column)
			}
			if number[column], err = strconv.ParseInt(row[at], 10, 64); err != nil {
				return nil, fmt.Errorf("line %d: %s is %q, want a number", line+2, column, row[at])
			}
		}
		gpu := number["gpu_milli"]
		if gpus := number["num_gpu"]; gpus != 1 {
			gpu = gpus * wholeGPU
		}
		from, to := number["creation_time"], number["deletion_time"]
		if gpu > 0 && to > from {
			trace = append(trace, &job{pods: 1, gpu: gpu, arrives: time.Duration(from) * time.Second, runs: time.Duration(to-from) * time.Second})
		}
	}
	if len(trace) == 0 {
		return nil, errors.New("the trace has no pods with GPUs")
	}
	return inOrder(trace), nil
}

// busy is the part of openb that is replayed: before, a pod comes every few hours.
const busy = 10_000_000 * time.Second

// openB is for gangs beside openb's pods, whose busy part has no more than a day when it is replayed for a cluster of this size.
func openB() synthetic {
	s := philly()
	s.gangs, s.longest = 1, 24*time.Hour
	return s
}

// mix has the pods of a trace arrive in their order and with gaps in their proportions, as fast as has them ask for half of a
// load, and beside them gangs that ask for the other half. Openb has no gangs. No pod runs for longer than the longest gang may.
func (s synthetic) mix(t Trace, on shape, load float64, r *rand.Rand) (jobs []*job, over time.Duration) {
	asked := 0.0
	for _, j := range t {
		if j.gpu <= on.node() && j.arrives >= busy {
			one := *j
			one.runs = min(j.runs, s.longest)
			jobs = append(jobs, &one)
			asked += float64(one.gpu) * float64(one.runs)
		}
	}
	over = time.Duration(2 * asked / load / float64(on.capacity()))
	from, to := jobs[0].arrives, jobs[len(jobs)-1].arrives
	for _, j := range jobs {
		j.arrives = time.Duration(float64(j.arrives-from) / float64(to-from) * float64(over))
	}
	return inOrder(append(jobs, s.draw(on, load/2, over, r)...)), over
}

// Arrival is a job of a workload.
type Arrival struct {
	At, Runs time.Duration
	Pods     int   // that are of use only together
	GPU      int64 // of each pod, in thousandths
}

// Arrivals returns the jobs that arrive over a time at a cluster of nodes that are alike, and together ask for a part of it: the
// Philly-shaped ones, or with a trace its pods and gangs beside them, over a time of their own. No gang asks for more than half of the
// nodes, and no job runs for longer than a time.
func Arrivals(
	t Trace, nodes, gpus int, load float64, over, longest time.Duration, seed uint64,
) (arrivals []Arrival, measured time.Duration) {
	on, like, random := shape{blocks: 1, racks: 1, nodes: nodes, gpus: gpus}, philly(), rand.New(rand.NewPCG(seed, 0))
	if t != nil {
		like = openB()
	}
	like.most, like.longest = nodes/2, longest
	var jobs []*job
	if t != nil {
		jobs, over = like.mix(t, on, load, random)
	} else {
		jobs = like.draw(on, load, over, random)
	}
	for _, j := range jobs {
		arrivals = append(arrivals, Arrival{At: j.arrives, Runs: j.runs, Pods: j.pods, GPU: j.gpu})
	}
	return arrivals, over
}

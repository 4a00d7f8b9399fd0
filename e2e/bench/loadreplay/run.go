package loadreplay

import (
	"math/rand/v2"
	"time"
)

// The times of the model.
const (
	// cycle is how long kube-scheduler takes for a pod before it goes on to the next.
	cycle = 3 * time.Millisecond
	// bindDelay is how long the bind call comes after that, at most: ten cycles on average.
	bindDelay = 60 * time.Millisecond
	// watchDelay is how long it takes until a binding is seen.
	watchDelay = 10 * time.Millisecond
	// startDelay is how long a pod takes to start on its node.
	startDelay = 2 * time.Second
	// retryDelay is how long a pod that fits nowhere waits.
	retryDelay = 10 * time.Second
	// reportInterval is the time between two reports of a node, over which it averages.
	reportInterval = time.Minute
)

// epoch is when runs start.
var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// Rule places pods. It is told of everything that the scheduler it stands for would know, and
// belongs to one run.
type Rule interface {
	// Created is told of a pod that arrives.
	Created(pod *Pod)
	// Ask answers which of the candidates, nodes by number, the pod fits, and how well they
	// suit it. There are no scores when only one fits. The slices may be the rule's memory.
	Ask(pod *Pod, candidates []int) (fitting []int, scores []int64, err error)
	// Picked is told where the pod goes, as soon as that is decided.
	Picked(pod *Pod, node int)
	// Bind is the bind call.
	Bind(pod *Pod, node int) error
	// Seen is told that the pod is seen on its node.
	Seen(pod *Pod, node int)
	// Ended is told that the pod is gone.
	Ended(pod *Pod)
	// Reported is told what a node used.
	Reported(node int, r Report)
}

// Report is a node's report of its usage.
type Report struct {
	// At is when, in whole seconds, as the API has it.
	At time.Time
	// Used is by all pods, in thousandths of a CPU.
	Used int64
	// Pods is by pods that had started.
	Pods map[*Pod]int64
}

// Maker makes a rule for a run.
type Maker func(w *Workload, q *queue) (Rule, error)

// run is one run.
type run struct {
	*queue
	workload *Workload
	rule     Rule
	random   *rand.Rand
	ties     func(n int) int
	err      error

	active    []*Pod // that wait for a scheduling cycle
	busy      bool
	nextNode  int // where the next sample begins
	requested []int64
	running   []map[*Pod]time.Time // by node, since when
	pending   int
	result    Result
}

// Run places a workload by a rule.
func Run(w *Workload, rule Maker) (Result, error) {
	q := &queue{now: epoch}
	made, err := rule(w, q)
	if err != nil {
		return Result{}, err
	}
	r := &run{
		queue: q, workload: w, rule: made, random: rand.New(rand.NewPCG(w.Seed, 1)), ties: w.ties(),
		requested: make([]int64, w.Nodes), running: make([]map[*Pod]time.Time, w.Nodes),
	}
	for node := range w.Nodes {
		r.running[node] = map[*Pod]time.Time{}
		r.after(reportInterval*time.Duration(node)/time.Duration(w.Nodes), func() { r.report(node) })
	}
	for _, pod := range w.Pods {
		r.after(pod.Arrives, func() {
			r.pending++
			made.Created(pod)
			r.enqueue(pod)
		})
	}
	r.after(time.Minute, r.measure)
	r.drain(epoch.Add(w.Length))
	r.result.Pending = r.pending
	return r.result, r.err
}

func (r *run) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// enqueue has a pod wait for its cycle.
func (r *run) enqueue(pod *Pod) {
	r.active = append(r.active, pod)
	if !r.busy {
		r.schedule()
	}
}

// schedule takes up the next pod.
func (r *run) schedule() {
	if r.busy = len(r.active) > 0; !r.busy {
		return
	}
	pod := r.active[0]
	r.active = r.active[1:]
	r.place(pod)
	r.after(cycle, r.schedule)
}

// place is a scheduling cycle.
func (r *run) place(pod *Pod) {
	fitting, scores, err := r.rule.Ask(pod, r.sample(pod))
	if err != nil {
		r.fail(err)
		return
	}
	if len(fitting) == 0 {
		r.result.Rejected++
		r.after(retryDelay, func() { r.enqueue(pod) })
		return
	}
	node := r.pick(fitting, scores)
	r.requested[node] += pod.Request
	r.rule.Picked(pod, node)
	r.after(time.Duration(r.random.Int64N(int64(bindDelay))), func() { r.bind(pod, node) })
}

// sample is the nodes that the scheduler itself takes into account: those with room for what the
// pod asks for, from where it stopped the last time, and no more than it looks for in a cluster
// of that size (numFeasibleNodesToFind).
func (r *run) sample(pod *Pod) []int {
	const least, leastPercent = 100, 5
	nodes := r.workload.Nodes
	enough := nodes
	if nodes >= least {
		enough = max(least, nodes*max(leastPercent, 50-nodes/125)/100)
	}
	var found []int
	looked := 0
	for ; looked < nodes && len(found) < enough; looked++ {
		if node := (r.nextNode + looked) % nodes; r.requested[node]+pod.Request <= 1000*r.workload.Cores {
			found = append(found, node)
		}
	}
	r.nextNode = (r.nextNode + looked) % nodes
	return found
}

// pick is one of those with the highest score, drawn as muster draws it.
func (r *run) pick(fitting []int, scores []int64) int {
	if len(scores) == 0 {
		return fitting[0]
	}
	best, ties := 0, 1
	for i := 1; i < len(scores); i++ {
		switch {
		case scores[i] > scores[best]:
			best, ties = i, 1
		case scores[i] == scores[best]:
			if ties++; r.ties(ties) == 0 {
				best = i
			}
		}
	}
	return fitting[best]
}

func (r *run) bind(pod *Pod, node int) {
	if err := r.rule.Bind(pod, node); err != nil {
		r.fail(err)
		return
	}
	r.pending--
	r.after(watchDelay, func() { r.rule.Seen(pod, node) })
	r.after(startDelay, func() {
		r.running[node][pod] = r.now
		r.after(pod.Runs, func() {
			delete(r.running[node], pod)
			r.requested[node] -= pod.Request
			r.rule.Ended(pod)
		})
	})
}

func (r *run) report(node int) {
	report := Report{At: r.now.Truncate(time.Second), Pods: make(map[*Pod]int64, len(r.running[node]))}
	for pod, since := range r.running[node] {
		used := pod.averageUsage(r.now.Sub(since), reportInterval)
		report.Pods[pod] = used
		report.Used += used
	}
	r.rule.Reported(node, report)
	r.after(reportInterval, func() { r.report(node) })
}

// measure takes down once a minute what is really used.
func (r *run) measure() {
	utilisation := make([]float64, r.workload.Nodes)
	for node, running := range r.running {
		var used int64
		for pod, since := range running {
			used += pod.usage(r.now.Sub(since))
		}
		utilisation[node] = float64(used) / float64(10*r.workload.Cores)
	}
	r.result.add(utilisation)
	r.after(time.Minute, r.measure)
}

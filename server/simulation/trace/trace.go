package trace

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/sets"
)

// What a trace may have at most.
const (
	MostBytes     = 64 << 20 // of a file
	MostJobs      = 100_000
	MostPodsOfJob = 10_000 // as of a gang
	MostPods      = 500_000
	MostNodes     = 20_000
	// LongestSpan is from the first job to the last one, and LongestRun how long a job runs.
	LongestSpan = 366 * 24 * time.Hour
	LongestRun  = 366 * 24 * time.Hour
	// MostPriority is the highest one that Kubernetes gives to pods of users.
	MostPriority = 1_000_000_000
)

// Job is pods that come at one time and run for the same time.
type Job struct {
	Number          int // in the order in which they come, from 0 on
	Name, Namespace string
	// App groups jobs: muster learns from former jobs of a namespace and App. "" says that it is like no other.
	App       string
	Scheduler string        // the schedulerName of its pods, "" for that of the first profile
	At        time.Duration // when it comes, since the start
	Pods      int
	Gang      bool // all pods start together
	Priority  int32
	Says      time.Duration       // how long it says that it runs, 0 for nothing
	Asks      corev1.ResourceList // each pod
	Template  *corev1.PodSpec     // of a pod in a dump: what else it asks of nodes; nil for nothing

	runs time.Duration
}

// Ender ends jobs, and sums up how they fared once all is over. Nothing that decides has one.
type Ender struct{ _ struct{} }

// Runs is how long the job really runs.
func (j *Job) Runs(Ender) time.Duration { return j.runs }

// SetRuns changes how long the job really runs.
func (j *Job) SetRuns(runs time.Duration) { j.runs = runs }

// Trace is jobs in the order in which they come.
type Trace struct {
	Jobs []*Job
	// LeftOut counts what was left out, by why.
	LeftOut map[string]int
	// Nodes are the ones of the dump that the jobs come from; nil otherwise.
	Nodes *Nodes
}

// Nodes are what jobs run on.
type Nodes struct {
	Nodes []*corev1.Node
	// Stay are pods that come with their nodes, and never end: of DaemonSets.
	Stay []*corev1.Pod

	names sets.Set[string]
}

// Pods counts the pods of all jobs.
func (t *Trace) Pods() (pods int) {
	for _, j := range t.Jobs {
		pods += j.Pods
	}
	return pods
}

// Span is from the start until the last job comes.
func (t *Trace) Span() time.Duration {
	if len(t.Jobs) == 0 {
		return 0
	}
	return t.Jobs[len(t.Jobs)-1].At
}

// Resources are the names of all that jobs ask for, in order.
func (t *Trace) Resources() []corev1.ResourceName {
	asked := map[corev1.ResourceName]bool{}
	for _, j := range t.Jobs {
		for name := range j.Asks {
			asked[name] = true
		}
	}
	return slices.Sorted(maps.Keys(asked))
}

// Total is how much of a resource there is on all nodes, in units of one.
func (n *Nodes) Total(name corev1.ResourceName) (total float64) {
	for _, node := range n.Nodes {
		q := node.Status.Allocatable[name]
		total += q.AsApproximateFloat64()
	}
	return total
}

// builder collects the jobs of a trace.
type builder struct {
	trace Trace
	pods  int
}

func newBuilder() *builder { return &builder{trace: Trace{LeftOut: map[string]int{}}} }

// add adds a job. The error says what is too much.
func (b *builder) add(j *Job) error {
	b.pods += j.Pods
	switch {
	case len(b.trace.Jobs) == MostJobs:
		return fmt.Errorf("there are more than %d jobs", MostJobs)
	case b.pods > MostPods:
		return fmt.Errorf("all jobs together have more than %d pods", MostPods)
	}
	j.Namespace = cmp.Or(j.Namespace, corev1.NamespaceDefault)
	j.App = cmp.Or(j.App, j.Name)
	b.trace.Jobs = append(b.trace.Jobs, j)
	return nil
}

func (b *builder) leaveOut(why string) { b.trace.LeftOut[why]++ }

// finish numbers the jobs in the order in which they come.
func (b *builder) finish(name string) (*Trace, error) {
	jobs := b.trace.Jobs
	slices.SortStableFunc(jobs, func(a, b *Job) int { return cmp.Compare(a.At, b.At) })
	if len(jobs) == 0 {
		why := []string{"there are no jobs"}
		for _, reason := range slices.Sorted(maps.Keys(b.trace.LeftOut)) {
			why = append(why, fmt.Sprintf("left out: %d that %s", b.trace.LeftOut[reason], reason))
		}
		return nil, fmt.Errorf("%s: %s", name, strings.Join(why, "; "))
	}
	for i, j := range jobs {
		j.Number = i
		if j.Name == "" {
			j.Name = fmt.Sprint("job ", i+1)
		}
	}
	return &b.trace, nil
}

// amount adds a quantity to a list, unless it is nothing.
func amount(list corev1.ResourceList, name corev1.ResourceName, q resource.Quantity) {
	if q.Sign() > 0 {
		list[name] = q
	}
}

// PodName returns the name of a pod of the job. The names of one App differ in numbers alone, as muster knows workloads by their names.
func (j *Job) PodName(index int) string {
	base := label(j.App)
	if base == "" {
		base = fmt.Sprintf("job%dx", j.Number)
	}
	return fmt.Sprintf("%s-%d-%d", base, j.Number, index)
}

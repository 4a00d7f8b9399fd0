package racks

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/placement/topology"
)

// small is a cluster that a test fills within a moment.
func small() shape { return shape{"small", 2, 2, 4, 4} }

func drawn(seed uint64) ([]*job, time.Duration) {
	const over = 4 * 24 * time.Hour
	return philly().draw(small(), 0.7, over, rand.New(rand.NewPCG(seed, 0))), over
}

// audit is a rule that looks at what another one does.
type audit struct {
	*testing.T
	rule
	shape shape
	there map[int]int64 // thousandths of GPUs of jobs that run
}

func (a *audit) place(w *world, j *job, within int) ([]topology.Share, error) {
	places, err := a.rule.place(w, j, within)
	domains, need := map[int]bool{}, map[int32]int64{}
	for _, share := range places {
		n := w.nodes[share.Node]
		need[share.Node] += int64(share.Pods) * j.gpu
		domains[map[int]int{levelBlock: n.block, levelRack: n.rack}[within]] = true
		if need[share.Node] > n.free {
			a.Errorf("job %d needs %d on a node with %d", j.id, need[share.Node], n.free)
		}
	}
	if within > 0 && len(domains) != 1 {
		a.Errorf("job %d is in %d domains of level %d", j.id, len(domains), within)
	}
	a.there[j.id] = j.asked()
	return places, err
}

func (a *audit) ended(j *job) error {
	if a.there[j.id] == 0 {
		a.Errorf("job %d ends and does not run", j.id)
	}
	delete(a.there, j.id)
	return a.rule.ended(j)
}

func TestEveryRulePlacesAllPodsOfAJobInOneDomain(t *testing.T) {
	jobs, over := drawn(1)
	for _, name := range names() {
		t.Run(name, func(t *testing.T) {
			of, err := ruleOf(name, small())
			if err != nil {
				t.Fatal(err)
			}
			r, err := replay(small(), jobs, over, &audit{T: t, rule: of, shape: small(), there: map[int]int64{}})
			if err != nil {
				t.Fatal(err)
			}
			if r.gangs < 20 || r.whole == 0 || r.whole > r.gangs || r.use() < 0.4 || r.use() > 1 || r.freeRacks() <= 0 {
				t.Errorf("%d of %d gangs whole, %.2f in use, %.2f racks free", r.whole, r.gangs, r.use(), r.freeRacks())
			}
		})
	}
}

func TestRunsOfASeedAreTheSame(t *testing.T) {
	outcome := func(seed uint64) result {
		jobs, over := drawn(seed)
		ours, err := newMuster(small())
		if err != nil {
			t.Fatal(err)
		}
		r, err := replay(small(), jobs, over, ours)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	same := cmp.AllowUnexported(result{}, wait{})
	if diff := cmp.Diff(outcome(1), outcome(1), same); diff != "" {
		t.Errorf("twice the same seed:\n%s", diff)
	}
	if cmp.Equal(outcome(1), outcome(2), same) {
		t.Error("two seeds come to the same")
	}
}

// TestWhatIsMeasuredOfOneGang has a gang of two racks' worth of nodes wait for a pod alone, in a block of two racks.
func TestWhatIsMeasuredOfOneGang(t *testing.T) {
	on := shape{"two racks", 1, 2, 2, 1}
	jobs := []*job{
		{id: 0, arrives: 30 * time.Minute, runs: time.Hour, pods: 1, gpu: wholeGPU},
		{id: 1, arrives: time.Hour, runs: time.Hour, pods: 3, gpu: wholeGPU},
		{id: 2, arrives: time.Hour, runs: time.Hour, pods: 4, gpu: wholeGPU},
	}
	r, err := replay(on, jobs, 150*time.Minute, peers()[0])
	if err != nil {
		t.Fatal(err)
	}
	// From minute 30 on, one rack is free for half an hour of two hours. Four GPUs of 4 are busy from minute 60 to 90, three until 120, and
	// four until 150: 30·1 + 30·4 + 30·3 + 30·4 of 480.
	want := result{
		gangs: 2, whole: 1, over: 2 * time.Hour, racks: 2, free: float64(30 * time.Minute), capacity: 4 * wholeGPU,
		busy: float64(360*time.Minute) * wholeGPU, uneven: []int{1, 0},
		waits: []wait{{wholeGPU, 0}, {3 * wholeGPU, 0}, {4 * wholeGPU, time.Hour}},
	}
	if diff := cmp.Diff(want, r, cmp.AllowUnexported(result{}, wait{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := r.largestWait(); got != time.Hour {
		t.Errorf("the largest tenth waits for %s", got)
	}
	if got := r.imbalance(); got != 0.5 {
		t.Errorf("the imbalance is %v", got)
	}
}

func TestJobsAreDrawnAsIsSaid(t *testing.T) {
	const over = 6 * 24 * time.Hour
	on := shapes()[0]
	jobs := philly().draw(on, 0.6, over, rand.New(rand.NewPCG(1, 0)))
	asked, gangs, ones, most := 0.0, 0, 0, 0
	for _, j := range jobs {
		asked += float64(j.asked()) * float64(j.runs)
		most = max(most, j.pods)
		switch {
		case j.gang():
			gangs++
		case j.gpu == wholeGPU:
			ones++
		}
	}
	all := float64(len(jobs))
	if load := asked / float64(on.capacity()) / float64(over); load < 0.6 || load > 0.63 {
		t.Errorf("the load is %.2f", load)
	}
	if part := float64(gangs) / all; part < 0.06 || part > 0.1 {
		t.Errorf("%.2f are gangs", part)
	}
	if part := float64(ones) / all; part < 0.65 || part > 0.8 {
		t.Errorf("%.2f ask for one GPU", part)
	}
	if most != philly().most || !slices.IsSortedFunc(jobs, func(a, b *job) int { return int(a.arrives - b.arrives) }) {
		t.Errorf("the largest gang has %d pods", most)
	}
}

func TestATraceIsReadAndMixed(t *testing.T) {
	trace, err := ReadOpenB(strings.NewReader(`name,num_gpu,gpu_milli,creation_time,deletion_time
a,1,460,10000000,10000100
b,0,0,10000000,10000100
c,4,1000,10000400,10900000
d,1,1000,5,10
e,8,1000,10000800,10000900
`))
	if err != nil {
		t.Fatal(err)
	}
	want := Trace{
		{0, 5 * time.Second, 5 * time.Second, 1, 1000},
		{1, busy, 100 * time.Second, 1, 460},
		{2, busy + 400*time.Second, 899600 * time.Second, 1, 4000},
		{3, busy + 800*time.Second, 100 * time.Second, 1, 8000},
	}
	if diff := cmp.Diff(want, trace, cmp.AllowUnexported(job{})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	// A node has four GPUs, so that e is out. 0.46 GPUs for 100 s and 4 for a day are a quarter of 64 GPUs for 21,603 s.
	jobs, over := openB().mix(trace, small(), 0.5, rand.New(rand.NewPCG(1, 0)))
	if over.Round(time.Second) != 21603*time.Second {
		t.Errorf("it is over after %s", over)
	}
	var alone []*job
	for _, j := range jobs {
		if !j.gang() {
			alone = append(alone, j)
		}
	}
	if len(alone) != 2 || len(jobs) < 3 || alone[0].arrives != 0 || alone[1].arrives != over || alone[1].runs != 24*time.Hour {
		t.Errorf("%d pods alone of %d jobs: %+v", len(alone), len(jobs), alone)
	}
}

func TestATraceThatIsNoneIsRefused(t *testing.T) {
	for _, test := range []struct{ name, table, want string }{
		{"nothing", "", "the trace is empty"},
		{"a header alone", "num_gpu,gpu_milli,creation_time,deletion_time\n", "the trace has no pods with GPUs"},
		{"another table", "sn,cpu\na,1\n", `the trace has no column "num_gpu"`},
		{"no number", "num_gpu,gpu_milli,creation_time,deletion_time\n1,x,0,1\n", `line 2: gpu_milli is "x", want a number`},
		{"rows that differ in length", "num_gpu\n1,2\n", "wrong number of fields"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if _, err := ReadOpenB(strings.NewReader(test.table)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q", err, test.want)
			}
		})
	}
}

package runtimes

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/cluster"
)

// ownedBy makes a Job the controller of a pod.
func ownedBy(job string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: job, Controller: new(true)}}
	}
}

// succeeded is a pod that ran for a time.
func succeeded(name string, ran time.Duration, change ...func(*corev1.Pod)) *corev1.Pod {
	start := metav1.NewTime(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	end := func(at time.Duration) corev1.ContainerStatus {
		return corev1.ContainerStatus{State: corev1.ContainerState{
			Terminated: &corev1.ContainerStateTerminated{FinishedAt: metav1.NewTime(start.Add(at))},
		}}
	}
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"},
		Status: corev1.PodStatus{
			Phase: corev1.PodSucceeded, StartTime: &start, ContainerStatuses: []corev1.ContainerStatus{end(ran / 2), end(ran), end(ran / 3)},
		},
	}
	for _, f := range change {
		f(p)
	}
	return p
}

// expected is how long a pod is expected to run, 0 for unknown.
func (w *world) expected(name string, change ...func(*corev1.Pod)) time.Duration {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default"}}
	for _, f := range change {
		f(pod)
	}
	ends := See(w.cluster.Snapshot(), w.stamps, w.history)
	runtime, known := ends.Estimates.Of(cluster.NewPod(pod))
	if !known {
		return 0
	}
	return runtime
}

func TestPodsAreOfOneWorkloadWhateverIsMadeUpInTheirNames(t *testing.T) {
	for name, want := range map[string]string{
		"train-x7f2k":            "train",
		"train-0-x7f2k":          "train",
		"train-29384020-x7f2k":   "train",
		"train-29384020-3-x7f2k": "train",
		"mpi-worker-3":           "mpi-worker",
		"mpi-launcher":           "mpi-launcher",
		"js-workers-0-12-bcdfg":  "js-workers",
		"stage2-x7f2k":           "stage2",
		"a-small":                "a-small",
		"train-24567":            "train",
		"train-x7f2k-0-bcdfg":    "train",
		"x7f2k-bcdfg":            "x7f2k",
		"7":                      "7",
		"2024-11":                "2024",
		"-7":                     "-7",
		"train-":                 "train-",
		"":                       "",
		"x7f2k":                  "x7f2k",
	} {
		if got := stem(name); got != want {
			t.Errorf("%q is of %q, want %q", name, got, want)
		}
	}
}

func TestRuntimesAreLearnedFromFormerPods(t *testing.T) {
	w := newWorld(t)
	learn := func(name string, ran time.Duration, change ...func(*corev1.Pod)) {
		w.history.Learn(succeeded(name, ran, change...), false)
	}
	job := ownedBy("train")
	for i := range 2 {
		learn(fmt.Sprintf("train-%d", i), time.Minute, job)
	}
	learn("train-2", time.Hour, job, func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed })
	learn("train-2", time.Hour, job, func(p *corev1.Pod) { p.Status.StartTime = nil })
	learn("train-2", -time.Hour, job)
	learn("train-2", 0, job)
	learn("train-2", time.Hour) // of nobody
	learn("train-2", time.Hour, job, func(p *corev1.Pod) { p.Namespace = "other" })
	learn("serve-2", time.Hour, job)
	if got := w.expected("train-9", job); got != 0 {
		t.Errorf("after two former pods %s is expected of the next", got)
	}
	learn("train-2", 3*time.Minute, job)
	if got := w.expected("train-9", job); got != time.Minute {
		t.Errorf("after three former pods %s is expected of the next, want the median", got)
	}
	if got := w.expected("train-9", job, says("5s")); got != 5*time.Second {
		t.Errorf("%s is expected of a pod that says 5s", got)
	}
	for i := range 97 {
		learn(fmt.Sprintf("train-%d", 3+i), time.Duration(i+4)*time.Minute, job)
	}
	if got := w.expected("train-9", job); got != 84*time.Minute { // of the last 32
		t.Errorf("after 100 former pods %s is expected of the next, want 84m", got)
	}
	if got := testutil.ToFloat64(w.history.outcomes.WithLabelValues("longer")); got != 97 {
		t.Errorf("%g runtimes are counted as longer than expected, want 97", got)
	}
}

func TestEndsAreLearnedFromFormerPodsThatRanLonger(t *testing.T) {
	w := newWorld(t)
	for i, seconds := range []int{50, 10, 40, 20, 30} {
		w.history.Learn(succeeded(fmt.Sprintf("train-%d", i), time.Duration(seconds)*time.Second), false)
	}
	w.bound("unknown", 0)
	w.bound("train-5", 5*time.Second)
	w.bound("train-6", 30*time.Second)
	w.bound("train-7", 55*time.Second)
	ends := w.ends()
	want := []string{"train-7 in 5s", "train-6 in 10s", "train-5 in 25s"} // late, of 40 and 50, of all
	if !slices.Equal(ends, want) {
		t.Errorf("ends are %v, want %v", ends, want)
	}
	seen := See(w.cluster.Snapshot(), w.stamps, w.history)
	if seen.Running != 4 || seen.Learned != 3 {
		t.Errorf("%d of %d ends are learned, want 3 of 4", seen.Learned, seen.Running)
	}
	drawn := map[string]map[int]bool{}
	random := rand.New(rand.NewPCG(1, 1))
	for range 200 {
		all := seen.Drawn(random)
		if !slices.IsSortedFunc(all, func(a, b End) int { return a.At.Compare(b.At) }) {
			t.Fatal("ends that are drawn are in no order")
		}
		for _, end := range all {
			if drawn[end.Pod.Name] == nil {
				drawn[end.Pod.Name] = map[int]bool{}
			}
			drawn[end.Pod.Name][int(w.stamps.Here(end.At).Sub(w.here.Now()).Seconds())] = true
		}
	}
	wantDrawn := map[string]map[int]bool{
		"train-5": {5: true, 15: true, 25: true, 35: true, 45: true}, "train-6": {10: true, 20: true}, "train-7": {5: true},
	}
	if diff := cmp.Diff(wantDrawn, drawn); diff != "" {
		t.Errorf("ends that are drawn (-want +got):\n%s", diff)
	}
	if again := w.ends(); !slices.Equal(again, want) {
		t.Errorf("after the lots ends are %v, want %v", again, want)
	}
}

// Nothing is expected of a namespace while many of its pods run for far longer than former ones: whatever they are called, and whether
// they said so.
func TestNamespacesAreDoubtedWhosePodsAreLateByFar(t *testing.T) {
	w := newWorld(t)
	for i := range 3 {
		w.history.Learn(succeeded(fmt.Sprintf("train-%d", i), time.Minute), false)
		w.history.Learn(succeeded(fmt.Sprintf("serve-%d", i), time.Minute), false)
	}
	for i := range 9 {
		w.bound(fmt.Sprintf("serve-%d", 3+i), 0)
	}
	w.bound("train-5", 119*time.Second)
	w.ends() // the clock has seen the stamps
	w.here.Step(2 * time.Second)
	if got := w.expected("train-6"); got != time.Minute {
		t.Errorf("%s is expected beside one in ten that is late by far, want 1m", got)
	}
	w.bound("train-7", 130*time.Second)
	for _, name := range []string{"train-6", "serve-1"} {
		if got := w.expected(name); got != 0 {
			t.Errorf("%s is expected of %s beside two in eleven that are late by far", got, name)
		}
	}
	if got := w.expected("p", says("10s")); got != 0 {
		t.Errorf("%s is expected of a pod that says 10s there", got)
	}
	if got := w.expected("p", says("10s"), func(p *corev1.Pod) { p.Namespace = "other" }); got != 10*time.Second {
		t.Errorf("%s is expected of 10s in another namespace", got)
	}
	if got := len(w.ends()); got != 11 {
		t.Errorf("%d ends are expected, want all 11", got)
	}
}

// The members of a gang end together: they are no proof of each other.
func TestPodsOfOneOwnerThatEndTogetherAreLearnedAsOne(t *testing.T) {
	w := newWorld(t)
	gang := func(p *corev1.Pod) { ownedBy("j")(p); p.OwnerReferences[0].UID = "j" }
	for i := range 8 {
		w.history.Learn(succeeded(fmt.Sprintf("train-%d", i), time.Duration(60+i)*time.Second, gang), false)
	}
	if got := w.expected("train-9", gang); got != 0 {
		t.Errorf("%s is expected after one gang", got)
	}
	for i, hours := range []int{4, 3} {
		w.history.Learn(succeeded(fmt.Sprintf("train-1-%d", i), time.Duration(hours)*time.Hour, gang), false)
	}
	if got := w.expected("train-9", gang); got != 3*time.Hour {
		t.Errorf("%s is expected after three ends, want 3h", got)
	}
}

// The pods that ended last are kept, in whatever order they are learned: a list of the API server is in that of names.
func TestTheLastEndsAreKept(t *testing.T) {
	w := newWorld(t)
	for i := range 3 * mostKept {
		at := (i*37 + 5) % (3 * mostKept) // in no order
		w.history.Learn(succeeded(fmt.Sprintf("train-%d", at), time.Duration(at+1)*time.Minute), true)
	}
	if got, want := w.expected("train-999"), time.Duration(2*mostKept+mostKept/2)*time.Minute; got != want {
		t.Errorf("%s is expected, want %s: the median of the last %d", got, want, mostKept)
	}
	if got := testutil.CollectAndCount(w.history.outcomes); got != 0 {
		t.Errorf("%d results are counted of pods that ended before", got)
	}
}

// A deadline is a limit, and what is said is a guess.
func TestADeadlineIsNeverExceeded(t *testing.T) {
	w := newWorld(t)
	for i := range 9 {
		w.history.Learn(succeeded(fmt.Sprintf("a%d-x", i), 5*time.Minute, says("30s")), false)
		w.history.Learn(succeeded(fmt.Sprintf("b%d-x", i), 6*time.Minute, deadline(3600)), false)
	}
	w.bound("newest", 0)
	w.bound("limited", 0, deadline(60))
	for _, test := range []struct {
		says func(*corev1.Pod)
		want time.Duration
	}{{says("1m"), 10 * time.Minute}, {deadline(600), time.Minute}, {says("2h"), 20 * time.Hour}} {
		if got := w.expected("p", test.says); got != test.want {
			t.Errorf("%s is expected, want %s", got, test.want)
		}
	}
	for i := range 20 {
		w.history.Learn(succeeded(fmt.Sprintf("c%d-x", i), 2*time.Hour, deadline(3600)), false) // by a clock that is wrong
	}
	if got := w.expected("p", deadline(600)); got != 10*time.Minute {
		t.Errorf("%s is expected of a pod whose deadline is 10m", got)
	}
	if got := w.ends(); !slices.Equal(got, []string{"limited in 1m0s"}) {
		t.Errorf("ends are %v, want within the deadline of 60 s", got)
	}
}

// How far the pods of a namespace are off with what they say is learned, too: an author may be wrong, or lie.
func TestWhatPodsSayIsHeldAgainstHowLongTheyRan(t *testing.T) {
	w := newWorld(t)
	w.bound("newest", 0)
	w.bound("late", 110*time.Second, says("1m"))
	if got := w.expected("p", says("10s")); got != 10*time.Second {
		t.Errorf("%s is expected of 10s beside a pod that is late", got)
	}
	for i := range 9 {
		w.history.Learn(succeeded(fmt.Sprintf("j%d-x", i), 2*time.Minute, says("1m")), false)
	}
	if got := w.expected("p", says("10s")); got != 20*time.Second {
		t.Errorf("%s is expected of 10s where pods run for twice as long as they say, want 20s", got)
	}
	if got := w.expected("p", says("10s"), func(p *corev1.Pod) { p.Namespace = "other" }); got != 10*time.Second {
		t.Errorf("%s is expected of 10s in another namespace", got)
	}
	w.bound("half", 30*time.Second, says("1m"))
	if got, want := w.ends(), []string{"late in 10s", "half in 1m30s"}; !slices.Equal(got[:1], want[:1]) || !slices.Contains(got, want[1]) {
		t.Errorf("ends are %v, want %v among them", got, want)
	}
}

func TestATenantPushesNoHistoryOfOthersOut(t *testing.T) {
	w := newWorld(t)
	for i := range 3 {
		w.history.Learn(succeeded(fmt.Sprintf("train-%d", i), time.Minute), false)
	}
	for i := range 10 * mostSources {
		w.history.Learn(succeeded(fmt.Sprintf("j%d-x", i), time.Minute, says("1m"), func(p *corev1.Pod) { p.Namespace = "tenant" }), false)
	}
	if got := w.expected("train-3"); got != time.Minute {
		t.Errorf("%s is expected after another namespace had many workloads, want 1m", got)
	}
	sources, former := w.history.find(source{namespace: "tenant", kind: byAnnotation})
	if sources.Len() != mostSources || len(former) != mostKept {
		t.Errorf("%d values of %d sources of a namespace are kept, want %d of %d", len(former), sources.Len(), mostKept, mostSources)
	}
}

func TestTheNinthOfTenIsExpectedAtMost(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for _, count := range []int{9, 10, 19, 32} {
		longer, of := 0, 20000
		for range of {
			former := make([]float64, count)
			for i := range former {
				former[i] = random.ExpFloat64()
			}
			slices.Sort(former)
			if random.ExpFloat64() > NineOfTen(former) {
				longer++
			}
		}
		if share := float64(longer) / float64(of); share > 0.105 {
			t.Errorf("after %d former pods %.3f of the next ran for longer", count, share)
		}
	}
}

package runtimes

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sort"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
)

// End says when a pod is expected to leave its node.
type End struct {
	Pod  *cluster.Pod
	Node *cluster.Node
	At   time.Time // of the API server

	start time.Time
	// The values of its source by which it runs for longer than it has, in order, and their unit.
	longer []float64
	unit   time.Duration
}

// Ends are the expected ends of pods that run.
type Ends struct {
	// Of has the ends of pods, the first ones first. A pod that says nothing, and whose workload is not known, is left out. So are pods
	// of DaemonSets, in whose place others come. An end is the median of what it may be.
	Of []End
	// Running is how many pods run that are of no DaemonSet, and Learned how many of the ends are by former pods alone.
	Running, Learned int
	// Unsure says that some of the ends may be others as well: see Drawn.
	Unsure    bool
	Estimates Estimates
}

// See returns the expected ends of the pods of a snapshot. The clock sees their stamps.
func See(snap *cluster.Snapshot, clock *Clock, history *History) Ends {
	for node := range snap.Nodes() {
		for _, pod := range node.Pods {
			clock.See(pod.CreationTimestamp.Time)
		}
	}
	ends := Ends{Estimates: Estimates{history, map[string]tally{}}}
	l := look{Ends: &ends, now: clock.Now(), values: map[source][]float64{}}
	for node := range snap.Nodes() {
		for _, pod := range node.Pods {
			end := End{Pod: pod, Node: node}
			if l.see(&end) {
				ends.Of = append(ends.Of, end)
			}
		}
	}
	sortEnds(ends.Of)
	return ends
}

// look is a look at all pods.
type look struct {
	*Ends
	now    time.Time
	values map[source][]float64 // of each source that has been asked about
}

func sortEnds(ends []End) {
	slices.SortFunc(ends, func(a, b End) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.Pod.UID, b.Pod.UID)) })
}

// Drawn returns the same ends, as they may come as well: each is drawn by the lot among the former pods by which this one runs for longer
// than it has. Pods of one owner that started together draw one lot: they end together.
func (e *Ends) Drawn(random *rand.Rand) []End {
	type start struct {
		owner types.UID
		at    int64
	}
	drawn, lots := slices.Clone(e.Of), map[start]float64{}
	for i := range drawn {
		end := &drawn[i]
		if len(end.longer) == 0 {
			continue
		}
		lot := random.Float64()
		if owner := metav1.GetControllerOfNoCopy(end.Pod.Pod); owner != nil {
			of := start{owner.UID, end.start.Truncate(together).Unix()}
			if other, there := lots[of]; there {
				lot = other
			}
			lots[of] = lot
		}
		end.At = end.after(end.longer[int(lot*float64(len(end.longer)))])
	}
	sortEnds(drawn)
	return drawn
}

// after returns when the pod ends that runs for a value of its source.
func (end *End) after(value float64) time.Time {
	return end.start.Add(min(times(value, end.unit), deadlineOf(end.Pod.Pod)))
}

// startOf returns when a pod was bound, and false if it is not, as far as the watch shows.
func startOf(pod *cluster.Pod) (start time.Time, runs bool) {
	if pod.Spec.NodeName == "" || pod.Placeholder {
		return time.Time{}, false
	}
	return pod.True(corev1.PodScheduled)
}

// see finds out when a pod is expected to end. A start that is yet to come is of another clock, as of a pod that a kubelet has made. A pod
// that is assumed starts now: its end is known before the watch shows that it is bound.
func (l *look) see(end *End) (known bool) {
	pod := end.Pod
	start, runs := startOf(pod)
	if pod.Spec.NodeName == "" && !pod.Placeholder {
		start, runs = l.now, true
	}
	if !runs || pod.OfDaemonSet() {
		return false
	}
	l.Running++
	if pod.DeletionTimestamp != nil { // the end of its grace
		if end.At = l.now; pod.DeletionTimestamp.After(l.now) {
			end.At = pod.DeletionTimestamp.Time
		}
		return true
	}
	if end.start = start; start.After(l.now) {
		end.start = l.now
	}
	return !start.IsZero() && l.expect(end)
}

// expect finds out when a pod ends by former ones.
func (l *look) expect(end *End) (known bool) {
	var of source
	of, end.unit = sourceOf(end.Pod.Pod)
	values, asked := l.values[of]
	if !asked {
		values = l.Estimates.history.values(of)
		l.values[of] = values
	}
	if len(values) == 0 {
		return false
	}
	if of.stem != "" {
		l.Learned++
	}
	age, count := l.now.Sub(end.start), l.Estimates.pods[of.namespace]
	if count.all++; age > 2*times(NineOfTen(values), end.unit) {
		count.late++
	}
	l.Estimates.pods[of.namespace] = count
	shorter := sort.Search(len(values), func(i int) bool { return end.after(values[i]).After(l.now) })
	if end.longer = values[shorter:]; len(end.longer) == 0 {
		return end.due(values[len(values)-1], l.now)
	}
	end.At = end.after(median(end.longer))
	l.Unsure = l.Unsure || end.after(end.longer[0]) != end.after(end.longer[len(end.longer)-1])
	return true
}

// leastLate is the time that a pod is given that is late.
const leastLate = 10 * time.Second

// due sets when a pod ends that is due after a value. One that is late is given some time, and twice as long each time that this is
// over. It reports false for one that is late by years.
func (end *End) due(value float64, now time.Time) (known bool) {
	due := end.after(value)
	for at, more := due, leastLate; more < longest; at, more = due.Add(more), 2*more {
		if at.After(now) {
			end.At = at
			return true
		}
	}
	return false
}

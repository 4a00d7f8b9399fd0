package placeholder

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/rescheduler/reservation"
)

// due returns the rooms that kube-scheduler is to know of now, in their order, out of the rooms that nobody has
// come to yet. Room behind that of an earlier step on the same node waits, unless both fit beside the pods that
// are there: it is for a pod that comes after another one has gone, and would keep out the one that comes
// before.
func due(rooms []reservation.Room, snap *cluster.Snapshot) (now []reservation.Room) {
	used, waits, steps := map[string]cluster.Resources{}, map[string]bool{}, map[string]int{}
	for _, r := range rooms {
		node := snap.NodeByName(r.Node)
		if node == nil || waits[r.Node] {
			continue
		}
		if _, known := used[r.Node]; !known {
			used[r.Node] = taken(node)
		}
		if counts(r.Taker, node) {
			now = append(now, r)
			continue
		}
		sum := used[r.Node].Plus(&r.For.Requests)
		sum.Pods = used[r.Node].Pods + 1
		if steps[r.Node] > 0 && !within(&sum, &node.Allocatable) {
			waits[r.Node] = true
			continue
		}
		used[r.Node] = sum
		if now = append(now, r); r.Beneficiary == "" {
			steps[r.Node]++
		}
	}
	return now
}

// counts reports whether a pod is on a node in muster's view.
func counts(uid types.UID, node *cluster.Node) bool {
	return uid != "" && node.Pod(uid) != nil
}

// taken returns the sum of the requests on a node, without placeholders. Pods counts the pods.
func taken(node *cluster.Node) (sum cluster.Resources) {
	for _, pod := range node.Pods {
		if !pod.Placeholder {
			pods := sum.Pods + 1
			sum = sum.Plus(&pod.Requests)
			sum.Pods = pods
		}
	}
	return sum
}

// within reports whether a node offers as much as that.
func within(sum, offer *cluster.Resources) bool {
	for _, s := range sum.Scalars {
		if s.Amount > offer.Scalar(s.Name) {
			return false
		}
	}
	return sum.MilliCPU <= offer.MilliCPU && sum.Memory <= offer.Memory && sum.EphemeralStorage <= offer.EphemeralStorage &&
		sum.Pods <= offer.Pods
}

// failures are writes that failed, by what they were about.
type failures struct {
	backoff *flowcontrol.Backoff
	last    map[string]error
}

// A write that fails rests, twice as long each time.
const (
	firstRest = 250 * time.Millisecond
	mostRest  = 30 * time.Second
	// passing is how long a failure that the watch explains, as a rule, is not spoken of.
	passing = 2 * time.Second
)

func newFailures(c clock.Clock) failures {
	f := failures{flowcontrol.NewBackOff(firstRest, mostRest), map[string]error{}}
	f.backoff.Clock = c
	return f
}

// note keeps the result of a write.
func (f failures) note(about string, err error, now time.Time) {
	if err == nil {
		f.backoff.DeleteEntry(about)
		delete(f.last, about)
		return
	}
	f.backoff.Next(about, now)
	f.last[about] = err
}

// rests reports whether nothing is to be written yet, as that has just failed.
func (f failures) rests(about string, now time.Time) bool {
	return f.backoff.IsInBackOffSinceUpdate(about, now)
}

// said returns the error of the last write, nil when it succeeded. That the pod is there already, or has
// changed, is not reported before it lasts.
func (f failures) said(about string) error {
	err := f.last[about]
	if !f.persists(about) && (apierrors.IsAlreadyExists(err) || nomination.Outdated(err)) {
		return nil
	}
	return err
}

// persists reports whether a write has failed several times in a row.
func (f failures) persists(about string) bool { return f.backoff.Get(about) >= passing }

// forget forgets all.
func (f failures) forget() {
	for about := range f.last {
		f.note(about, nil, time.Time{})
	}
}

package nomination

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/api/seeded"
	"muster.dev/muster/cluster"
)

// world is an API server, a scheduler that asks muster, and people, around a Nominator.
// Each step of theirs is one of the test, so that everything happens in every order.
type world struct {
	*rapid.T
	*bench
	clock *clocktesting.FakeClock

	version int
	pods    map[types.UID]*corev1.Pod // as the API server has them
	ours    map[types.UID]bool        // the nomination in the status is muster's
	watch   []event                   // what the watch has yet to show
	writes  []writeUnderWay
	taken   map[types.UID]string // pods in the hands of the scheduler, and their nodes
	handed  map[types.UID]string // what was in the hands of the scheduler when muster was restarted
	created int
	settled bool // no write fails any more
}

type event struct {
	pod     *corev1.Pod
	deleted bool
}

type writeUnderWay struct {
	*write
	err error // what the API server answered
}

func newWorld(t *rapid.T, limits bounds) *world {
	limits.MaxAhead = rapid.IntRange(1, 20).Draw(t, "limit")
	limits.BatchPods = rapid.IntRange(1, 8).Draw(t, "batch")
	w := &world{
		T: t, clock: clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
		pods: map[types.UID]*corev1.Pod{}, ours: map[types.UID]bool{}, taken: map[types.UID]string{},
	}
	w.bench = newBench(t, limits, w.clock, nil)
	for i := range rapid.IntRange(1, 4).Draw(t, "nodes") {
		set(t, w.cluster, newNode(fmt.Sprint("node-", i), strconv.Itoa(room)))
	}
	w.cluster.FollowGated(w.inbox.put)
	return w
}

// put stores a pod in the API server.
func (w *world) put(pod *corev1.Pod) {
	w.version++
	pod.ResourceVersion = strconv.Itoa(w.version)
	w.pods[pod.UID] = pod
	w.watch = append(w.watch, event{pod: pod.DeepCopy()})
}

// some draws a pod that the API server has.
func (w *world) some(which func(*corev1.Pod) bool) *corev1.Pod {
	var names []string
	for uid, pod := range w.pods {
		if which(pod) {
			names = append(names, string(uid))
		}
	}
	if len(names) == 0 {
		w.Skip()
	}
	slices.Sort(names)
	return w.pods[types.UID(rapid.SampledFrom(names).Draw(w.T, "pod"))].DeepCopy()
}

func pending(pod *corev1.Pod) bool { return pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil }

func (w *world) create() {
	w.created++
	pod := newPod(fmt.Sprint("p", w.created), "1", ofPriority(int32(rapid.IntRange(0, 1).Draw(w.T, "priority"))))
	if rapid.IntRange(0, 4).Draw(w.T, "was tried") == 0 {
		unschedulable(pod)
	}
	w.put(pod)
}

func (w *world) label() {
	pod := w.some(pending)
	pod.Labels = map[string]string{"version": strconv.Itoa(w.version)}
	w.put(pod)
}

func (w *world) beginDeletion() {
	pod := w.some(pending)
	pod.DeletionTimestamp = &metav1.Time{Time: w.clock.Now()}
	w.put(pod)
}

func (w *world) remove() { w.drop(w.some(func(*corev1.Pod) bool { return true })) }

func (w *world) drop(pod *corev1.Pod) {
	delete(w.pods, pod.UID)
	delete(w.ours, pod.UID)
	delete(w.taken, pod.UID)
	w.watch = append(w.watch, event{pod: pod, deleted: true})
}

// theirs is where others nominate pods. Muster does not know it: of one node it could not
// tell who meant it, if its own write was not answered.
const theirs = "their-node"

// nominate is a preemption.
func (w *world) nominate() {
	pod := w.some(pending)
	w.nominateTo(pod, theirs)
	w.put(pod)
}

// nominateTo is how others nominate a pod, or take its nomination away.
func (w *world) nominateTo(pod *corev1.Pod, node string) {
	pod.Status.NominatedNodeName, w.ours[pod.UID] = node, false
	pod.ManagedFields = managedBy("kube-scheduler")
}

// restart has another process go on. The new one loses what the former knew and what it was about to read from
// the watch or from the API server.
func (w *world) restart() {
	w.forget()
	w.watch, w.writes = nil, nil
	w.handed = maps.Clone(w.taken)
	nodes := w.cluster.Snapshot().Nodes()
	w.bench = newBench(w, w.bounds, w.clock, nil)
	for node := range nodes {
		set(w, w.cluster, node.Node)
	}
	for _, pod := range w.pods {
		set(w, w.cluster, pod)
	}
	w.cluster.FollowGated(w.inbox.put)
}

// forget ends all assumptions: their timers would outlive the test.
func (w *world) forget() {
	for uid := range w.pods {
		w.cluster.Release(uid)
	}
}

func (w *world) show() {
	if len(w.watch) == 0 {
		w.Skip()
	}
	next := w.watch[0]
	w.watch = w.watch[1:]
	if next.deleted {
		if err := w.cluster.Delete(next.pod); err != nil {
			w.Fatal(err)
		}
		return
	}
	set(w, w.cluster, next.pod)
}

// claimWrite has the API server answer a write. The answer is on its way then.
func (w *world) claimWrite() {
	next := w.claim()
	if next == nil {
		w.Skip()
	}
	w.writes = append(w.writes, writeUnderWay{next, w.answer(next)})
}

func (w *world) answer(is *write) error {
	pod, now := is.pod, w.pods[is.pod.UID]
	switch {
	case !w.settled && rapid.IntRange(0, 7).Draw(w.T, "fails") == 0:
		return errors.New("connection refused")
	case now == nil:
		return apierrors.NewNotFound(corev1.Resource("pods"), pod.Name)
	case is.what != lifts && now.ResourceVersion != pod.ResourceVersion:
		return conflict(pod.Name)
	case is.what != lifts && now.Spec.NodeName != "":
		w.Fatalf("%s is bound, and it is written that %q is its place", pod.Name, is.node)
	case is.what == nominates && now.Status.NominatedNodeName != "" && !w.ours[pod.UID]:
		w.Fatalf("the nomination of %s by somebody else is overwritten with %q", pod.Name, is.node)
	}
	next := now.DeepCopy()
	switch is.what {
	case nominates:
		next.Status.NominatedNodeName, w.ours[pod.UID] = is.node, is.node != ""
		next.ManagedFields = managedBy(cluster.FieldManager)
	case lifts:
		without(v1alpha1.AheadGate)(next)
	}
	w.put(next)
	if !w.settled && rapid.IntRange(0, 7).Draw(w.T, "the answer is lost") == 0 {
		return errors.New("unexpected EOF")
	}
	return nil
}

func (w *world) finishWrite() {
	if len(w.writes) == 0 {
		w.Skip()
	}
	i := rapid.IntRange(0, len(w.writes)-1).Draw(w.T, "write")
	done := w.writes[i]
	w.writes = slices.Delete(w.writes, i, i+1)
	w.finish(done.write, done.err)
}

// takeUp is an attempt of the scheduler that asks muster: about the node that is planned
// for the pod, and else about any with room in the scheduler's own eyes. A pod that muster's watch has
// not shown is not bound.
func (w *world) takeUp() {
	pod := w.some(func(pod *corev1.Pod) bool { return pending(pod) && w.taken[pod.UID] == "" })
	if w.cluster.PendingPod(pod.UID) == nil {
		w.fail(pod)
		return
	}
	node := w.Take(pod.UID)
	if node != "" && node != w.cluster.Assumed(pod.UID) {
		w.Fatalf("%s is said to be planned for %s, and counts on %q", pod.Name, node, w.cluster.Assumed(pod.UID))
	}
	w.cluster.Release(pod.UID)
	parsed := cluster.NewPod(pod)
	for candidate := range w.cluster.Snapshot().Nodes() {
		if node != "" && node != candidate.Name || len(candidate.Pods) == room || w.load()[candidate.Name] == room {
			continue
		}
		if err := w.cluster.AssumeAll([]*cluster.Pod{parsed}, candidate); err != nil {
			w.Fatal(err)
		}
		w.taken[pod.UID] = candidate.Name
		return
	}
	w.fail(pod)
}

// room is how many pods fit a node.
const room = 3

// load is how many pods the scheduler has on each node, bound or about to be.
func (w *world) load() map[string]int {
	load := map[string]int{}
	for _, pod := range w.pods {
		load[pod.Spec.NodeName]++
	}
	for _, node := range w.taken {
		load[node]++
	}
	return load
}

func (w *world) bind() {
	pod := w.some(func(pod *corev1.Pod) bool { return pending(pod) && w.taken[pod.UID] != "" })
	pod.Spec.NodeName, pod.Status.NominatedNodeName = w.taken[pod.UID], ""
	delete(w.ours, pod.UID)
	delete(w.taken, pod.UID)
	w.put(pod)
}

// failToBind ends what the scheduler tries. The assumption of the filter call stays.
func (w *world) failToBind() {
	w.fail(w.some(func(pod *corev1.Pod) bool { return pending(pod) && w.taken[pod.UID] != "" }))
}

// fail is how the scheduler ends an attempt: mostly it clears the nomination.
func (w *world) fail(pod *corev1.Pod) {
	delete(w.taken, pod.UID)
	unschedulable(pod)
	switch rapid.IntRange(0, 3).Draw(w.T, "nomination after the failure") {
	case 0: // not eligible for preemption
	case 1:
		w.nominateTo(pod, theirs)
	default:
		w.nominateTo(pod, "")
	}
	w.put(pod)
}

func (w *world) pass(d time.Duration) {
	w.clock.Step(d)
	w.expireAll()
}

// check checks the invariants that hold at any time.
func (w *world) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	var counts [stages]int
	for uid, p := range w.course.nominees {
		counts[p.stage]++
		if p.stage.holds() && !p.open {
			w.Fatalf("%s is %s, and its nomination has ended", uid, p.stage)
		}
		// The watch may have ended the assumption, and the Nominator is yet to read why.
		if got := w.cluster.Assumed(uid); p.stage.holds() && got != p.node && len(w.inbox.events) == 0 {
			w.Fatalf("%s is %s for %s, and counts on %q", uid, p.stage, p.node, got)
		}
		if (p.stage == waiting) != (p.at < len(w.course.backlog) && w.course.backlog[p.at] == p) {
			w.Fatalf("%s is %s: the backlog says otherwise", uid, p.stage)
		}
	}
	if counts != w.course.counts {
		w.Fatalf("counted %v, are %v", w.course.counts, counts)
	}
	for uid, node := range w.taken {
		if got := w.cluster.Assumed(uid); got != node && w.handed[uid] != node {
			w.Fatalf("the scheduler is about to bind %s to %s, and it counts on %q", uid, node, got)
		}
	}
	for node, pods := range w.load() {
		if node != "" && pods > room {
			w.Fatalf("%d pods are on %s, which has room for %d", pods, node, room)
		}
	}
}

// settle lets everything end that has begun, and long times pass. The scheduler stands
// still.
func (w *world) settle() {
	w.settled = true
	for _, uid := range slices.Sorted(maps.Keys(w.pods)) {
		if w.pods[uid].DeletionTimestamp != nil {
			w.drop(w.pods[uid])
		}
	}
	for uid := range w.pods { // what a filter call has assumed expires
		if p := w.course.nominees[uid]; p == nil || !p.stage.holds() {
			w.cluster.Release(uid)
		}
	}
	clear(w.taken)
	left := map[types.UID]int{}
	for range 60 {
		for len(w.watch) > 0 {
			w.show()
		}
		w.receive()
		for w.plan() {
			w.receive()
		}
		for {
			next := w.claim()
			if next == nil {
				break
			}
			w.writes = append(w.writes, writeUnderWay{next, w.answer(next)})
		}
		for len(w.writes) > 0 {
			w.finishWrite()
		}
		w.pass(time.Second)
		w.check()
		for uid := range w.pods {
			if left[uid]++; !w.isLeft(uid) {
				left[uid] = 0
			}
			if left[uid] > 5 {
				p := w.course.nominees[uid]
				w.Fatalf("%s (tried: %t, %s for %v) is left with a nomination to %s", uid, p.tried(), p.stage, w.clock.Since(p.since), p.nominated())
			}
		}
	}
}

// isLeft says whether a nomination of muster's stands on a pod without a plan.
func (w *world) isLeft(uid types.UID) bool {
	p := w.course.nominees[uid]
	switch {
	case !w.ours[uid]:
		return false
	case p.stage == standing:
		return false
	case p.stage == taken: // in the hands of the scheduler, if only for some time
		return p.tried() && w.clock.Since(p.since) > w.limits.Lifetime
	}
	return true
}

// checkSettled checks the invariants that hold when nothing is left to do.
func (w *world) checkSettled() {
	holding := 0
	for uid, p := range w.course.nominees {
		if w.pods[uid] == nil || !pending(w.pods[uid]) {
			w.Fatalf("%s is followed, and does not wait", uid)
		}
		if p.stage.holds() {
			holding++
		}
		if p.open && p.stage != standing && p.stage != taken {
			w.Fatalf("%s is %s, and its nomination has not ended", uid, p.stage)
		}
	}
	for uid, pod := range w.pods {
		if pending(pod) && w.course.nominees[uid] == nil {
			w.Fatalf("%s waits, and is not followed", uid)
		}
	}
	if holding > w.limits.MaxAhead {
		w.Fatalf("%d pods are ahead of the scheduler, at most %d may be", holding, w.limits.MaxAhead)
	}
}

func TestEveryNominationEndsAndNoneIsLeftBehind(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		w := newWorld(t, testLimits())
		defer w.forget()
		do := func(step func()) func(*rapid.T) { return func(t *rapid.T) { w.T = t; step() } }
		t.Repeat(map[string]func(*rapid.T){
			"create": do(w.create), "create another": do(w.create), "label": do(w.label), "begin deletion": do(w.beginDeletion),
			"remove": do(w.remove), "nominate": do(w.nominate),
			"show": do(w.show), "show more": do(w.show), "show still more": do(w.show),
			"receive": do(w.receive), "plan": do(func() { w.receive(); w.plan() }), "plan without a look": do(func() { w.plan() }),
			"write": do(w.claimWrite), "finish a write": do(w.finishWrite),
			"restart": do(w.restart), "take up": do(w.takeUp), "bind": do(w.bind), "fail to bind": do(w.failToBind),
			"a second": do(func() { w.pass(time.Second) }), "a long time": do(func() { w.pass(time.Minute) }),
			"": do(w.check),
		})
		w.T = t
		w.settle()
		w.checkSettled()
	})
}

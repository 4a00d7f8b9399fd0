package gang

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	clocktesting "k8s.io/utils/clock/testing"
	"pgregory.net/rapid"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/api/seeded"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/record"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/predicates"
)

// world is an API server, a scheduler and people around a Manager. Each step of theirs is
// one of the test, so that everything happens in every order.
type world struct {
	*rapid.T
	*Manager
	clock   *clocktesting.FakeClock
	cluster *cluster.Cluster
	gates   config.Gates
	store   *predicates.VerdictStore
	pods    map[types.UID]*corev1.Pod // as the API server has them, except finished pods
	done    map[types.UID]*corev1.Pod // succeeded pods
	late    []func()                  // what one watch has shown and the other one not yet
	least   map[string]int            // minMember by group
	commits []func()                  // the writes of records that are under way
	outcome error                     // of the next one
	frozen  map[string]int            // minMember of what is recorded, until that number is bound
	batches sets.Set[string]          // groups that start in batches of minMember
	left    map[types.UID]string      // members of the last batch that could not be bound, and their groups
	due     sets.Set[types.UID]       // members that are let go while no call of theirs waits
	calls   []heldCall
	letGo   map[types.UID]string // bind calls that may go on, and their nodes
	created int
	version int

	everVictim sets.Set[types.UID]
}

type heldCall struct {
	*hold
	pod   *corev1.Pod
	node  string
	since time.Time
}

// room is how many pods fit a node.
const room = 3

var groupNames = []string{"one", "two"}

func newWorld(t *rapid.T) *world {
	cfg := config.Default()
	gates := rapid.SampledFrom([]config.Gates{config.GatesNever, config.GatesUntilMembers}).Draw(t, "gates")
	cfg.Profiles[0].Equivalence, cfg.Profiles[0].Gates = config.EquivalenceTemplate, gates
	profile, err := predicates.NewProfile(&cfg.Profiles[0])
	if err != nil {
		t.Fatal(err)
	}
	w := &world{
		T:       t,
		gates:   gates,
		clock:   clocktesting.NewFakeClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)),
		pods:    map[types.UID]*corev1.Pod{},
		done:    map[types.UID]*corev1.Pod{},
		frozen:  map[string]int{},
		least:   map[string]int{},
		letGo:   map[types.UID]string{},
		batches: sets.New[string](),
		left:    map[types.UID]string{},
		due:     sets.New[types.UID](),
	}
	registry, log := prometheus.NewRegistry(), slog.New(slog.DiscardHandler)
	c := cluster.New(cluster.Options{Logger: log, Registerer: registry, AssumeTTL: time.Hour})
	w.store = predicates.NewVerdictStore(profile, c, 1<<30, predicates.NewStoreMetrics(registry), w.clock)
	limits := DefaultLimits(30*time.Second, time.Hour, time.Hour)
	limits.DenyTTL = time.Nanosecond // denials expire by the clock of the machine
	w.cluster = c
	w.Manager = New(Options{
		Logger: log, Registerer: registry, Clock: w.clock, Cluster: c, Client: nil, Limits: limits,
		Recorder: w,
		Epoch:    func() record.Epoch { return record.Epoch{} },
		Writer:   nomination.NewWriter(log, registry, w.clock, nomination.DefaultWriteLimits(500)),
		Profiles: predicates.NewProfiles(w.store), Reservations: noPlans{},
	})
	w.machine.records.start = func(write func()) { w.commits = append(w.commits, write) }
	c.FollowPods(w.machine.inbox.put)
	for i := range rapid.IntRange(1, 4).Draw(t, "nodes") {
		w.must(c.Set(node(fmt.Sprint("node-", i), fmt.Sprint(room))))
	}
	for node := range c.Snapshot().Nodes() {
		for range rapid.IntRange(0, room).Draw(t, "pods that run") {
			w.created++
			w.put(members(fmt.Sprint("p", w.created), 1, "1", alone, on(node.Name))[0])
		}
	}
	for _, name := range groupNames {
		if rapid.IntRange(0, 2).Draw(t, name+" comes in batches") == 0 {
			w.batches.Insert(name)
		}
		w.ask(name)
	}
	return w
}

func (w *world) must(err error) {
	if err != nil {
		w.Fatal(err)
	}
}

// ask says how many members a group must have.
func (w *world) ask(name string) {
	w.least[name] = rapid.IntRange(1, 4).Draw(w.T, "min of "+name)
	group := podGroup(name, int64(w.least[name]))
	if w.batches.Has(name) {
		annotate(group, v1alpha1.AnnotationMatchPolicy, string(v1alpha1.MatchOnlyWaiting))
	}
	w.cluster.SetCustom(v1alpha1.ResourceOf(v1alpha1.GroupX), group)
}

func (w *world) askAnew() { w.ask(rapid.SampledFrom(groupNames).Draw(w.T, "group")) }

// put stores a pod in the API server, and the watch shows it.
func (w *world) put(pod *corev1.Pod) {
	w.version++
	pod.ResourceVersion = fmt.Sprint(w.version)
	w.pods[pod.UID] = pod
	w.must(w.cluster.Set(pod.DeepCopy()))
}

func (w *world) create() {
	w.created++
	group := rapid.SampledFrom(append([]string{""}, groupNames...)).Draw(w.T, "group")
	priority := rapid.SampledFrom([]int32{0, 0, 1, 2}).Draw(w.T, "priority")
	if group == "two" && priority < 2 { // most of its members outrank others
		priority = 1
	}
	pod := members(group, 1, "1", ofPriority(priority))[0]
	pod.Name = fmt.Sprint("p", w.created)
	pod.UID = types.UID(pod.Name)
	if rapid.Bool().Draw(w.T, "gated") {
		gated(pod)
	}
	w.put(pod)
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

func (w *world) remove() { w.drop(w.some(func(*corev1.Pod) bool { return true })) }

func (w *world) drop(pod *corev1.Pod) {
	delete(w.pods, pod.UID)
	delete(w.letGo, pod.UID)
	delete(w.left, pod.UID)
	w.calls = slices.DeleteFunc(w.calls, func(c heldCall) bool { return c.pod.UID == pod.UID && c.ended })
	w.must(w.cluster.Delete(pod))
}

// finish is a pod that succeeds or fails, which two watches show, one of them later.
func (w *world) finish() {
	pod := w.some(func(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" })
	phase := rapid.SampledFrom([]corev1.PodPhase{corev1.PodSucceeded, corev1.PodFailed}).Draw(w.T, "phase")
	delete(w.pods, pod.UID)
	if phase == corev1.PodSucceeded {
		w.done[pod.UID] = pod
	}
	watches := []func(){func() { w.must(w.cluster.Delete(pod)) }, func() { w.Finished(ended(pod, phase)) }}
	first := rapid.IntRange(0, 1).Draw(w.T, "first")
	watches[first]()
	w.late = append(w.late, watches[1-first])
}

// hear has the other watch show what one has shown.
func (w *world) hear() {
	for _, show := range w.late {
		show()
	}
	w.late = nil
}

// cleanUp deletes a pod that has succeeded.
func (w *world) cleanUp() {
	if len(w.done) == 0 {
		w.Skip()
	}
	w.hear()
	uid := slices.Sorted(maps.Keys(w.done))[0]
	pod := ended(w.done[uid], corev1.PodSucceeded)
	pod.Gone = true
	delete(w.done, uid)
	w.Finished(pod)
}

// schedule is an attempt of the scheduler: filter and, if there is a node, a bind call. It
// asks about all nodes, or one at random.
func (w *world) schedule() {
	w.attempt(w.some(w.mayBeAsked), rapid.IntRange(0, 4).Draw(w.T, "offers one node") == 0)
}

// callAgain is a scheduler that lost an answer, or another one: it asks about a pod that is
// held, or repeats the bind call, perhaps for another node.
func (w *world) callAgain() {
	pod := w.some(func(pod *corev1.Pod) bool { return w.isHeld(pod.UID) })
	if rapid.Bool().Draw(w.T, "from the start") {
		w.attempt(pod, false)
		return
	}
	for node := range w.cluster.Snapshot().Nodes() {
		if rapid.Bool().Draw(w.T, "to "+node.Name) {
			w.bindCall(pod, node.Name)
			return
		}
	}
}

func (w *world) isHeld(uid types.UID) bool {
	return slices.ContainsFunc(w.calls, func(c heldCall) bool { return c.pod.UID == uid && !c.ended })
}

func (w *world) attempt(pod *corev1.Pod, offersOne bool) {
	known := w.cluster.PendingPod(pod.UID)
	decision := w.Verbs.Filter(known, w.cluster.Snapshot().NodeCount())
	if decision.Reason != "" {
		if !decision.Waits {
			w.cluster.Release(pod.UID)
		}
		return
	}
	to := w.fitting(known, decision.Node, offersOne)
	switch {
	case to == "" && decision.Member:
		place := w.cluster.Snapshot().NodeByName(decision.Node)
		w.Verbs.Refused(known, offersOne && place != nil && rapid.Bool().Draw(w.T, "missed"))
		return
	case to == "" && w.Verbs.GiveWay(known, w.store):
		to = w.fitting(known, "", offersOne)
	}
	if to == "" {
		w.cluster.Release(pod.UID)
		w.takeBack(pod)
		return
	}
	w.must(w.cluster.AssumeAll([]*cluster.Pod{known}, w.cluster.Snapshot().NodeByName(to)))
	if decision.Member {
		w.Verbs.Placed(pod.UID, to)
	}
	w.bindCall(pod, to)
}

// fitting is where muster sends a pod of those nodes that the scheduler offers.
func (w *world) fitting(pod *cluster.Pod, place string, offersOne bool) string {
	names := w.nodeNames()
	if offersOne {
		names = []string{rapid.SampledFrom(names).Draw(w.T, "node")}
	}
	if slices.Contains(names, place) {
		names = append([]string{place}, names...)
	}
	view := w.store.ViewWithout(pod, w.cluster.Assumed(pod.UID))
	defer view.Close()
	for _, name := range names {
		node := view.Snapshot.NodeByName(name)
		others := slices.DeleteFunc(slices.Clone(node.Pods), func(other *cluster.Pod) bool { return other.UID == pod.UID })
		if view.Verdict(node.Index) == predicates.Fits && len(others)+w.promisedOn(name, pod) < room {
			return name
		}
	}
	return ""
}

func (w *world) bindCall(pod *corev1.Pod, node string) {
	wasDue := w.stage(pod.UID) == "due"
	h, err := w.Verbs.hold(pod.UID, node)
	switch {
	case err != nil:
	case h == nil && wasDue:
		w.letGo[pod.UID] = node
	case h == nil:
		w.mayGo(pod, node)
	default:
		w.calls = append(w.calls, heldCall{h, pod, node, w.clock.Now()})
	}
	w.collect()
}

// collect takes the calls that have ended off the list.
func (w *world) collect() {
	for _, name := range groupNames {
		w.batchMayGo(name)
	}
	for _, c := range w.calls {
		if c.ended && c.err == nil {
			w.mayGo(c.pod, c.node)
		}
	}
	w.followDue()
	w.calls = slices.DeleteFunc(w.calls, func(c heldCall) bool { return c.ended })
}

// asked is how many members of a group must start together: no more than when a start was recorded
// that is not over.
func (w *world) asked(group string) int {
	if frozen, recorded := w.frozen[group]; recorded {
		return min(w.least[group], frozen)
	}
	return w.least[group]
}

// mayGo checks a bind call that is let go: enough members to start together are bound or are let go, too.
func (w *world) mayGo(pod *corev1.Pod, node string) {
	if w.pods[pod.UID] == nil {
		return
	}
	w.letGo[pod.UID] = node
	key, member := membership.Marked(pod)
	if !member || w.batches.Has(key.Name) {
		return
	}
	together := w.succeeded(key.Name)
	for uid, other := range w.pods {
		goes := runsOn(other) || w.letGo[uid] != "" || w.justLetGo(uid) || w.stage(uid) == "due"
		if k, of := membership.Marked(other); of && k == key && goes {
			together++
		}
	}
	least := w.asked(key.Name)
	if together < least {
		w.Fatalf("%s is let go with %d of %d members of %s", pod.Name, together, least, key.Name)
	}
	if _, recorded := w.frozen[key.Name]; w.bound(key.Name) == 0 && !recorded {
		w.Fatalf("%s is let go, none of %s is bound, and nothing is recorded", pod.Name, key.Name)
	}
}

// batchMayGo checks the bind calls for members of a group that are let go at once, if each batch of it starts
// as one. They are enough to start together, counting the batch before if some of its members were left behind.
func (w *world) batchMayGo(group string) {
	together := 0
	for _, c := range w.calls {
		if key, of := membership.Marked(c.pod); of && key.Name == group && c.ended && c.err == nil {
			together++
		}
	}
	for uid, pod := range w.pods {
		if key, of := membership.Marked(pod); of && key.Name == group && w.stage(uid) == "due" && !w.due.Has(uid) {
			together++
		}
	}
	if !w.batches.Has(group) || together == 0 {
		return
	}
	left := 0
	for uid, of := range w.left {
		if of == group {
			left++
			delete(w.left, uid)
		}
	}
	least := w.asked(group)
	if left > 0 {
		least = min(least, left)
	}
	if together < least {
		w.Fatalf("%d members of %s are let go, %d of %d were left behind", together, group, left, w.least[group])
	}
}

// followDue takes note of members that are let go while no call of theirs waits, and of members that have lost
// their places since: they are left behind.
func (w *world) followDue() {
	for uid, pod := range w.pods {
		key, _ := membership.Marked(pod)
		switch is := w.stage(uid) == "due"; {
		case is:
			w.due.Insert(uid)
		case w.due.Has(uid):
			w.due.Delete(uid)
			if w.letGo[uid] == "" && pod.Spec.NodeName == "" {
				w.left[uid] = key.Name
			}
		}
	}
}

// stage is how far a member is, as muster says, "" for a pod that is none.
func (w *world) stage(uid types.UID) string {
	_, member, _ := w.machine.state.Member(uid, w.machine.moment())
	return member.Stage
}

func (w *world) succeeded(group string) int {
	count := 0
	for _, pod := range w.done {
		if key, of := membership.Marked(pod); of && key.Name == group {
			count++
		}
	}
	return count
}

// bound is how many pods of a group are bound, or were.
func (w *world) bound(group string) int {
	count := w.succeeded(group)
	for _, pod := range w.pods {
		if key, of := membership.Marked(pod); of && key.Name == group && runsOn(pod) {
			count++
		}
	}
	return count
}

func (w *world) justLetGo(uid types.UID) bool {
	return slices.ContainsFunc(w.calls, func(c heldCall) bool { return c.pod.UID == uid && c.ended && c.err == nil })
}

// bind has the API server bind a pod that was let go, or refuse it.
func (w *world) bind() {
	pod := w.some(func(pod *corev1.Pod) bool { return pod.Spec.NodeName == "" && w.letGo[pod.UID] != "" })
	w.finishBinding(pod, rapid.IntRange(0, 5).Draw(w.T, "fails") == 0)
}

func (w *world) finishBinding(pod *corev1.Pod, fails bool) {
	node := w.letGo[pod.UID]
	delete(w.letGo, pod.UID)
	if fails {
		w.cluster.Release(pod.UID)
		w.Verbs.Bound(pod.UID, context.DeadlineExceeded)
		if key, of := membership.Marked(pod); of {
			w.left[pod.UID] = key.Name
		}
		w.takeBack(pod)
		return
	}
	w.Verbs.Bound(pod.UID, nil)
	pod.Spec.NodeName = node
	w.put(pod)
}

// record is a commit that the API server records, or refuses to.
func (w *world) record() {
	if len(w.commits) == 0 {
		w.Skip()
	}
	at := rapid.IntRange(0, len(w.commits)-1).Draw(w.T, "commit")
	w.recordWith(
		at, rapid.SampledFrom([]error{nil, nil, nil, record.ErrChanged, record.ErrFenced, context.DeadlineExceeded}).Draw(w.T, "outcome"),
	)
}

func (w *world) recordWith(at int, err error) {
	write := w.commits[at]
	w.commits, w.outcome = slices.Delete(w.commits, at, at+1), err
	write()
	w.collect()
}

// Write implements Recorder.
func (w *world) Write(_ context.Context, group *unstructured.Unstructured, r record.Record) error {
	if w.outcome == nil {
		w.frozen[group.GetName()] = r.MinMember
	}
	return w.outcome
}

// hangUp is a scheduler that gives a call up.
func (w *world) hangUp() {
	if len(w.calls) == 0 {
		w.Skip()
	}
	c := rapid.SampledFrom(w.calls).Draw(w.T, "call")
	if w.Verbs.drop(c.pod.UID, c.hold, context.Canceled) == nil {
		w.Fatalf("the call for %s goes on, and nobody waits", c.pod.Name)
	}
	w.collect()
}

func (w *world) pass(d time.Duration) {
	w.clock.Step(d)
	w.expire()
	w.collect()
}

func (w *world) ahead() {
	w.Manager.ahead.plan()
	w.Manager.ahead.liftGates()
}

// lift has the API server lift a gate, or refuse to.
func (w *world) lift() {
	w.finishLift(w.some(func(pod *corev1.Pod) bool { return w.isBeingLifted(pod.UID) }), rapid.IntRange(0, 5).Draw(w.T, "fails") == 0)
}

func (w *world) isBeingLifted(uid types.UID) bool {
	return w.machine.state.Lifting(uid) && membership.Gated(w.pods[uid])
}

func (w *world) finishLift(pod *corev1.Pod, fails bool) {
	if fails {
		w.machine.do(core.GateLifted{UID: pod.UID, Err: context.DeadlineExceeded})
		return
	}
	pod.Spec.SchedulingGates = nil
	w.put(pod)
	w.machine.do(core.GateLifted{UID: pod.UID})
}

// check checks the invariants that hold at any time.
func (w *world) check() {
	w.machine.mu.Lock()
	defer w.machine.mu.Unlock()
	w.machine.look()
	for _, name := range groupNames {
		if w.machine.state.Completed(named(name)) {
			delete(w.frozen, name)
		}
	}
	w.must(w.machine.state.Check(w.machine.view))
	for uid := range w.pods {
		_, member, _ := w.machine.state.Member(uid, w.machine.moment())
		if assumed := w.cluster.Assumed(uid); (member.Stage == "pending" || member.Stage == "gated") && assumed != "" {
			w.Fatalf("%s is %s, and counts on %q", uid, member.Stage, assumed)
		}
	}
	for _, c := range w.calls {
		if age := w.clock.Since(c.since); !c.ended && age > 31*time.Second {
			w.Fatalf("the call for %s is held for %s", c.pod.Name, age)
		}
	}
	victims := w.victims()
	for node := range w.cluster.Snapshot().Nodes() {
		stay := slices.DeleteFunc(slices.Clone(node.Pods), func(pod *cluster.Pod) bool { return victims.Has(pod.UID) })
		if len(stay) > room {
			w.Fatalf("%d pods are on %s", len(stay), node.Name)
		}
		w.checkPromises(node, stay)
	}
}

// settle has a scheduler at work that does nothing wrong, for a while. At most one binding fails.
func (w *world) settle() {
	fails := rapid.Bool().Draw(w.T, "a binding fails")
	for range 100 {
		w.ahead()
		for _, uid := range slices.Sorted(maps.Keys(w.pods)) {
			if w.isBeingLifted(uid) {
				w.finishLift(w.pods[uid].DeepCopy(), false)
			}
			if pod := w.pods[uid].DeepCopy(); w.mayBeAsked(pod) {
				w.attempt(pod, false)
				if w.mayBeAsked(pod) {
					w.preemptFor(pod)
				}
			}
		}
		w.makeWay()
		for _, uid := range slices.Sorted(maps.Keys(w.letGo)) {
			w.finishBinding(w.pods[uid].DeepCopy(), fails)
			fails = false
		}
		for len(w.commits) > 0 {
			w.recordWith(0, nil)
		}
		w.pass(time.Second)
		w.check()
	}
}

// checkSettled checks the invariants that hold when nothing is left to do: groups wait only for want of room or
// of members.
func (w *world) checkSettled() {
	if len(w.calls) > 0 {
		w.Fatalf("%s is held still", w.calls[0].pod.Name)
	}
	free := 0
	for node := range w.cluster.Snapshot().Nodes() {
		free += room - len(node.Pods)
	}
	for _, name := range groupNames {
		if w.batches.Has(name) {
			w.checkBatches(name, free)
			continue
		}
		exist, bound, shut := w.succeeded(name), w.succeeded(name), 0
		for _, pod := range w.pods {
			if key, of := membership.Marked(pod); of && key.Name == name {
				exist++
				if membership.Gated(pod) {
					shut++
				}
				if pod.Spec.NodeName != "" {
					bound++
				}
			}
		}
		if missing := w.least[name] - bound; bound < w.least[name] && exist >= w.least[name] && free >= missing {
			w.Fatalf("%s waits: %d of %d members are bound, %d exist, and there is room for %d", name, bound, w.least[name], exist, free)
		}
		if enough := w.gates == config.GatesUntilMembers && exist >= w.least[name]; shut > 0 && (enough || bound >= w.least[name]) {
			w.Fatalf("%d members of %s are gated, and %d of %d bound, with gates %s", shut, name, bound, w.least[name], w.gates)
		}
	}
}

// checkBatches is checkSettled for a group that starts in batches.
func (w *world) checkBatches(name string, free int) {
	wait, bound, left := 0, w.bound(name), 0
	for uid, pod := range w.pods {
		if key, of := membership.Marked(pod); of && key.Name == name && pod.Spec.NodeName == "" {
			wait++
			if _, was := w.left[uid]; was {
				left++
			}
		}
	}
	if least := w.least[name]; wait >= least && free >= least {
		w.Fatalf("%d members of %s wait, %d start as one, and there is room for %d", wait, name, least, free)
	}
	if left > 0 && bound >= w.least[name]-left && free >= left {
		w.Fatalf("%d members of %s were left behind by %d, and there is room for %d", left, name, bound, free)
	}
}

func TestGangsStartWholeWhateverHappens(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		defer func() { // else timers of assumptions outlive the test
			for uid := range w.pods {
				w.cluster.Release(uid)
			}
		}()
		do := func(step func()) func(*rapid.T) { return func(t *rapid.T) { w.T = t; step() } }
		t.Repeat(map[string]func(*rapid.T){
			"create":                 do(w.create),
			"create another":         do(w.create),
			"create one more":        do(w.create),
			"remove":                 do(w.remove),
			"delete":                 do(func() { w.delete(w.some(runsOn)) }),
			"finish":                 do(w.finish),
			"hear":                   do(w.hear),
			"clean up":               do(w.cleanUp),
			"ask for another number": do(w.askAnew),
			"schedule":               do(w.schedule),
			"schedule more":          do(w.schedule),
			"schedule still more":    do(w.schedule),
			"call again":             do(w.callAgain),
			"bind":                   do(w.bind),
			"bind more":              do(w.bind),
			"hang up":                do(w.hangUp),
			"record":                 do(w.record),
			"record another":         do(w.record),
			"plan ahead":             do(w.ahead),
			"preempt":                do(w.preempt),
			"preempt more":           do(w.preempt),
			"end":                    do(w.end),
			"nominate":               do(w.nominate),
			"nominate more":          do(w.nominate),
			"lift":                   do(w.lift),
			"lift more":              do(w.lift),
			"a second":               do(func() { w.pass(time.Second) }),
			"a long time":            do(func() { w.pass(25 * time.Second) }),
			"":                       do(w.check),
		})
		w.T = t
		w.hear()
		w.settle()
		w.checkSettled()
	})
}

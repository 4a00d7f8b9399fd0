package reschedulerfaults

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/e2e/history"
)

// entry is something that became of an object.
type entry struct {
	at      time.Time // when this process heard of it
	version uint64    // of etcd, so that all entries have one order
	gone    bool

	// One of them:
	node   *corev1.Node
	pod    *corev1.Pod
	plan   *v1alpha1.ReschedulingPlan
	set    *set
	budget *policyv1.PodDisruptionBudget
}

// set is a ReplicaSet, a StatefulSet or a Job, with how many pods it is to have.
type set struct {
	metav1.ObjectMeta

	replicas int
}

// life is the history of an object.
type life[T any] struct {
	object T
	since  time.Time // heard of first
	gone   bool
}

// state is the present and past state, as the API server says: a gone object stays, as it was last.
// It is not for use from several goroutines at once.
type state struct {
	nodes   map[string]*nodeLife
	pods    map[types.UID]*podLife
	plans   map[types.UID]*planLife
	sets    map[types.UID]*life[*set]
	budgets map[string]*policyv1.PodDisruptionBudget // of now
}

// nodeLife is a node, with since when no pod can come to it, zero while one can.
type nodeLife struct {
	life[*corev1.Node]

	closed time.Time
	marked bool // by a plan that empties it, at some time
	// closings are the times in which none could come that have ended.
	closings []closing
}

// closing is a time in which no pod could come to a node.
type closing struct{ from, to time.Time }

// podLife is a pod, with when what became of it; zero for not yet.
type podLife struct {
	life[*corev1.Pod]

	bound, leaves time.Time
	downSince     time.Time // that it is not ready, zero while it is
	upSince       time.Time // that it was ready last
}

// planLife is a plan, with when what became of it; zero for not yet.
type planLife struct {
	life[*v1alpha1.ReschedulingPlan]

	runs     time.Time // it was approved
	reserves time.Time // muster said that it keeps the room
	gaveUp   time.Time // muster said that it does so no more
	ended    time.Time
}

func newState() *state {
	return &state{
		nodes: map[string]*nodeLife{}, pods: map[types.UID]*podLife{}, plans: map[types.UID]*planLife{},
		sets: map[types.UID]*life[*set]{}, budgets: map[string]*policyv1.PodDisruptionBudget{},
	}
}

// apply enters what became of an object.
func (s *state) apply(e entry) {
	switch {
	case e.node != nil:
		if s.nodes[e.node.Name] == nil {
			s.nodes[e.node.Name] = &nodeLife{life: life[*corev1.Node]{since: e.at}}
		}
		s.nodes[e.node.Name].apply(e)
	case e.pod != nil:
		if s.pods[e.pod.UID] == nil {
			s.pods[e.pod.UID] = &podLife{life: life[*corev1.Pod]{since: e.at}}
		}
		s.pods[e.pod.UID].apply(e)
	case e.plan != nil:
		if s.plans[e.plan.UID] == nil {
			s.plans[e.plan.UID] = &planLife{life: life[*v1alpha1.ReschedulingPlan]{since: e.at}}
		}
		s.plans[e.plan.UID].apply(e)
	case e.set != nil:
		if s.sets[e.set.UID] == nil {
			s.sets[e.set.UID] = &life[*set]{since: e.at}
		}
		s.sets[e.set.UID].object, s.sets[e.set.UID].gone = e.set, e.gone
	case e.budget != nil:
		s.budgets[e.budget.Name] = e.budget
		if e.gone {
			delete(s.budgets, e.budget.Name)
		}
	}
}

func (n *nodeLife) apply(e entry) {
	n.object, n.gone = e.node, e.gone
	n.marked = n.marked || e.node.Annotations[v1alpha1.AnnotationEmptying] != ""
	switch {
	case !e.gone && !keepsOff(e.node):
		if !n.closed.IsZero() {
			n.closings = append(n.closings, closing{n.closed, e.at})
		}
		n.closed = time.Time{}
	case n.closed.IsZero():
		n.closed = e.at
	}
}

func (p *podLife) apply(e entry) {
	p.object, p.gone = e.pod, e.gone
	if p.bound.IsZero() && e.pod.Spec.NodeName != "" {
		p.bound = e.at
	}
	if p.leaves.IsZero() && (e.gone || e.pod.DeletionTimestamp != nil) {
		p.leaves = e.at
	}
	switch down := !isReady(e.pod) || !p.leaves.IsZero(); {
	case !down:
		if p.upSince.IsZero() || !p.downSince.IsZero() {
			p.upSince = e.at
		}
		p.downSince = time.Time{}
	case p.downSince.IsZero():
		p.downSince = e.at
	}
}

func (p *planLife) apply(e entry) {
	p.object, p.gone = e.plan, e.gone
	if p.runs.IsZero() && (e.plan.Status.Phase == v1alpha1.Approved || e.plan.Status.Phase == v1alpha1.Executing) {
		p.runs = e.at
	}
	if p.reserves.IsZero() && e.plan.IsReserved() {
		p.reserves = e.at
	}
	if reason, _ := e.plan.GivenUp(); p.gaveUp.IsZero() && reason != "" {
		p.gaveUp = e.at
	}
	if p.ended.IsZero() && (e.gone || e.plan.Ended()) {
		p.ended = e.at
	}
}

// inForce says that the room of the plan is kept: muster has said so and has not taken that back, and the plan has neither
// ended nor expired.
func (p *planLife) inForce(now time.Time) bool {
	return !p.reserves.IsZero() && p.gaveUp.IsZero() && p.ended.IsZero() && now.Before(p.expires().Add(-slack))
}

// expires is when the plan has expired by the clock of this process: times in plans are told by others, which differ, but
// not in how long a plan may take from when it runs.
func (p *planLife) expires() time.Time {
	if lasts := p.object.Lasts(); lasts > 0 {
		return cmp.Or(p.runs, p.since).Add(lasts)
	}
	return p.object.Expires()
}

func (p *planLife) endedBy(t time.Time) bool { return !p.ended.IsZero() && !p.ended.After(t) }

// step returns the plan's step for a pod, nil when the plan does not move it.
func (p *planLife) step(uid types.UID) *v1alpha1.Step {
	for i := range p.object.Spec.Steps {
		if step := &p.object.Spec.Steps[i]; step.Pod.UID == uid {
			return step
		}
	}
	return nil
}

// evicts says that a plan has got to the step that moves a pod.
func (p *planLife) evicts(uid types.UID) bool {
	for i := range p.object.Spec.Steps {
		if phase := p.object.Step(i).Phase; p.object.Spec.Steps[i].Pod.UID == uid && phase != v1alpha1.StepWaiting && phase != "" {
			return true
		}
	}
	return false
}

// wasClosed says that no pod could come to the node at a time. Watches of different kinds are not told in one order.
func (n *nodeLife) wasClosed(at time.Time) bool {
	return slices.ContainsFunc(n.closings, func(c closing) bool { return c.from.Before(at.Add(slack)) && c.to.After(at) })
}

// keepsOff says that no pod can come to a node as it is: none tolerates anything.
func keepsOff(node *corev1.Node) bool {
	return node.Spec.Unschedulable ||
		slices.ContainsFunc(node.Spec.Taints, func(t corev1.Taint) bool { return t.Effect == corev1.TaintEffectNoSchedule })
}

// isClosed says that no pod can come to a node.
func (s *state) isClosed(node string) bool {
	n := s.nodes[node]
	return n == nil || !n.closed.IsZero()
}

func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func isReady(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// controllerOf returns the UID of the controller that replaces a pod, "" for none.
func controllerOf(pod *corev1.Pod) types.UID {
	if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
		return owner.UID
	}
	return ""
}

func milliCPU(pod *corev1.Pod) int64 {
	return pod.Spec.Containers[0].Resources.Requests.Cpu().MilliValue()
}

// leaving says that a pod is leaving which a plan moves.
func (s *state) leaving(plan *planLife) bool {
	for i := range plan.object.Spec.Steps {
		if p := s.pods[plan.object.Spec.Steps[i].Pod.UID]; p != nil && !p.leaves.IsZero() {
			return true
		}
	}
	return false
}

// record holds what the API server told of a run. Its methods are safe for concurrent use.
type record struct {
	bindings *history.Bindings

	mu      sync.Mutex
	entries []entry
	now     *state
	changed chan struct{} // closed with the next entry
	err     error         // why it is not complete
}

func newRecord() *record {
	return &record{bindings: history.NewBindings(), now: newState(), changed: make(chan struct{})}
}

func (r *record) observe(event watch.Event) {
	at := time.Now()
	r.bindings.Observe(event)
	object, ok := event.Object.(metav1.Object)
	if !ok {
		return
	}
	e, err := entry{at: at, gone: event.Type == watch.Deleted}, error(nil)
	switch object := event.Object.(type) {
	case *corev1.Node:
		e.node = object
	case *corev1.Pod:
		e.pod = object
	case *appsv1.ReplicaSet:
		e.set = &set{object.ObjectMeta, int(*object.Spec.Replicas)}
	case *appsv1.StatefulSet:
		e.set = &set{object.ObjectMeta, int(*object.Spec.Replicas)}
	case *batchv1.Job:
		e.set = &set{object.ObjectMeta, podsOfJob(object)}
	case *policyv1.PodDisruptionBudget:
		e.budget = object
	case *unstructured.Unstructured:
		if e.plan, err = v1alpha1.Decode(object); err != nil {
			err = fmt.Errorf("read a plan: %w", err)
		}
	}
	if err == nil {
		if e.version, err = strconv.ParseUint(object.GetResourceVersion(), 10, 64); err != nil {
			err = fmt.Errorf("resource version: %w", err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = cmp.Or(r.err, err)
	r.entries = append(r.entries, e)
	r.now.apply(e)
	close(r.changed)
	r.changed = make(chan struct{})
}

// look has somebody look at the state of now, and says when there is another one.
func (r *record) look(at func(*state)) (changed <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	at(r.now)
	return r.changed
}

// history is all that was observed until a time, in the order in which it happened.
func (r *record) history(until time.Time) ([]entry, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	entries := slices.DeleteFunc(slices.Clone(r.entries), func(e entry) bool { return e.at.After(until) })
	slices.SortStableFunc(entries, func(a, b entry) int { return cmp.Compare(a.version, b.version) })
	return entries, r.err
}

// podsOfJob is how many pods a Job is to have by now: none when it fails or has failed, and less than it wants while it rests
// after others have ended, for as long as it likes.
func podsOfJob(job *batchv1.Job) int {
	for _, c := range job.Status.Conditions {
		if c.Status == corev1.ConditionTrue && (c.Type == batchv1.JobFailed || c.Type == batchv1.JobFailureTarget) {
			return 0
		}
	}
	return int(job.Status.Active)
}

package reschedulerfaults

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/e2e/workload"
)

// tale is a history that is written by hand: each step is a second after the one before. There
// are the nodes from and to of 4 cores, and a plan p moves the pod old of 2 cores between them,
// whose controller is web.
type tale struct {
	story

	at time.Time
}

func newTale() *tale {
	t := &tale{at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	t.allowSingle = true
	for _, name := range []string{"from", "to"} {
		t.tell(entry{node: workload.NewNode(name, workload.Milli(1000*coresOfANode), workload.Room(64, 20))})
	}
	return t.set(1).pod("old", on("from"), ready)
}

func (t *tale) tell(e entry) *tale {
	t.at = t.at.Add(time.Second)
	e.at, e.version = t.at, uint64(len(t.entries)+1)
	t.entries = append(t.entries, e)
	t.end = t.at
	return t
}

func (t *tale) pass(d time.Duration) *tale {
	t.at = t.at.Add(d)
	t.end = t.at
	return t
}

func (t *tale) set(generation int64) *tale {
	return t.tell(entry{set: &set{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: "uid-web", Generation: generation}, replicas: 1}})
}

func (t *tale) pod(name string, change ...func(*corev1.Pod)) *tale {
	return t.tell(entry{pod: pod(name, change...)})
}

func (t *tale) gone(name string) *tale { return t.tell(entry{pod: pod(name, leaving), gone: true}) }

// plan tells how far the plan is. Its room is kept once it is more than approved.
func (t *tale) plan(phase v1alpha1.Phase, step v1alpha1.StepPhase, message string) *tale {
	return t.planCalled("p", "old", phase, step, message)
}

func (t *tale) planCalled(name, moves string, phase v1alpha1.Phase, step v1alpha1.StepPhase, message string) *tale {
	plan := &v1alpha1.ReschedulingPlan{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID("uid-" + name)}}
	plan.Spec.Expires = metav1.NewTime(time.Date(2026, 1, 1, 0, 2, 0, 0, time.UTC))
	plan.Spec.Steps = []v1alpha1.Step{
		{
			Pod:         v1alpha1.PodReference{Name: moves, UID: types.UID("uid-" + moves)},
			Controller:  v1alpha1.Controller{Name: "web", UID: "uid-web"},
			From:        "from",
			To:          "to",
			Replacement: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pod(moves).Labels}, Spec: pod(moves).Spec},
		},
	}
	plan.Status.Phase, plan.Status.Message, plan.Status.Steps = phase, message, []v1alpha1.StepStatus{{Phase: step}}
	if phase != v1alpha1.Approved {
		plan.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReserved, Status: metav1.ConditionTrue}}
	}
	return t.tell(entry{plan: plan})
}

// unkept has muster not keep the room of the plan that was told of last.
func (t *tale) unkept() *tale {
	t.entries[len(t.entries)-1].plan.Status.Conditions = nil
	return t
}

// evict has a replica of the rescheduler evict a pod, which the API server tells a second later.
func (t *tale) evict(name string, replica int) *tale {
	t.evictions = append(
		t.evictions,
		eviction{replica: replica, pod: name, uid: types.UID("uid-" + name), asked: t.at, answered: t.at.Add(time.Second), granted: true},
	)
	for _, e := range slices.Backward(t.entries) {
		if e.pod != nil && e.pod.Name == name {
			evicted := e.pod.DeepCopy()
			leaving(evicted)
			return t.tell(entry{pod: evicted})
		}
	}
	panic("there is no pod " + name)
}

// deleted has somebody delete a plan as it was told of last.
func (t *tale) deleted(name string) *tale {
	for _, e := range slices.Backward(t.entries) {
		if e.plan != nil && e.plan.Name == name {
			return t.tell(entry{plan: e.plan, gone: true})
		}
	}
	panic("there is no plan " + name)
}

// clocked has the plan run by a clock that is ahead of the one here.
func (t *tale) clocked(ahead time.Duration) *tale {
	t.plan(v1alpha1.Executing, "", "")
	plan := t.entries[len(t.entries)-1].plan
	at := t.at.Add(ahead)
	plan.Status.Approved, plan.Status.Expires = new(metav1.NewTime(at)), new(metav1.NewTime(at.Add(planTTL)))
	t.skew = min(ahead.Abs(), wrong)
	return t
}

// paused has a rescheduler be in mode DryRun from some time after its first eviction on, until another time.
func (t *tale) paused(from, to time.Duration) *tale {
	asked := t.evictions[0].asked
	t.pauses = append(t.pauses, pause{from: asked.Add(from), to: asked.Add(to)})
	return t
}

// marked has the node spare carry a mark, and be closed for a minute.
func (t *tale) marked(annotation, value string, closed bool) *tale {
	node := workload.NewNode("spare", workload.Milli(1000*coresOfANode), workload.Room(64, 20))
	node.Annotations = map[string]string{annotation: value}
	if closed {
		node.Annotations[v1alpha1.AnnotationClosedUntil] = t.at.Add(time.Minute).Format(time.RFC3339)
		node.Spec.Taints = []corev1.Taint{{Key: v1alpha1.TaintClosed, Effect: corev1.TaintEffectNoSchedule}}
	}
	return t.tell(entry{node: node})
}

// toldToEvict is a tale up to the eviction, which is about to be asked for.
func toldToEvict() *tale { return newTale().plan(v1alpha1.Executing, v1alpha1.StepEvicting, "") }

// moving is a tale up to the eviction.
func moving() *tale { return newTale().moves() }

func (t *tale) moves() *tale {
	return t.plan(v1alpha1.Approved, "", "").plan(v1alpha1.Executing, v1alpha1.StepEvicting, "").evict("old", 0)
}

func pod(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := workload.NewPod(name, "2")
	p.UID = types.UID("uid-" + name)
	p.Labels = map[string]string{appLabel: "web", tierLabel: tierWeb}
	p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "web", UID: "uid-web", Controller: new(true)}}
	for _, f := range change {
		f(p)
	}
	return p
}

func on(node string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.NodeName = node } }
func leaving(p *corev1.Pod)            { p.DeletionTimestamp = &metav1.Time{} }
func stranger(p *corev1.Pod)           { p.OwnerReferences, p.Labels = nil, nil }
func ready(p *corev1.Pod) {
	p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
}

func large(p *corev1.Pod) {
	p.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse("3")
}

const (
	long         = pendingLimit + time.Minute
	waitsForLong = pendingTooLong + ", " + unreplaced
)

func TestWhatMustNotBeIsFound(t *testing.T) {
	for name, test := range map[string]struct {
		tale *tale
		want string // kinds, "" for nothing
	}{
		"a pod moves": {
			tale: moving().pod("new").gone("old").pod("new", on("to"), ready).plan(v1alpha1.Succeeded, v1alpha1.StepMoved, "all pods have moved"),
		},

		"what replaces it waits":                      {moving().pod("new").plan(v1alpha1.Succeeded, "", "done").pass(long), waitsForLong},
		"it waits, and the plan failed for no reason": {moving().pod("new").plan(v1alpha1.Failed, "", "so what").pass(long), waitsForLong},
		"it waits, as its node was cordoned": {
			tale: moving().pod("new").close("to").plan(v1alpha1.Failed, "", "to is closed").pass(long),
		},
		"it waits, as its node was cordoned when the plan failed": {
			tale: moving().pod("new").close("to").plan(v1alpha1.Failed, "", "to is closed").open("to").pass(long),
		},
		"it waits, and its node was open again when the plan failed": {
			moving().pod("new").close("to").open("to").pass(slack).plan(v1alpha1.Failed, "", "to is closed").pass(long), waitsForLong,
		},
		"it waits, and its node was cordoned for a while after the plan had failed": {
			moving().pod("new").plan(v1alpha1.Failed, "", "so what").pass(slack).close("to").open("to").pass(long), waitsForLong,
		},
		"it waits, as the workload was scaled": {tale: moving().set(2).pod("new").plan(v1alpha1.Failed, "", "too many").pass(long)},
		"it waits, as its node was cordoned, unsaid": {
			moving().pod("new").close("to").plan(v1alpha1.Succeeded, "", "done").pass(long), waitsForLong,
		},
		"it waits, as one that came later is there": {
			tale: moving().pod("new").pod("later").pod("later", on("to"), ready).plan(v1alpha1.Succeeded, "", "done").pass(long),
		},
		"another one of the workload waits": {
			tale: moving().pod("new", on("to"), ready).pod("newer").plan(v1alpha1.Succeeded, "", "done").pass(long),
		},
		"it waits, as one that had waited is there": {
			tale: newTale().pod("before").moves().pod("new").pod("before", on("to"), ready).plan(v1alpha1.Expired, "", "new has no node").pass(long),
		},
		"it comes back":                         {moving().pod("new").pod("new", on("from")), returned},
		"it comes back when the plan has ended": {tale: moving().pod("new").plan(v1alpha1.Failed, "", "too late").pod("new", on("from"))},
		"one comes back that was not evicted":   {tale: newTale().plan(v1alpha1.Approved, "", "").gone("old").pod("new").pod("new", on("from"))},
		"a stranger takes the room":             {moving().pod("thief", stranger, large).pod("thief", stranger, large, on("to")), stolen},
		"a stranger takes what is left":         {tale: moving().pod("thief", stranger).pod("thief", stranger, on("to"))},
		"a stranger comes when the other has": {
			tale: moving().pod("new").pod("new", on("to")).pod("thief", stranger).pod("thief", stranger, on("to")),
		},
		"a stranger was on its way": {
			tale: newTale().pod("thief", stranger, large).plan(v1alpha1.Approved, "", "").pod("thief", stranger, large, on("to")),
		},
		"a stranger takes the room, and the plan ends": {
			tale: moving().plan(v1alpha1.Failed, "", "why").pod("thief", stranger, large).pod("thief", stranger, large, on("to")),
		},

		"nobody said that it is about to be evicted": {newTale().plan(v1alpha1.Approved, "", "").evict("old", 0), withoutPlan},
		"its room is not kept yet": {
			newTale().plan(v1alpha1.Executing, v1alpha1.StepEvicting, "").unkept().evict("old", 0), withoutPlan,
		},
		"its place has been closed for long": {
			newTale().close("to").pass(2*slack).plan(v1alpha1.Executing, v1alpha1.StepEvicting, "").evict("old", 0), nowhere,
		},
		"its place has just been closed": {
			tale: newTale().plan(v1alpha1.Executing, v1alpha1.StepEvicting, "").close("to").evict("old", 0),
		},
		"there is no plan": {newTale().evict("old", 0), withoutPlan},
		"its budget does not know": {
			newTale().budget("").plan(v1alpha1.Executing, v1alpha1.StepEvicting, "").evict("old", 0), budgetIgnored,
		},
		"its budget knows": {
			tale: newTale().plan(v1alpha1.Executing, v1alpha1.StepEvicting, "").budget("old").evict("old", 0),
		},
		"the plan does not end":                     {moving().pass(endSlack + 3*time.Minute), neverEnds},
		"the plan fails without a word":             {moving().pod("new", on("to"), ready).plan(v1alpha1.Failed, "", ""), wordless},
		"two pods of a workload, by one replica":    {tale: twoEvictions(time.Hour, 0, 0)},
		"two pods of a workload within a cool-down": {twoEvictions(0, 0, time.Minute), cooling},
		"a stranger takes the room of a plan by a clock that is behind": {
			newTale().clocked(-time.Hour).pod("thief", stranger, large).pod("thief", stranger, large, on("to")), stolen,
		},
		"a stranger comes when a plan has expired by a clock that is ahead": {
			tale: newTale().clocked(time.Hour).pass(planTTL).pod("thief", stranger, large).pod("thief", stranger, large, on("to")),
		},
		"a plan does not end by a clock that is ahead": {newTale().clocked(time.Hour).pass(planTTL + 2*endSlack + 2*wrong), neverEnds},
		"a plan lasts longer, as a clock that was behind told the time when it was to end": {
			tale: newTale().clocked(-wrong).pass(planTTL + 2*wrong),
		},

		"a pod is evicted in the mode DryRun": {moving().paused(-time.Minute, time.Minute), paused},
		"a pod is evicted before the mode is DryRun, and after": {
			tale: moving().paused(time.Second, time.Minute).paused(-time.Hour, -time.Minute),
		},
		"a node is marked by a plan that runs": {tale: moving().marked(v1alpha1.AnnotationEmptying, "p", false)},
		"a node is marked by a plan that has failed": {
			moving().pod("new", on("to"), ready).plan(v1alpha1.Failed, "", "why").marked(v1alpha1.AnnotationEmptying, "p", false), markLeft,
		},
		"a node is marked by a plan that was deleted": {moving().deleted("p").marked(v1alpha1.AnnotationEmptying, "p", false), markLeft},
		"an empty node has been emptied":              {tale: newTale().marked(v1alpha1.AnnotationEmptied, "p", false)},
		"an empty node is closed for a while":         {tale: newTale().marked(v1alpha1.AnnotationEmptied, "p", true)},
		"an empty node is closed for too long":        {newTale().marked(v1alpha1.AnnotationEmptied, "p", true).pass(time.Hour), markLeft},
		"a node has been emptied on which there is a pod": {
			newTale().marked(v1alpha1.AnnotationEmptied, "p", false).pod("new", on("spare"), ready), markLeft,
		},
		"a node is closed for nobody": {newTale().marked(v1alpha1.AnnotationCordoned, "true", true), markLeft},

		"two pods of a workload within a cool-down, and a plan is deleted": {
			twoEvictions(0, 0, time.Minute).deleted("p"), cooling,
		},
		"two pods of a workload within a cool-down, and both plans are deleted": {
			twoEvictions(0, 0, time.Minute).deleted("p").deleted("q"), cooling,
		},
		"two pods of a workload at a higher rate, and a plan is deleted": {
			twoEvictions(0, time.Minute, 0).deleted("p"), overBudget,
		},
		"a pod is evicted for a plan that was just deleted": {tale: toldToEvict().deleted("p").evict("old", 0)},
		"a pod is evicted for a plan that was deleted long ago": {
			toldToEvict().deleted("p").pass(2*frozen).evict("old", 0), withoutPlan,
		},
		"it waits, as the plan was deleted in the middle": {tale: moving().pod("new").deleted("p").pass(long)},
		"it waits, and the plan was deleted when it had ended": {
			moving().pod("new").plan(v1alpha1.Succeeded, "", "done").deleted("p").pass(long), waitsForLong,
		},
		"two pods of a plan, when a failed plan would have moved one of them": {tale: twoOfAPlan()},
		"two pods of a workload at a higher rate":                             {twoEvictions(0, time.Minute, 0), overBudget},
		"two pods at once by two replicas":                                    {bothAtOnce(), bothEvict},
		"another one is down for long":                                        {oneIsDown(1), overBudget},
		"another one is down for long, and two may be":                        {tale: oneIsDown(2)},
	} {
		t.Run(name, func(t *testing.T) { test.tale.expect(t, test.want) })
	}
}

// expect fails a test when what is found in a tale is not of these kinds.
func (t *tale) expect(test *testing.T, want string) {
	test.Helper()
	found, _ := t.judge()
	var kinds []string
	for _, f := range found {
		kinds = append(kinds, f.What)
	}
	if got := strings.Join(kinds, ", "); got != want {
		test.Errorf("%q, want %q: %v", got, want, found)
	}
}

func (t *tale) close(node string) *tale {
	closed := workload.NewNode(node, workload.Milli(1000*coresOfANode), workload.Room(64, 20))
	closed.Spec.Unschedulable = true
	return t.tell(entry{node: closed})
}

func (t *tale) open(node string) *tale {
	return t.tell(entry{node: workload.NewNode(node, workload.Milli(1000*coresOfANode), workload.Room(64, 20))})
}

// budget tells of one, that lets a pod go unless that is "".
func (t *tale) budget(letsGo string) *tale {
	budget := (&replicas{name: "web"}).budget(1)
	if letsGo != "" {
		budget.Status.DisruptedPods = map[string]metav1.Time{letsGo: {}}
	}
	return t.tell(entry{budget: budget})
}

// twoEvictions are by two plans, one soon after the other.
func twoEvictions(passes, per, coolDown time.Duration) *tale {
	t := moving().pod("new", on("to"), ready).gone("old").plan(v1alpha1.Succeeded, v1alpha1.StepMoved, "done").pod("second", on("from"), ready)
	t.pass(min(passes, time.Minute)).planCalled("q", "second", v1alpha1.Executing, v1alpha1.StepEvicting, "").evict("second", 0)
	t.budgets = budgets{rate: rate{evictions: 1, per: per}, workloadCoolDown: coolDown}
	return t
}

// twoOfAPlan are evicted by p, after q has failed.
func twoOfAPlan() *tale {
	t := newTale().pod("second", on("from"), ready).plan(v1alpha1.Executing, v1alpha1.StepEvicting, "")
	t.planCalled("q", "second", v1alpha1.Failed, "", "why")
	both := t.entries[len(t.entries)-2].plan
	both.Spec.Steps = append(both.Spec.Steps, both.Spec.Steps[0])
	both.Spec.Steps[1].Pod = v1alpha1.PodReference{Name: "second", UID: "uid-second"}
	both.Status.Steps = append(both.Status.Steps, both.Status.Steps[0])
	t.budgets = budgets{workloadCoolDown: time.Minute}
	return t.evict("second", 0).evict("old", 0)
}

func bothAtOnce() *tale {
	t := newTale().pod("second", on("from"), ready).
		planCalled("q", "second", v1alpha1.Executing, v1alpha1.StepEvicting, "").
		plan(v1alpha1.Executing, v1alpha1.StepEvicting, "")
	t.evict("second", 1).evict("old", 0)
	t.evictions[1].asked = t.evictions[0].asked
	return t
}

func oneIsDown(most int) *tale {
	t := newTale().pod("sick", on("to")).pass(time.Minute/2).plan(v1alpha1.Executing, v1alpha1.StepEvicting, "").evict("old", 0)
	t.budgets = budgets{webDown: most}
	return t
}

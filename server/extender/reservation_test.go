package extender

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	clocktesting "k8s.io/utils/clock/testing"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/rescheduling/v1alpha1"
	schedulingv1alpha1 "muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/server/servertest"
)

// move is a bench with a plan: the pod small moves from n1 to n2, so that big has room on n1.
type move struct {
	*bench
	clock *clocktesting.FakeClock
	plan  *v1alpha1.ReschedulingPlan
	big   *corev1.Pod
}

func newMove(t testing.TB, o benchOptions) *move {
	t.Helper()
	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	m := &move{clock: clocktesting.NewFakeClock(now), big: servertest.Pod("big", "4")}
	o.plans = m.clock
	m.bench = newBench(t, o)
	m.Node("n1", "4")
	m.Node("n2", "2")
	running := servertest.Small("small-1")
	running.Spec.NodeName = "n1"
	if err := m.Cluster.Set(running); err != nil {
		t.Fatal(err)
	}
	if err := m.Cluster.Set(m.big); err != nil {
		t.Fatal(err)
	}
	m.plan = servertest.Move(running, m.big, now.Add(time.Minute))
	return m
}

// is has the plan be in a phase, and its step in one.
func (m *move) is(phase v1alpha1.Phase, step v1alpha1.StepPhase) {
	next := m.plan.DeepCopy()
	if next.Status.Phase = phase; len(next.Status.Steps) == 0 {
		next.Status.Steps = []v1alpha1.StepStatus{{}}
	}
	next.Status.Steps[0].Phase = step
	m.plan = next
	m.reservations.Set(next)
}

// evictedAt is evicted, as its plan says at that time.
func (m *move) evictedAt(at time.Time) {
	m.Helper()
	if len(m.plan.Status.Steps) == 0 {
		m.plan.Status.Steps = []v1alpha1.StepStatus{{}}
	}
	m.plan.Status.Steps[0].Evicted = new(metav1.NewTime(at))
	m.evicted()
}

func (m *move) evicted() {
	m.Helper()
	m.is(v1alpha1.Executing, v1alpha1.StepEvicted)
	if err := m.Cluster.Delete(servertest.Small("small-1")); err != nil {
		m.Fatal(err)
	}
}

// offers are the nodes that filter lets a pod have.
func (m *move) offers(pod *corev1.Pod) []string {
	m.Helper()
	answer := m.Filter(pod, "n1", "n2")
	return slices.Clone(*answer.NodeNames)
}

func (m *move) want(pod *corev1.Pod, nodes ...string) {
	m.Helper()
	if diff := cmp.Diff(append([]string{}, nodes...), append([]string{}, m.offers(pod)...)); diff != "" {
		m.Errorf("nodes for %s (-want +got):\n%s", pod.Name, diff)
	}
}

func TestNobodyElseGetsTheRoomOfAPlan(t *testing.T) {
	for _, selection := range []config.NodeSelection{config.NodeSelectionScheduler, config.NodeSelectionMuster} {
		t.Run(string(selection), func(t *testing.T) {
			m := newMove(t, benchOptions{selection: selection})
			thief := servertest.Pod("thief", "1")
			m.is(v1alpha1.Approved, v1alpha1.StepWaiting)
			m.want(thief)
			m.evicted()
			m.want(thief)
			m.want(servertest.Small("small-2"), "n2")
			m.want(m.big, "n1")
			m.want(thief)
		})
	}
}

func TestAReplacementDoesNotReturnToWhereItsKindLeaves(t *testing.T) {
	m := newMove(t, benchOptions{})
	m.plan.Spec.Beneficiaries = nil // n1 has room
	m.Node("n2", "1")               // and n2 has none any more
	m.evicted()
	answer := m.Filter(servertest.Small("small-2"), "n1", "n2")
	if diff := cmp.Diff(
		extenderv1.FailedNodesMap{"n1": "node(s) are left by such pods, by a plan to move them", "n2": "Insufficient cpu"},
		answer.FailedAndUnresolvableNodes,
	); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	m.want(servertest.Pod("other", "2"), "n1")
}

func TestThatAPlanKeepsPodsOffNodesNoMoreCountsAsFreedRoom(t *testing.T) {
	m := newMove(t, benchOptions{})
	m.plan.Spec.Beneficiaries = nil
	m.is(v1alpha1.Executing, v1alpha1.StepMoved) // no room is kept any more
	before := m.Cluster.Snapshot()
	m.is(v1alpha1.Succeeded, v1alpha1.StepMoved)
	if after := m.Cluster.Snapshot(); after.Freed <= before.Generation {
		t.Errorf("room was freed at %d, and not after %d", after.Freed, before.Generation)
	}
}

func TestAMemberOfAGangDoesNotReturnToWhereItsGangLeaves(t *testing.T) {
	m := newMove(t, benchOptions{gangs: true})
	m.plan.Spec.Beneficiaries = nil // n1 has room
	m.Node("n2", "1")               // and n2 has none any more
	member := func(name, gang string) *corev1.Pod {
		pod := servertest.Small(name)
		pod.Labels[schedulingv1alpha1.LabelMuster] = gang
		pod.Annotations = map[string]string{schedulingv1alpha1.AnnotationMinMember: "1"}
		return pod
	}
	left := member("small-1", "gang")
	m.plan.Spec.Steps[0].Replacement.Labels, m.plan.Spec.Steps[0].Replacement.Annotations = left.Labels, left.Annotations
	m.evicted()
	came, stranger := member("small-2", "gang"), member("stranger", "strangers")
	stranger.OwnerReferences[0].UID = "others"
	for _, pod := range []*corev1.Pod{came, stranger} {
		if err := m.Cluster.Set(pod); err != nil {
			t.Fatal(err)
		}
	}
	m.want(came)
	m.want(stranger, "n1")
}

func TestAPlaceIsNotOpenBeforeItsPodGoes(t *testing.T) {
	m := newMove(t, benchOptions{})
	m.is(v1alpha1.Executing, v1alpha1.StepWaiting)
	m.want(servertest.Small("one-more"))
	m.is(v1alpha1.Executing, v1alpha1.StepEvicting)
	m.want(servertest.Small("one-more"), "n2")
}

func TestAPodThatIsAskedAboutAgainHasItsPlaceStill(t *testing.T) {
	m := newMove(t, benchOptions{})
	m.evicted()
	for range 2 {
		m.want(servertest.Small("small-2"), "n2")
		m.want(servertest.Pod("thief", "1"))
	}
}

func TestRoomThatIsTakenIsNobodyElses(t *testing.T) {
	m := newMove(t, benchOptions{})
	m.Node("n2", "4")
	m.Node("n3", "2")
	m.evicted()
	m.want(servertest.Small("small-2"), "n2")
	// One more is not sent to where there is room beside it.
	if diff := cmp.Diff([]string{"n2", "n3"}, *m.Filter(servertest.Small("small-3"), "n1", "n2", "n3").NodeNames); diff != "" {
		t.Errorf("nodes for small-3 (-want +got):\n%s", diff)
	}
}

func TestWhatAPlanKeepsForLaterStepsIsNotInTheWay(t *testing.T) {
	m := newMove(t, benchOptions{})
	m.Node("n2", "4")
	leaves := servertest.Pod("leaves", "2") // so that the later step has room
	leaves.Spec.NodeName = "n2"
	if err := m.Cluster.Set(leaves); err != nil {
		t.Fatal(err)
	}
	later := m.plan.Spec.Steps[0].DeepCopy()
	later.Pod.Name, later.Pod.UID, later.Controller.UID = "later", "uid-later", "another"
	m.plan.Spec.Steps = append(m.plan.Spec.Steps, *later)
	m.evicted()
	m.want(servertest.Pod("thief", "1"))
	m.want(servertest.Small("small-2"), "n2")
}

func TestRoomIsKeptAgainWhenItsTakerIsGone(t *testing.T) {
	m := newMove(t, benchOptions{})
	m.evicted()
	m.want(servertest.Small("small-2"), "n2")
	m.Cluster.Release("uid-small-2")
	m.want(servertest.Pod("thief", "1"))
	m.want(servertest.Small("small-3"), "n2")
}

// differing is a pod of the controller of small that requests so much.
func differing(name, cpu string) *corev1.Pod {
	pod := servertest.Small(name)
	pod.Spec.Containers[0].Resources.Requests[corev1.ResourceCPU] = resource.MustParse(cpu)
	return pod
}

func TestAReplacementThatDiffersHasTheRoomIfItFits(t *testing.T) {
	m := newMove(t, benchOptions{})
	m.evicted()
	other := differing("other", "1")
	other.OwnerReferences[0].UID = "another"
	m.want(m.Pending(other))
	came := m.Pending(differing("small-2", "1"))
	m.want(came, "n2")
	m.want(m.Pending(servertest.Small("small-3")))
	m.want(came, "n2")
}

func TestAReplacementThatDiffersTooMuchMayGoAnywhere(t *testing.T) {
	for name, gangs := range map[string]bool{"a pod": false, "a member of a gang": true} {
		t.Run(name, func(t *testing.T) {
			m := newMove(t, benchOptions{gangs: gangs})
			came, others := differing("small-2", "3"), []string{"n1", "n2"}
			if gangs {
				others = others[1:] // as it counts on its node
				m.evictedMember(0)
				came = m.member(came)
			} else {
				m.evicted()
			}
			m.want(m.Pending(servertest.Pod("thief", "1")))
			m.want(m.Pending(came), "n1") // from where the pod has left, and where room was kept for big
			m.want(m.Pending(servertest.Pod("other", "2")), others...)
		})
	}
}

func TestTheRoomIsNotGivenUp(t *testing.T) {
	for name, asks := range map[string]func(*move){
		"for a stranger": func(m *move) { m.postFilter(differing("small-2", "3"), "n1", "n2") },
		"for a pod that waited before the eviction": func(m *move) {
			m.plan.Status.Steps[0].Siblings = []types.UID{"uid-small-0"}
			m.evicted()
			m.want(m.Pending(differing("small-0", "3")))
		},
		"for a pod that fits once the one that it replaces is gone": func(m *move) {
			apart := &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
				RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
					TopologyKey: "zone", LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "small"}},
				}},
			}}
			for _, node := range []string{"n1", "n2"} {
				zoned := m.Cluster.Snapshot().NodeByName(node).DeepCopy()
				zoned.Labels = map[string]string{"zone": "z"}
				if err := m.Cluster.Set(zoned); err != nil {
					m.Fatal(err)
				}
			}
			going := servertest.Small("small-1")
			going.Spec.NodeName = "n1"
			if err := m.Cluster.Set(going); err != nil {
				m.Fatal(err)
			}
			came := servertest.Small("small-2")
			came.Spec.Affinity = apart
			m.want(m.Pending(came))
			if err := m.Cluster.Delete(going); err != nil {
				m.Fatal(err)
			}
			m.want(came, "n2")
			if err := m.Cluster.Delete(came); err != nil {
				m.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMove(t, benchOptions{})
			m.evicted()
			asks(m)
			m.want(m.Pending(servertest.Pod("other", "2")))
			m.want(m.Pending(servertest.Small("small-3")), "n2")
		})
	}
}

func TestRoomIsFreeWhenThePlanIsOver(t *testing.T) {
	for name, end := range map[string]func(*move){
		"it has failed":        func(m *move) { m.is(v1alpha1.Failed, v1alpha1.StepEvicted) },
		"it is gone":           func(m *move) { m.reservations.Delete("p") },
		"its kind is gone":     func(m *move) { m.reservations.Handler().Drop() },
		"it waits for a nod":   func(m *move) { m.is(v1alpha1.Pending, v1alpha1.StepWaiting) },
		"nobody said it ended": func(m *move) { m.clock.Step(time.Minute); m.reservations.Refresh() },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMove(t, benchOptions{})
			m.evicted()
			m.want(servertest.Pod("other", "2"))
			end(m)
			m.want(servertest.Pod("other", "2"), "n1", "n2")
		})
	}
}

// late is how far the clock of the rescheduler may be ahead of the API server's, and behind it.
var late = map[string]time.Duration{"in time": 0, "ahead": 5 * time.Second, "behind": -5 * time.Second}

func TestRoomThatWasTakenBeforeARestartIsNotKeptOnceMore(t *testing.T) {
	for name, ahead := range late {
		t.Run("the clock of the rescheduler is "+name, func(t *testing.T) {
			m := newMove(t, benchOptions{})
			m.Node("n2", "4")
			came := servertest.Small("small-2")
			came.Spec.NodeName, came.CreationTimestamp = "n2", metav1.NewTime(m.clock.Now())
			if err := m.Cluster.Set(came); err != nil {
				t.Fatal(err)
			}
			m.evictedAt(m.clock.Now().Add(ahead))
			m.want(servertest.Pod("other", "2"), "n2")
		})
	}
}

func TestRoomIsKeptBesideThePodsThatWereThereBeforeTheEviction(t *testing.T) {
	for name, knows := range map[string]func(m *move, sibling *corev1.Pod){
		"because the plan says so": func(m *move, sibling *corev1.Pod) {
			m.plan.Status.Steps[0].Siblings = []types.UID{sibling.UID}
		},
		"which muster saw there": func(m *move, _ *corev1.Pod) { m.is(v1alpha1.Approved, v1alpha1.StepWaiting) },
	} {
		t.Run(name, func(t *testing.T) {
			m := newMove(t, benchOptions{})
			m.Node("n2", "4")
			m.plan.Status.Steps = []v1alpha1.StepStatus{{}}
			sibling := servertest.Small("sibling")
			sibling.Spec.NodeName, sibling.CreationTimestamp = "n2", metav1.NewTime(m.clock.Now().Add(time.Second))
			if err := m.Cluster.Set(sibling); err != nil {
				t.Fatal(err)
			}
			knows(m, sibling)
			m.evictedAt(m.clock.Now())
			m.want(servertest.Pod("other", "2"))
			m.want(servertest.Small("small-2"), "n2")
		})
	}
}

func TestTheRoomOfAPodOfAStatefulSetIsForTheOneOfItsName(t *testing.T) {
	m := newMove(t, benchOptions{})
	m.plan.Spec.Steps[0].Controller.Kind = "StatefulSet"
	m.evicted()
	another, same := servertest.Small("small-7"), servertest.Small("small-1")
	same.UID = "uid-anew"
	m.want(another)
	m.want(same, "n2")
}

func TestWhoHasRoomComingEvictsNobody(t *testing.T) {
	m := newMove(t, benchOptions{})
	m.is(v1alpha1.Executing, v1alpha1.StepWaiting)
	m.big.Spec.Priority = new(int32(10))
	victims := map[string]*extenderv1.MetaVictims{"n1": {Pods: []*extenderv1.MetaPod{{UID: "uid-small-1"}}}}
	args := extenderv1.ExtenderPreemptionArgs{Pod: m.big, NodeNameToMetaVictims: victims}
	if got := m.preempt(args); len(got) > 0 {
		t.Errorf("the answer is %v", got)
	}
	m.reservations.Delete("p")
	if got := m.preempt(args); len(got) != 1 {
		t.Errorf("without a plan the answer is %v", got)
	}
}

// hasCome has the replacement of small be bound in the room that is kept for it.
func (m *move) hasCome() *corev1.Pod {
	m.Helper()
	m.evicted()
	came := servertest.Small("small-2")
	m.want(m.Pending(came), "n2")
	bound := came.DeepCopy()
	bound.Spec.NodeName = "n2"
	if err := m.Cluster.Set(bound); err != nil {
		m.Fatal(err)
	}
	return bound
}

// postponedPods are told of the last pod that may evict others later, and on which node.
type postponedPods struct {
	refusedPods
	node       string
	generation uint64
	after      time.Duration
}

func (p *postponedPods) Postponed(_ types.UID, node string, generation uint64, after time.Duration) {
	p.node, p.generation, p.after = node, generation, after
}

func TestNobodyEvictsAReplacementWhosePlanWaitsForIt(t *testing.T) {
	for _, tc := range []struct {
		name     string
		priority int32
		// moved says that the plan knows the replacement to be ready.
		moved, ended bool
		// elsewhere says that it may evict another pod as well.
		elsewhere bool
		want      int
	}{
		{name: "a pod of higher priority", priority: 10},
		{name: "a pod that no plan keeps out", priority: 2_000_000_000, want: 1},
		{name: "there is another pod to evict", priority: 10, elsewhere: true, want: 1},
		{name: "its step is done", priority: 10, moved: true, want: 1},
		{name: "the plan is over", priority: 10, ended: true, want: 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			told := &postponedPods{refusedPods: refusedPods{}}
			m := newMove(t, benchOptions{refusals: told})
			came := m.hasCome()
			switch {
			case tc.moved:
				m.is(v1alpha1.Executing, v1alpha1.StepMoved)
			case tc.ended:
				m.is(v1alpha1.Failed, v1alpha1.StepEvicted)
			}
			rival := servertest.Pod("rival", "2")
			rival.Spec.Priority = &tc.priority
			m.Pending(rival)
			proposed := map[string]*extenderv1.MetaVictims{"n2": {Pods: []*extenderv1.MetaPod{{UID: string(came.UID)}}}}
			if tc.elsewhere {
				m.Node("n3", "2")
				other := servertest.Pod("other", "2")
				other.Spec.NodeName = "n3"
				if err := m.Cluster.Set(other); err != nil {
					t.Fatal(err)
				}
				proposed["n3"] = &extenderv1.MetaVictims{Pods: []*extenderv1.MetaPod{{UID: string(other.UID)}}}
			}
			if got := m.preempt(extenderv1.ExtenderPreemptionArgs{Pod: rival, NodeNameToMetaVictims: proposed}); len(got) != tc.want {
				t.Errorf("the answer is %v, want %d nodes", got, tc.want)
			}
			if told.node == "n2" != (tc.want == 0) {
				t.Errorf("it was told that the pod may evict others later on %q", told.node)
			}
			if before := m.Cluster.Snapshot().Freed; tc.want == 0 {
				m.is(v1alpha1.Executing, v1alpha1.StepMoved)
				if after := m.Cluster.Snapshot().Freed; after <= max(before, told.generation) {
					t.Errorf("it is not told that the pod may be evicted: %d, then %d", before, after)
				}
			}
		})
	}
}

func TestNoGangEvictsAReplacementWhosePlanWaitsForIt(t *testing.T) {
	for _, ended := range []bool{false, true} {
		t.Run(fmt.Sprintf("ended=%t", ended), func(t *testing.T) {
			m := newMove(t, benchOptions{gangs: true})
			came := m.hasCome()
			if ended {
				m.is(v1alpha1.Failed, v1alpha1.StepEvicted)
			}
			rival := m.member(servertest.Small("rival"))
			rival.OwnerReferences[0].Name, rival.OwnerReferences[0].UID = "others", "others"
			rival.Labels[schedulingv1alpha1.LabelMuster] = "others"
			m.Node("n1", "1") // it fits n2 alone
			rival.Spec.Priority = new(int32(10))
			m.Pending(rival)
			m.want(rival)
			proposed := map[string]*extenderv1.MetaVictims{"n2": {Pods: []*extenderv1.MetaPod{{UID: string(came.UID)}}}}
			got := m.preempt(extenderv1.ExtenderPreemptionArgs{Pod: rival, NodeNameToMetaVictims: proposed})
			if evicts := len(got) > 0; evicts != ended {
				t.Errorf("the answer is %v", got)
			}
		})
	}
}

// member makes a pod the one member of a gang that has the name of its controller.
func (m *move) member(pod *corev1.Pod) *corev1.Pod {
	pod.Labels[schedulingv1alpha1.LabelMuster] = pod.OwnerReferences[0].Name
	pod.Annotations = map[string]string{schedulingv1alpha1.AnnotationMinMember: "1"}
	pod.CreationTimestamp = metav1.NewTime(m.clock.Now())
	return pod
}

// evictedMember has small be such a member, and has it evicted, by a clock that is so far ahead.
func (m *move) evictedMember(ahead time.Duration) {
	m.Helper()
	left := m.member(servertest.Small("small-1"))
	m.plan.Spec.Steps[0].Replacement.Labels, m.plan.Spec.Steps[0].Replacement.Annotations = left.Labels, left.Annotations
	m.evictedAt(m.clock.Now().Add(ahead))
}

func TestAMemberWhosePlaceIsLostDoesNotReturnEither(t *testing.T) {
	m := newMove(t, benchOptions{gangs: true})
	m.plan.Spec.Beneficiaries = nil // n1 has room
	m.evictedMember(0)
	came := m.Pending(m.member(servertest.Small("small-2")))
	m.want(came, "n2")
	m.Node("n2", "1")
	m.want(came)
}

func TestAGangHasTheRoomThatIsKeptForIt(t *testing.T) {
	for name, ahead := range late {
		t.Run("the clock of the rescheduler is "+name, func(t *testing.T) {
			m := newMove(t, benchOptions{gangs: true})
			m.evictedMember(ahead)
			stranger := servertest.Small("stranger")
			stranger.OwnerReferences[0].Name, stranger.OwnerReferences[0].UID = "others", "others"
			came := m.Pending(m.member(servertest.Small("small-2")))
			m.want(m.Pending(m.member(stranger)))
			m.want(came, "n2")
			if on := m.Cluster.Snapshot().NodeByName("n2").Pods; len(on) != 1 || on[0].UID != came.UID {
				t.Errorf("%d pods count on n2, want the one that took the room", len(on))
			}
		})
	}
}

func TestAGangHasItsRoomBeforeItIsWrittenDownThatItsPodWasEvicted(t *testing.T) {
	m := newMove(t, benchOptions{gangs: true})
	left := m.member(servertest.Small("small-1"))
	m.plan.Spec.Steps[0].Replacement.Labels, m.plan.Spec.Steps[0].Replacement.Annotations = left.Labels, left.Annotations
	m.is(v1alpha1.Executing, v1alpha1.StepEvicting)
	if err := m.Cluster.Delete(servertest.Small("small-1")); err != nil {
		t.Fatal(err)
	}
	came := m.Pending(m.member(servertest.Small("small-2")))
	m.want(came, "n2")
	if on := m.Cluster.Snapshot().NodeByName("n2").Pods; len(on) != 1 || on[0].UID != came.UID {
		t.Errorf("%d pods count on n2, want the one that took the room", len(on))
	}
}

func TestAPodIsNotBoundToRoomThatAPlanCameToKeepSinceFilter(t *testing.T) {
	m := newMove(t, benchOptions{client: bindings(accept)})
	late, early := m.Pending(servertest.Pod("late", "1")), m.Pending(servertest.Pod("early", "1"))
	m.want(late, "n1", "n2")
	m.want(early, "n1", "n2")
	if message := m.bind(early, "n2"); message != "" {
		t.Errorf("without a plan bind answered %q", message)
	}
	m.is(v1alpha1.Approved, v1alpha1.StepWaiting)
	if got, want := m.bind(late, "n2"), "the room on node n2 is kept for a pod that a ReschedulingPlan moves"; got != want {
		t.Errorf("bind answered %q, want %q", got, want)
	}
	m.Node("n2", "4")
	if message := m.bind(late, "n2"); message != "" {
		t.Errorf("with room besides bind answered %q", message)
	}
}

func TestAPodThatFitsNotEvenWithoutAPlanIsToldSo(t *testing.T) {
	m := newMove(t, benchOptions{client: bindings(accept)})
	m.is(v1alpha1.Approved, v1alpha1.StepWaiting)
	if got, want := m.bind(
		m.Pending(servertest.Pod("huge", "8")),
		"n2",
	), "the pod does not fit on node n2 any more: Insufficient cpu"; got != want {
		t.Errorf("bind answered %q, want %q", got, want)
	}
}

// ofDaemonSet makes a pod one that a DaemonSet has for a node.
func ofDaemonSet(pod *corev1.Pod, node string) *corev1.Pod {
	pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "DaemonSet", Name: "ds", UID: "ds", Controller: new(true)}}
	pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
		RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchFields: []corev1.NodeSelectorRequirement{{
				Key: metav1.ObjectNameField, Operator: corev1.NodeSelectorOpIn, Values: []string{node},
			}}}},
		},
	}}
	return pod
}

func withPriority(pod *corev1.Pod, priority int32) *corev1.Pod {
	pod.Spec.Priority = &priority
	return pod
}

func TestNoPlanKeepsOutWhatTheSystemNeeds(t *testing.T) {
	const systemClusterCritical = 2_000_000_000
	for name, test := range map[string]struct {
		pod     *corev1.Pod
		cpu     string // of n2
		passes  bool
		gaveWay bool
	}{
		"a pod of a DaemonSet":                  {ofDaemonSet(servertest.Pod("ds", "1"), "n2"), "2", true, true},
		"one that has room besides":             {ofDaemonSet(servertest.Pod("ds", "1"), "n2"), "3", true, false},
		"one that would not fit anyway":         {ofDaemonSet(servertest.Pod("ds", "3"), "n2"), "2", false, false},
		"a pod that is critical to the system":  {withPriority(servertest.Pod("dns", "2"), systemClusterCritical), "2", true, true},
		"one of the highest priority of others": {withPriority(servertest.Pod("p", "2"), systemClusterCritical/2), "2", false, false},
		"a pod pinned by somebody else": {
			func() *corev1.Pod {
				p := ofDaemonSet(servertest.Pod("p", "1"), "n2")
				p.OwnerReferences = nil
				return p
			}(), "2", false, false,
		},
	} {
		for _, selection := range []config.NodeSelection{config.NodeSelectionScheduler, config.NodeSelectionMuster} {
			t.Run(name+", "+string(selection), func(t *testing.T) {
				m := newMove(t, benchOptions{selection: selection})
				m.Node("n2", test.cpu)
				m.is(v1alpha1.Approved, v1alpha1.StepWaiting)
				var want []string
				if test.passes {
					want = []string{"n2"}
				}
				pod := test.pod.DeepCopy()
				if test.gaveWay && pod.Name == "dns" {
					m.Node("n1", "2") // else it fits there
				}
				m.want(pod, want...)
				if kept := len(m.reservations.Report()) > 0; kept == test.gaveWay {
					t.Errorf("the room of the plan is kept: %t", kept)
				}
			})
		}
	}
}

func TestAPlanKeepsItsRoomWhereTheSystemHasOther(t *testing.T) {
	m := newMove(t, benchOptions{})
	m.Node("n3", "2")
	m.is(v1alpha1.Approved, v1alpha1.StepWaiting)
	answer := m.Filter(withPriority(servertest.Pod("dns", "2"), 2_000_000_000), "n1", "n2", "n3")
	if diff := cmp.Diff([]string{"n3"}, *answer.NodeNames); diff != "" {
		t.Errorf("nodes (-want +got):\n%s", diff)
	}
	if len(m.reservations.Report()) == 0 {
		t.Error("the room of the plan is not kept")
	}
}

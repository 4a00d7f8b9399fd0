package loop

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	schedulingv1alpha1 "muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/rescheduler/evictions"
	"muster.dev/muster/rescheduler/executor"
	"muster.dev/muster/rescheduler/planner"
	"muster.dev/muster/rescheduler/policy"
)

// member is a pod of a gang that needs minMember members.
func (w *world) member(name string, minMember int) *corev1.Pod {
	pod := w.pod(name, "4")
	pod.Labels = map[string]string{schedulingv1alpha1.LabelMuster: "gang"}
	pod.Annotations = map[string]string{schedulingv1alpha1.AnnotationMinMember: fmt.Sprint(minMember)}
	return pod
}

func TestNodesDoNotHelpAGangThatIsNotThere(t *testing.T) {
	for name, test := range map[string]struct {
		members int
		later   int  // came a second before they are looked at
		gated   bool // by muster, until there is a place for all of them
		want    []string
	}{
		"a member is missing":                  {members: 1},
		"all are there":                        {members: 2, want: []string{"m-0 NoOtherPlace", "m-1 NoOtherPlace"}},
		"all are there, behind gates":          {members: 2, gated: true, want: []string{"m-0 NoOtherPlace", "m-1 NoOtherPlace"}},
		"a member is missing, behind gates":    {members: 1, gated: true},
		"the last one came a while after that": {members: 1, later: 1, want: []string{"m-0 NoOtherPlace", "m-1 NoOtherPlace"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for i := range test.members {
				pod := w.member(fmt.Sprintf("m-%d", i), 2)
				if test.gated {
					pod.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: schedulingv1alpha1.SchedulingGate}}
					pod.Status.Conditions = []corev1.PodCondition{
						{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonSchedulingGated},
					}
				}
				w.set(pod)
			}
			w.clock.Step(time.Minute - time.Second)
			for i := range test.later {
				w.set(w.member(fmt.Sprintf("m-%d", test.members+i), 2))
			}
			w.clock.Step(time.Second)
			w.assess(t.Context())
			if diff := cmp.Diff(test.want, w.needs); diff != "" {
				t.Errorf("told of (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNoPlanIsMadeThatCouldNotBegin(t *testing.T) {
	const used = "there were 1 evictions in 1h0m0s"
	exhausted := func(w *world) { w.limits.Rate = executor.Rate{Evictions: 1, Per: time.Hour} }
	closed := func(w *world) {
		w.limits.Windows = []executor.Window{{From: 13 * time.Hour, To: 14 * time.Hour, Zone: time.UTC}}
	}
	unread := func(w *world) { w.record = evictions.New(evictions.Options{}) }
	for name, test := range map[string]struct {
		mode   v1alpha1.Mode
		change func(*world)
		want   string
	}{
		"it is not known what was evicted":          {v1alpha1.Auto, unread, "the record of evictions has not been read"},
		"the rate is used up":                       {v1alpha1.Auto, exhausted, used},
		"no window is open":                         {v1alpha1.Auto, closed, "it is not the time of a maintenance window"},
		"the rate is used up, and somebody says so": {v1alpha1.Approve, exhausted, "made a plan"},
		"no window is open, and somebody looks":     {v1alpha1.DryRun, closed, "made a plan"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.config.Mode, w.limits.WorkloadCoolDown, w.limits.NodeCoolDown = test.mode, 0, 0
			w.before(v1alpha1.Succeeded, 0)
			test.change(w)
			w.set(w.pod("big", "4"))
			w.clock.Step(time.Minute)
			w.want(v1alpha1.MakeRoom, test.want)
		})
	}
}

func TestAPlanIsNoLargerThanWhatIsLeftOfTheRates(t *testing.T) {
	for name, test := range map[string]struct {
		mode v1alpha1.Mode
		want int
	}{
		"one that begins at once":     {v1alpha1.Auto, 2},
		"one that waits for somebody": {v1alpha1.Approve, 3},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.config.Mode, w.limits.Rate = test.mode, executor.Rate{Evictions: 3, Per: time.Hour}
			w.limits.Selected = []executor.Selected{{Rate: executor.Rate{Evictions: 3, Per: time.Hour}, Selector: policy.Selector("!x")}}
			w.before(v1alpha1.Succeeded, 0)
			b := w.budgets(v1alpha1.MakeRoom, w.record.Evictions())
			if diff := cmp.Diff([]int{test.want, test.want}, []int{b.Total, b.Selected[0].Evictions("")}); diff != "" {
				t.Errorf("evictions in all, and by the selector (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAPlanIsBoundByTheBudgetsOfItsPolicy(t *testing.T) {
	w := newWorld(t)
	w.config.Mode, w.config.Budgets.PerWorkload = v1alpha1.Auto, intstr.FromString("25%")
	one := executor.Rate{Evictions: 1, Per: time.Hour}
	closed := executor.Window{From: 13 * time.Hour, To: 14 * time.Hour, Zone: time.UTC}
	w.limits.Selected = []executor.Selected{
		{Name: "a", Selector: labels.Everything(), Policies: []v1alpha1.Policy{v1alpha1.Coalesce}, Rate: one},
		{Name: "b", Selector: labels.Everything(), TopologyKey: corev1.LabelTopologyZone, Rate: one},
		{Name: "c", Selector: labels.Everything(), Policies: []v1alpha1.Policy{v1alpha1.MakeRoom}, MaxDown: new(intstr.FromString("0%"))},
		{Name: "d", Selector: labels.Everything(), Windows: []executor.Window{closed}},
	}
	past := []evictions.Eviction{{Budgets: []string{"/b;topology.kubernetes.io/zone=x", "/a"}, At: w.clock.Now()}}
	left := func(policy v1alpha1.Policy) (left []int) {
		for _, b := range w.budgets(policy, past).Selected {
			left = append(left, b.Evictions("x"), b.Evictions("y"))
		}
		return left
	}
	if diff := cmp.Diff([]int{0, 1, 0, 0, 0, 0}, left(v1alpha1.MakeRoom)); diff != "" {
		t.Errorf("MakeRoom may in each zone, by budget (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]int{1, 1, 0, 1, 0, 0}, left(v1alpha1.Coalesce)); diff != "" {
		t.Errorf("Coalesce may in each zone, by budget (-want +got):\n%s", diff)
	}
	if b := w.budgets(v1alpha1.MakeRoom, nil); b.PerWorkload != 0 || b.PerWorkloadPercent != 25 {
		t.Errorf("of a workload %d, and %d per cent", b.PerWorkload, b.PerWorkloadPercent)
	}
	w.config.Mode = v1alpha1.Approve // it is asked for when it is approved
	if got := w.budgets(v1alpha1.Coalesce, past).Selected[2].Evictions(""); got != planner.AnyNumber {
		t.Errorf("a closed window leaves %d to a plan that is not to begin at once", got)
	}
}

func TestOneLookMakesOnePlanThatBegins(t *testing.T) {
	for mode, want := range map[v1alpha1.Mode]int{v1alpha1.Auto: 1, v1alpha1.DryRun: 2} {
		t.Run(string(mode), func(t *testing.T) {
			w := newWorld(t)
			w.config.Mode, w.executor.Mode, w.config.Coalesce.Enabled = mode, mode, true
			w.policies = policy.All(w.config, policy.Measured{})
			other := w.pod("stays", "500m")
			other.Spec.NodeName = "n2"
			w.set(node("n2", "3"), node("n3", "2"), other, w.pod("big", "4"))
			w.clock.Step(time.Minute)
			w.look(t.Context())
			if len(w.created) != want {
				t.Errorf("%d plans, want %d: %+v", len(w.created), want, w.journal.runs)
			}
		})
	}
}

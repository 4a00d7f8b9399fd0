package executor

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/rescheduler/evictions"
)

func TestWhatIsLeftOfBudgetsIsShown(t *testing.T) {
	small, _ := labels.Parse("app=small")
	w := newWorld(t, v1alpha1.Auto)
	w.options.Limits.Rate = Rate{3, time.Hour}
	w.options.Limits.Selected = []Selected{
		{Name: "app=small", Namespace: "default", Selector: small, Rate: Rate{2, time.Minute}, MaxDown: new(intstr.FromInt32(0))},
		{Name: "app!=small", Selector: labels.Everything()},
	}
	w.restart()
	w.evictedBefore(evictions.Eviction{Pod: "before", Plan: "before", Budgets: []string{"default/app=small"}, At: w.clock.Now()})
	ill := w.small("small-1", "n1")
	ill.Status.Conditions = nil
	w.set(ill)
	want := func(all, selected string) {
		t.Helper()
		text := "# HELP muster_rescheduling_budget_left Pods that may still be evicted now (rate, selectedRate), " +
			"or go down besides the ones that are down (selectedDown), by budget." + `
# TYPE muster_rescheduling_budget_left gauge
muster_rescheduling_budget_left{budget="rate",domain="",namespace="",policies="",selector=""} ` + all + `
muster_rescheduling_budget_left{budget="selectedDown",domain="",namespace="default",policies="",selector="app=small"} -1
muster_rescheduling_budget_left{budget="selectedRate",domain="",namespace="default",policies="",selector="app=small"} ` + selected + "\n"
		if err := testutil.CollectAndCompare(NewBudgetLeft(w.executor), strings.NewReader(text)); err != nil {
			t.Error(err)
		}
	}
	want("2", "1")
	w.clock.Step(time.Minute)
	want("2", "2")
	w.clock.Step(time.Hour)
	want("3", "2")
}

func TestHowLongPodsWaitedIsCountedForThoseThatGotTheirPlaces(t *testing.T) {
	for name, test := range map[string]struct {
		node string
		want string // of samples, and their sum
	}{
		"it is where room was made for it": {"n1", "1 20"},
		"it is somewhere else":             {"n2", "0 0"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, v1alpha1.Auto)
			w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "")
			w.gone("small-1")
			w.set(w.small("small-2", "n2"))
			w.want(v1alpha1.Executing, v1alpha1.StepMoved, "")
			bound := w.pod("big", "4")
			bound.Spec.NodeName = test.node
			bound.Status.Conditions = []corev1.PodCondition{
				{
					Type:               corev1.PodScheduled,
					Status:             corev1.ConditionTrue,
					LastTransitionTime: metav1.NewTime(bound.CreationTimestamp.Add(20 * time.Second)),
				},
			}
			w.set(bound)
			w.clock.Step(time.Minute)
			w.want(v1alpha1.Succeeded, v1alpha1.StepMoved, "")
			count, sum, _ := strings.Cut(test.want, " ")
			const name = "muster_rescheduling_beneficiary_pending_seconds"
			text := name + `_sum{policy="MakeRoom"} ` + sum + "\n" + name + `_count{policy="MakeRoom"} ` + count + "\n"
			got, err := testutil.CollectAndFormat(w.options.Metrics.waited, expfmt.TypeTextPlain, name)
			if err != nil || !strings.HasSuffix(string(got), text) {
				t.Errorf("%v: %s, want %s", err, got, text)
			}
		})
	}
}

func TestAnEvictionCountsThoughItsPlanEndedBeforeItWasWrittenDown(t *testing.T) {
	for name, test := range map[string]struct {
		refusal error
		then    func(*world)
		want    v1alpha1.StepPhase
	}{
		"the answer was lost": {errors.New("lost"), func(*world) {}, v1alpha1.StepEvicted},
		"the answer was lost, and the pod is going": {
			errors.New("lost"), func(w *world) { w.gone("small-1"); w.restart() }, v1alpha1.StepEvicted,
		},
		"a budget has forbidden it": {apierrors.NewTooManyRequests("not now", 1), func(*world) {}, v1alpha1.StepEvicting},
		"a budget forbids it after a lost answer": {errors.New("lost"), func(w *world) {
			w.refusal = apierrors.NewTooManyRequests("not now", 1)
			w.clock.Step(settling)
			w.advance()
		}, v1alpha1.StepEvicting},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, v1alpha1.Auto)
			w.refusal = test.refusal
			w.want(v1alpha1.Executing, v1alpha1.StepEvicting, "")
			test.then(w)
			w.clock.Step(10 * time.Minute)
			w.want(v1alpha1.Expired, test.want, "its time was up")
			if counts := len(w.options.Record.Evictions()) == 1; counts != (test.want == v1alpha1.StepEvicted) {
				t.Errorf("the eviction counts: %t", counts)
			}
		})
	}
}

func TestOfRatesNothingIsShownWhileItIsNotKnownWhatWasEvicted(t *testing.T) {
	w := newWorld(t, v1alpha1.Auto)
	w.options.Limits.Rate = Rate{3, time.Hour}
	w.unwritten = errors.New("away")
	w.restart()
	if left := w.options.Limits.Left(w.cluster, w.options.Record, w.clock.Now()); len(left) > 0 {
		t.Errorf("left: %+v", left)
	}
}

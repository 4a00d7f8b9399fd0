package executor

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/labels"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/rescheduler/evictions"
)

func TestAPlanBeginsWhenTheRatesAllowAllOfIt(t *testing.T) {
	app, _ := labels.Parse("app=small")
	for name, limits := range map[string]Limits{
		"the rate": {Rate: Rate{2, time.Minute}},
		"the rate of a selector": {Selected: []Selected{
			{Name: "app=other", Selector: labels.SelectorFromSet(labels.Set{"app": "other"}), Rate: Rate{1, time.Minute}},
			{Name: "app=small", Selector: app, Rate: Rate{2, time.Minute}},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, v1alpha1.Auto)
			w.options.Limits = limits
			w.options.Limits.ReplacementTimeout = time.Minute
			w.restart()
			w.evictedBefore(evictions.Eviction{
				Pod: "before", Plan: "before", Controller: "rs", Node: "n1", Budgets: []string{"/app=small"}, At: w.clock.Now(),
			})
			w.moveAnother("")
			w.want(v1alpha1.Pending, v1alpha1.StepWaiting, "waits: it takes 2 evictions")
			w.clock.Step(time.Minute)
			w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "")
		})
	}
}

func TestAPlanBeginsWhenAllOfItsPodsMayBeEvicted(t *testing.T) {
	other, _ := labels.Parse("app=other")
	w := newWorld(t, v1alpha1.Auto)
	w.options.Limits.Selected = []Selected{
		{Name: "app=other", Selector: other, Windows: []Window{{From: 13 * time.Hour, To: 14 * time.Hour, Zone: time.UTC}}},
	}
	w.restart()
	w.moveAnother("")
	w.stored.Spec.Steps[1].Replacement.Labels = map[string]string{"app": "other"}
	w.reservations.Set(w.stored)
	w.want(v1alpha1.Pending, v1alpha1.StepWaiting, "waits for a maintenance window of pods with app=other")
}

func TestOnePlanKeepsItsRoomAtATime(t *testing.T) {
	w := newWorld(t, v1alpha1.Auto)
	second := w.stored.DeepCopy()
	second.Name, second.UID = "q", "second"
	w.reservations.Set(second)
	for range 3 {
		w.executor.Advance(t.Context())
	}
	phases := map[string]v1alpha1.Phase{}
	for _, plan := range w.reservations.Plans() {
		phases[plan.Name] = plan.Status.Phase
	}
	if diff := cmp.Diff(map[string]v1alpha1.Phase{"p": v1alpha1.Executing, "q": v1alpha1.Pending}, phases); diff != "" {
		t.Errorf("phases (-want +got):\n%s", diff)
	}
}

func TestAGangThatHasBegunToMoveGoesOnWhenTheWindowCloses(t *testing.T) {
	windows := []Window{{From: 11 * time.Hour, To: 12*time.Hour + time.Minute, Zone: time.UTC}}
	ofSmall := []Selected{{Name: "app=small", Selector: labels.SelectorFromSet(labels.Set{"app": "small"}), Windows: windows}}
	for name, test := range map[string]struct {
		gang   string
		limits Limits
		want   []string
	}{
		"two pods of no gang":       {"", Limits{Windows: windows}, []string{"small-1"}},
		"two members":               {"default/gang", Limits{Windows: windows}, []string{"small-1", "other-1"}},
		"no gang, a window of them": {"", Limits{Selected: ofSmall}, []string{"small-1"}},
		"members, a window of them": {"default/gang", Limits{Selected: ofSmall}, []string{"small-1", "other-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, v1alpha1.Auto)
			w.options.Limits = test.limits
			w.options.Limits.ReplacementTimeout = time.Minute
			w.restart()
			w.moveAnother(test.gang)
			w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "")
			w.gone("small-1")
			w.set(w.small("small-2", "n2"))
			w.clock.Step(time.Minute)
			for range 3 {
				w.executor.Advance(t.Context())
			}
			if !slices.Equal(w.evicted, test.want) {
				t.Errorf("evicted %v, want %v", w.evicted, test.want)
			}
		})
	}
}

package executor

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/rescheduler/evictions"
)

func TestNothingIsEvictedThatCannotBeWrittenDown(t *testing.T) {
	for name, restarts := range map[string]bool{"by the process that began": false, "by another one": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, v1alpha1.Auto)
			w.unwritten = errors.New("etcd is full")
			phase, step, why := v1alpha1.Executing, v1alpha1.StepEvicting, "waits: the eviction of default/small-1 cannot be written down"
			if restarts {
				w.restart()
				phase, step, why = v1alpha1.Pending, v1alpha1.StepWaiting, "waits: the record of evictions has not been read"
			}
			w.want(phase, step, why)
			if len(w.evicted) > 0 {
				t.Errorf("evicted %v", w.evicted)
			}
			w.unwritten = nil
			w.clock.Step(10 * time.Second)
			w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "")
		})
	}
}

func TestAnEvictionCountsThoughItsPlanIsDeleted(t *testing.T) {
	for name, test := range map[string]struct {
		refusal  error
		restarts bool
	}{
		"it was granted": {},
		"it was granted, and another process goes": {restarts: true},
		"its answer was lost":                      {refusal: errors.New("lost")},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, v1alpha1.Auto)
			w.options.Limits.Rate = Rate{1, time.Hour}
			w.options.Limits.NodeCoolDown = 30 * time.Minute
			w.restart()
			w.refusal = test.refusal
			w.advance()
			w.reservations.Delete(w.stored.Name)
			if test.restarts {
				w.restart()
			}
			past := w.options.Record.Evictions()
			if left := w.options.Limits.RateLeft(past, w.clock.Now()); left != 0 {
				t.Errorf("%d evictions are left", left)
			}
			cooling := w.options.Limits.Cooling(past)
			if now := w.clock.Now(); !cooling.Node("n1", now.Add(29*time.Minute)) || cooling.Node("n1", now.Add(30*time.Minute)) ||
				cooling.Node("n2", now) {
				t.Errorf("the node does not cool down for 30 minutes: %+v", past)
			}
		})
	}
}

func TestTheDomainsOfABudgetAreCountedAlone(t *testing.T) {
	const here, there = "here", "there"
	w := newWorld(t, v1alpha1.Auto)
	for name, zone := range map[string]string{"n1": here, "n2": there} {
		w.change(name, func(n *corev1.Node) { n.Labels = map[string]string{corev1.LabelTopologyZone: zone} })
	}
	small := labels.SelectorFromSet(labels.Set{"app": "small"})
	w.options.Limits.Selected = []Selected{{
		Name: "small", Selector: small, TopologyKey: corev1.LabelTopologyZone,
		Rate: Rate{1, time.Hour}, MaxDown: new(intstr.FromString("50%")),
	}}
	w.restart()
	w.evictedBefore(evictions.Eviction{
		Pod: "b", Plan: "b", Budgets: []string{"/small;topology.kubernetes.io/zone=there"}, At: w.clock.Now(),
	})
	sick := w.small("sick", "n2")
	sick.Status.Conditions, sick.Spec.Containers = nil, nil
	w.set(sick)
	w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "")
	selected := &w.options.Limits.Selected[0]
	for zone, want := range map[string]int{here: 0, there: 0, "elsewhere": 1} {
		if left := selected.RateLeft(zone, w.options.Record.Evictions(), w.clock.Now()); left != want {
			t.Errorf("%d evictions are left %s, want %d", left, zone, want)
		}
	}
	if total, down := selected.count(w.cluster, there); total != 1 || down != 1 {
		t.Errorf("%d of %d are down there", down, total)
	}
}

func TestAnEvictionCountsForTheBudgetsOfItsPods(t *testing.T) {
	w := newWorld(t, v1alpha1.Auto)
	of := func(namespace, selector string) Selected {
		parsed, err := labels.Parse(selector)
		if err != nil {
			t.Fatal(err)
		}
		return Selected{Name: selector, Namespace: namespace, Selector: parsed, Rate: Rate{1, time.Hour}}
	}
	w.options.Limits.Selected = []Selected{of("", "app=small"), of("default", "app=small"), of("other", "app=small"), of("", "app=big")}
	w.restart()
	w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "")
	var left []int
	for i := range w.options.Limits.Selected {
		left = append(left, w.options.Limits.Selected[i].RateLeft("", w.options.Record.Evictions(), w.clock.Now()))
	}
	if diff := cmp.Diff([]int{0, 0, 1, 1}, left); diff != "" {
		t.Errorf("what is left of each (-want +got):\n%s", diff)
	}
}

// The API server evicts a pod that does not run yet by the version that it has read.
func TestAnEvictionThatConflictsWithOtherWritesIsAskedForAgain(t *testing.T) {
	w := newWorld(t, v1alpha1.Auto)
	w.restart()
	w.refusal = apierrors.NewConflict(corev1.Resource("pods"), "small", errors.New("it has changed"))
	w.want(v1alpha1.Executing, v1alpha1.StepEvicting, "")
	w.refusal = nil
	w.clock.Step(firstPause)
	w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "")
}

func TestAnEvictionThatIsAskedForAgainIsNotHeldUpByItself(t *testing.T) {
	w := newWorld(t, v1alpha1.Auto)
	w.options.Limits.Rate, w.options.Limits.NodeCoolDown = Rate{1, time.Hour}, time.Hour
	w.restart()
	w.refusal = errors.New("lost")
	w.want(v1alpha1.Executing, v1alpha1.StepEvicting, "waits to see what becomes of the eviction")
	w.refusal = nil
	w.clock.Step(firstPause)
	w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "")
}

func TestAnEvictionThatABudgetForbidsDoesNotCountUnlessOneBeforeItMay(t *testing.T) {
	for name, test := range map[string]struct {
		before error
		want   int
	}{
		"it is the first one":               {nil, 0},
		"the answer of one before was lost": {errors.New("lost"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, v1alpha1.Auto)
			if w.refusal = test.before; w.refusal != nil {
				w.want(v1alpha1.Executing, v1alpha1.StepEvicting, "waits to see")
				w.clock.Step(firstPause)
			}
			w.refusal = apierrors.NewTooManyRequests("budget", 0)
			w.want(v1alpha1.Executing, v1alpha1.StepEvicting, "waits until a PodDisruptionBudget allows")
			w.restart()
			if got := len(w.options.Record.Evictions()); got != test.want {
				t.Errorf("%d evictions count, want %d", got, test.want)
			}
		})
	}
}

func TestAPlanIsNotHeldUpByItsOwnEvictions(t *testing.T) {
	w := newWorld(t, v1alpha1.Auto)
	w.options.Limits.WorkloadCoolDown, w.options.Limits.NodeCoolDown = time.Hour, time.Hour
	w.restart()
	w.moveAnother("")
	w.want(v1alpha1.Executing, v1alpha1.StepEvicted, "")
	w.gone("small-1")
	w.set(w.small("small-2", "n2"))
	w.advance()
	if !slices.Equal(w.evicted, []string{"small-1", "other-1"}) {
		t.Errorf("evicted %v: %s", w.evicted, w.stored.Status.Message)
	}
}

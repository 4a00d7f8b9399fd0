package executor

import (
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/rescheduler/evictions"
)

func TestAWindowIsByTheClocksOfItsZone(t *testing.T) {
	const evening, morning = 22 * time.Hour, 6 * time.Hour
	saturday := []time.Weekday{time.Saturday}
	for name, test := range map[string]struct {
		from, to time.Duration
		days     []time.Weekday
		zone     string
		at       map[string]bool
	}{
		"on one day": {9 * time.Hour, 17*time.Hour + 30*time.Minute, nil, "UTC", map[string]bool{
			"2030-01-05T08:59:59Z": false, "2030-01-05T09:00:00Z": true, "2030-01-05T17:29:59Z": true, "2030-01-05T17:30:00Z": false,
		}},
		"from Saturday to Sunday": {evening, morning, saturday, "UTC", map[string]bool{
			"2030-01-05T21:59:59Z": false, "2030-01-05T22:00:00Z": true, "2030-01-06T05:59:59Z": true,
			"2030-01-06T06:00:00Z": false, "2030-01-06T23:00:00Z": false, "2030-01-05T03:00:00Z": false,
		}},
		"for all of a day": {morning, morning, saturday, "UTC", map[string]bool{
			"2030-01-05T05:59:59Z": false, "2030-01-05T06:00:00Z": true, "2030-01-06T05:59:59Z": true, "2030-01-06T06:00:00Z": false,
		}},
		"in a night in which clocks go on by an hour": {evening, morning, saturday, "Europe/Berlin", map[string]bool{
			"2026-03-28T21:59:59+01:00": false, "2026-03-28T22:00:00+01:00": true,
			"2026-03-29T05:59:59+02:00": true, "2026-03-29T06:00:00+02:00": false,
		}},
		"in the night after it": {evening, morning, nil, "Europe/Berlin", map[string]bool{
			"2026-03-29T21:59:59+02:00": false, "2026-03-29T22:00:00+02:00": true,
			"2026-03-30T05:59:59+02:00": true, "2026-03-30T06:00:00+02:00": false,
		}},
		"in a night in which clocks go back by an hour": {evening, morning, saturday, "Europe/Berlin", map[string]bool{
			"2026-10-24T21:59:59+02:00": false, "2026-10-24T22:00:00+02:00": true,
			"2026-10-25T05:59:59+01:00": true, "2026-10-25T06:00:00+01:00": false,
		}},
		"in the night after that": {evening, morning, nil, "Europe/Berlin", map[string]bool{
			"2026-10-25T21:59:59+01:00": false, "2026-10-25T22:00:00+01:00": true,
			"2026-10-26T05:59:59+01:00": true, "2026-10-26T06:00:00+01:00": false,
		}},
		"on a day that begins at one o'clock": {2 * time.Hour, morning, []time.Weekday{time.Sunday}, "America/Asuncion", map[string]bool{
			"2023-10-01T01:59:59-03:00": false, "2023-10-01T02:00:00-03:00": true,
			"2023-10-01T05:59:59-03:00": true, "2023-10-01T06:00:00-03:00": false,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			zone, err := time.LoadLocation(test.zone)
			if err != nil {
				t.Fatal(err)
			}
			window := Window{From: test.from, To: test.to, Days: test.days, Zone: zone}
			for text, want := range test.at {
				at, err := time.Parse(time.RFC3339, text)
				if err != nil {
					t.Fatal(err)
				}
				if got := window.contains(at); got != want {
					t.Errorf("%s is in the window: %t", text, got)
				}
			}
		})
	}
}

func TestPodsThatDoNotRunAreDown(t *testing.T) {
	for name, test := range map[string]struct {
		set  func(*world, *corev1.Pod)
		want int
	}{
		"not one that is ready":         {func(w *world, p *corev1.Pod) { w.set(p) }, 0},
		"not one of others":             {func(w *world, p *corev1.Pod) { p.Labels, p.Status.Conditions = nil, nil; w.set(p) }, 0},
		"one that is not ready":         {func(w *world, p *corev1.Pod) { p.Status.Conditions = nil; w.set(p) }, 1},
		"one that is being deleted":     {func(w *world, p *corev1.Pod) { p.DeletionTimestamp = new(p.CreationTimestamp); w.set(p) }, 1},
		"one without a node":            {func(w *world, _ *corev1.Pod) { w.set(w.small("x", "")) }, 1},
		"one whose node is gone":        {func(w *world, p *corev1.Pod) { p.Spec.NodeName, p.Status.Conditions = "gone", nil; w.set(p) }, 1},
		"not one that room is kept for": {func(w *world, _ *corev1.Pod) { w.advance() }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, v1alpha1.Auto)
			w.refusal = errors.New("no answer")
			test.set(w, w.small("x", "n2"))
			selected := Selected{Namespace: "default", Selector: labels.SelectorFromSet(labels.Set{"app": "small"})}
			if _, got := selected.count(w.cluster, ""); got != test.want {
				t.Errorf("%d are down, want %d", got, test.want)
			}
		})
	}
}

func TestAControllerCoolsDownForLongerWhenItsReplacementsDiffer(t *testing.T) {
	w := newWorld(t, v1alpha1.Auto)
	l := &Limits{WorkloadCoolDown: time.Minute}
	var past []evictions.Eviction
	for n, want := range []time.Duration{
		time.Minute, 2 * time.Minute, 4 * time.Minute, 8 * time.Minute, 16 * time.Minute, 32 * time.Minute, 64 * time.Minute, 64 * time.Minute,
	} {
		past = append(past, evictions.Eviction{Controller: "rs", Node: "n1", At: w.clock.Now(), Differs: n > 0})
		pod := cluster.NewPod(w.small("small-9", "n1"))
		if why := l.Cooling(past).Why(pod, "n1", w.clock.Now().Add(want-time.Second)); why == "" {
			t.Errorf("after %d in vain it has cooled down before %s", n, want)
		}
		if why := l.Cooling(past).Why(pod, "n1", w.clock.Now().Add(want)); why != "" {
			t.Errorf("after %d in vain, in %s: %s", n, want, why)
		}
	}
	if got := l.Remembers(evictions.Eviction{}); got != time.Hour {
		t.Errorf("an eviction is remembered for %s", got)
	}
	if got := l.Remembers(evictions.Eviction{Differs: true}); got != 64*time.Minute {
		t.Errorf("one in vain is remembered for %s", got)
	}
}

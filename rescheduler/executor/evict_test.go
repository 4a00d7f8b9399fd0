package executor

import (
	"errors"
	"testing"
	"time"

	"muster.dev/muster/api/rescheduling/v1alpha1"
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
			if now := w.clock.Now(); !cooling.Node("n1", now.Add(29*time.Minute)) || cooling.Node("n1", now.Add(30*time.Minute)) || cooling.Node("n2", now) {
				t.Errorf("the node does not cool down for 30 minutes: %+v", past)
			}
		})
	}
}

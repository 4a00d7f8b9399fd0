package extender

import (
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestCallsThatFailAreCountedApart(t *testing.T) {
	for outcome, fails := range map[string]int{
		outcomeOK: 0, outcomeUnschedulable: 0, outcomeKept: 0, outcomeGone: 0, outcomeCanceled: 0,
		outcomeError: 1, outcomeBadRequest: 1, outcomeTooLarge: 1, outcomeBusy: 1, outcomeNotReady: 1, outcomePanic: 1,
	} {
		e := &Extender{calls: &calls{metrics: newMetrics(prometheus.NewRegistry())}}
		e.calls.metrics.observe("filter", outcome, 0)
		if calls, failed := e.Answered(); calls != 1 || failed != fails {
			t.Errorf("%s: %d calls and %d failed, want 1 and %d", outcome, calls, failed, fails)
		}
	}
}

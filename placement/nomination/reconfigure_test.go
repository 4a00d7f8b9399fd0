package nomination

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/predicates"
)

func TestProfilesCanChangeWhetherTheirPodsAreNominated(t *testing.T) {
	run(t, inOrder(), func(p *process) {
		metrics := predicates.NewStoreMetrics(prometheus.NewRegistry())
		change := func(to config.NodeSelection) {
			p.profiles.Replace(newStore(p, p.cluster, bounds{selection: to}, metrics, clock.RealClock{}))
			p.after(time.Second)
		}
		set(p, p.cluster, newNode("a", "8"), newPod("before", "1"), newPod("never", "100"))
		p.after(time.Second)
		change(config.NodeSelectionScheduler)
		set(p, p.cluster, newPod("between", "1"))
		p.after(time.Second)
		if diff := cmp.Diff([]string{"before → a"}, p.written()); diff != "" {
			t.Errorf("when pods are not nominated any more, writes (-want +got):\n%s", diff)
		}
		if got := p.Take("before"); got != "a" {
			t.Errorf("a pod that was nominated before is planned for %q, want a as before", got)
		}
		change(config.NodeSelectionMuster)
		set(p, p.cluster, newPod("after", "1"))
		p.after(time.Second)
		if diff := cmp.Diff([]string{"before → a", "between → a", "after → a"}, p.written()); diff != "" {
			t.Errorf("when pods are nominated again, writes (-want +got):\n%s", diff)
		}
	})
}

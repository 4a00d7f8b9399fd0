package gang

import (
	"iter"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/predicates"
)

// ports is the cluster as the core has it: what it may read, where members count, and searches on one snapshot. It is used
// under the lock of a Manager.
type ports struct {
	clock        clock.PassiveClock
	cluster      *cluster.Cluster
	profiles     *predicates.Profiles
	reservations Reservations // nil for none
	budget       *budget
	took         prometheus.Observer
	seed         uint64 // of the next plan
}

// Now implements [core.Ports], as all that follow here and in search.go.
func (p *ports) Now() time.Time { return p.clock.Now() }

func (p *ports) Release(uid types.UID) { p.cluster.Release(uid) }

func (p *ports) Renew(uid types.UID) (counts bool) { return p.cluster.Renew(uid) }

func (p *ports) Generation() uint64 { return p.cluster.Snapshot().Generation }

func (p *ports) PodGroup(key membership.Key) *v1alpha1.Observed {
	return membership.Object(p.cluster.Snapshot(), key)
}

func (p *ports) Node(name string) *cluster.Node { return p.cluster.Snapshot().NodeByName(name) }

func (p *ports) NodeCount() int { return p.cluster.Snapshot().NodeCount() }

func (p *ports) NodeNames() *cluster.NodeNames { return p.cluster.Snapshot().NodeNames }

func (p *ports) Pods() iter.Seq[*cluster.Pod] {
	return func(yield func(*cluster.Pod) bool) {
		for node := range p.cluster.Snapshot().Nodes() {
			for _, pod := range node.Pods {
				if !yield(pod) {
					return
				}
			}
		}
	}
}

func (p *ports) Assumed(uid types.UID) string { return p.cluster.Assumed(uid) }

func (p *ports) Binding(uid types.UID) string { return p.cluster.Binding(uid) }

func (p *ports) Came() uint64 { return p.cluster.Came() }

func (p *ports) Untried(schedulerName string, first uint64, since time.Time) bool {
	return p.cluster.Untried(schedulerName, first, since)
}

func (p *ports) Waits(first uint64) bool { return p.cluster.Waits(first) }

func (p *ports) Profile(schedulerName string) *predicates.VerdictStore {
	return p.profiles.Of(schedulerName)
}

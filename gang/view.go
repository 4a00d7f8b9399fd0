package gang

import (
	"iter"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/predicates"
)

// view shows the core the parts of the cluster that it may read.
type view struct {
	cluster  *cluster.Cluster
	profiles *predicates.Profiles
}

// Generation implements [core.View], as all that follow.
func (v *view) Generation() uint64 { return v.cluster.Snapshot().Generation }

func (v *view) PodGroup(key membership.Key) *v1alpha1.Observed {
	return membership.Object(v.cluster.Snapshot(), key)
}

func (v *view) Node(name string) *cluster.Node { return v.cluster.Snapshot().NodeByName(name) }

func (v *view) NodeCount() int { return v.cluster.Snapshot().NodeCount() }

func (v *view) NodeNames() *cluster.NodeNames { return v.cluster.Snapshot().NodeNames }

func (v *view) Pods() iter.Seq[*cluster.Pod] {
	return func(yield func(*cluster.Pod) bool) {
		for node := range v.cluster.Snapshot().Nodes() {
			for _, pod := range node.Pods {
				if !yield(pod) {
					return
				}
			}
		}
	}
}

func (v *view) Assumed(uid types.UID) string { return v.cluster.Assumed(uid) }

func (v *view) Binding(uid types.UID) string { return v.cluster.Binding(uid) }

func (v *view) Came() uint64 { return v.cluster.Came() }

func (v *view) Untried(schedulerName string, first uint64, since time.Time) bool {
	return v.cluster.Untried(schedulerName, first, since)
}

func (v *view) Waits(first uint64) bool { return v.cluster.Waits(first) }

func (v *view) Profile(schedulerName string) *predicates.VerdictStore {
	return v.profiles.Of(schedulerName)
}

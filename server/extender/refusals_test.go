package extender

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/config"
	"muster.dev/muster/server/servertest"
)

// refusedPods are the pods that filter has refused, and at which generation.
type refusedPods map[types.UID]uint64

func (r refusedPods) Refused(uid types.UID, generation uint64) { r[uid] = generation }

func (r refusedPods) Postponed(types.UID, string, uint64, time.Duration) {}

func TestFilterTellsOfThePodsThatItRefuses(t *testing.T) {
	for _, selection := range []config.NodeSelection{config.NodeSelectionScheduler, config.NodeSelectionMuster} {
		t.Run(string(selection), func(t *testing.T) {
			told := refusedPods{}
			b := newBench(t, benchOptions{selection: selection, refusals: told})
			b.Node("a", "4")
			large, small := b.Pending(servertest.Pod("large", "8")), b.Pending(servertest.Pod("small", "1"))
			before := b.Cluster.Snapshot().Generation
			b.Filter(large, "a")
			b.Filter(small, "a")
			stranger := servertest.Pod("stranger", "8")
			stranger.UID = "uid-of-nobody"
			then := b.Cluster.Snapshot().Generation
			b.postFilter(stranger, "a")
			if diff := cmp.Diff(refusedPods{large.UID: before, stranger.UID: then}, told); diff != "" {
				t.Errorf("pods that were refused (-want +got):\n%s", diff)
			}
		})
	}
}

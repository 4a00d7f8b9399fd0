package gang

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// centuries is a grace period that anybody who creates a pod may write.
const centuries = 9_000_000_000

// leavingIn2312 is a pod that was deleted, and has until then.
func leavingIn2312(pod *corev1.Pod) *corev1.Pod {
	pod = pod.DeepCopy()
	grace(centuries)(pod)
	pod.DeletionTimestamp = new(metav1.NewTime(time.Now().Add(centuries * time.Second)))
	return pod
}

func TestNoGangWaitsForAPodThatTakesCenturiesToEnd(t *testing.T) {
	for name, test := range map[string]struct {
		nodes int
		taken func(low []*corev1.Pod) []*corev1.Pod
		want  []string // the pods that the gang has evicted
	}{
		"it goes elsewhere": {
			3, func(low []*corev1.Pod) []*corev1.Pod { return append(low[1:], leavingIn2312(low[0])) },
			[]string{"on-b-0", "on-c-0"},
		},
		"nobody goes where that does not suffice": {
			2, func(low []*corev1.Pod) []*corev1.Pod { return append(low[1:], leavingIn2312(low[0])) }, nil,
		},
		"nor for one that is yet to be deleted": {2, func(low []*corev1.Pod) []*corev1.Pod {
			grace(centuries)(low[0])
			return low
		}, nil},
		"nor for one whose nanoseconds are less than nothing": {2, func(low []*corev1.Pod) []*corev1.Pod {
			grace(10_000_000_000)(low[0])
			return low
		}, nil},
		"an hour is waited for": {2, func(low []*corev1.Pod) []*corev1.Pod {
			grace(3600)(low[0])
			return low
		}, []string{"on-a-0", "on-b-0"}},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				p.set(objects(test.taken(p.running(test.nodes)))...)
				gang := members("g", 2, "4", ofPriority(900_000_000))
				p.set(podGroup("g", 2))
				p.set(objects(gang)...)
				p.after(time.Second)
				for _, pod := range gang {
					p.filter(pod)
					p.preempt(pod)
				}
				p.after(5 * time.Second)
				got := map[string]bool{}
				for _, name := range p.evictions() {
					got[name] = true
				}
				want := map[string]bool{}
				for _, name := range test.want {
					want[name] = true
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("evicted for the gang (-want +got):\n%s", diff)
				}
				if held := len(p.placesOf(gang)[0]) > 0; held != (len(test.want) > 0) {
					t.Errorf("that the gang keeps places: %v, want %v", held, len(test.want) > 0)
				}
			})
		})
	}
}

// A victim was evicted in good faith, and does not go for as long as it may say: the gang gives its places back all the same.
func TestAGangGivesItsPlacesBackThoughAVictimTakesAsLongAsItLikes(t *testing.T) {
	run(t, func(p *process) {
		low := p.running(1)
		gang := members("g", 1, "4", ofPriority(10))
		p.set(podGroup("g", 1))
		p.set(objects(gang)...)
		p.after(time.Second)
		p.filter(gang[0])
		if got := p.preempt(gang[0]); got != "a: on-a-0" {
			t.Fatalf("%q is to be evicted", got)
		}
		p.set(leavingIn2312(low[0]))
		p.after(5 * time.Minute)
		p.filter(gang[0])
		if places := p.placesOf(gang); places[0] != "" {
			t.Errorf("it keeps %q for a pod that ends in 2312", places[0])
		}
	})
}

package gang

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/gang/core"
)

// A process that is stopped for longer than assumptions live finds them expired when it goes on.

func TestAHeldMemberThatDoesNotCountAnyMoreIsNotBound(t *testing.T) {
	for name, object := range map[string]func(*corev1.Pod){
		"with a PodGroup":      func(*corev1.Pod) {},
		"without one, at once": withoutObject("g", "2"),
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				gang := members("g", 2, "2", object)
				p.set(node("a", "4"), podGroup("g", 2))
				p.set(objects(gang)...)
				first := p.start(gang[0])[0]
				place := p.filter(gang[1])
				p.cluster.Release(gang[0].UID)
				p.set(objects(members("other", 1, "2", alone, on("a")))...)
				last := p.bind(gang[1], place)
				if first.held() || !errors.Is(first.err, core.ErrUncounted) {
					t.Errorf("the first call: held %t, error %v", first.held(), first.err)
				}
				if !last.held() {
					t.Errorf("the last call has ended, error %v", last.err)
				}
			})
		})
	}
}

func TestAMemberThatDoesNotCountAnyMoreIsPlannedAnew(t *testing.T) {
	run(t, func(p *process) {
		gang := members("g", 2, "2")
		p.set(node("a", "4"), podGroup("g", 2))
		p.set(objects(gang)...)
		p.after(time.Second)
		p.cluster.Release(gang[0].UID)
		p.set(node("b", "2"))
		p.set(objects(members("other", 1, "2", alone, on("a")))...)
		p.after(10 * time.Second)
		if diff := cmp.Diff([]string{"a", "b"}, p.placesOf(gang)); diff != "" {
			t.Errorf("places (-want +got):\n%s", diff)
		}
	})
}

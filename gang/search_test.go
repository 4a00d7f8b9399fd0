package gang

import (
	"errors"
	"testing"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement"
)

func TestOfAPlanThatCannotBeHadAsAWholeNothingIsLeft(t *testing.T) {
	run(t, func(p *process) {
		pods := members("g", 2, "1")
		p.set(node("a", "1"), node("b", "1"), pods[0], pods[1])
		snap := p.cluster.Snapshot()
		var places []placement.Place
		for i, name := range []string{"a", "b"} {
			places = append(places, placement.Place{Pod: p.cluster.PendingPod(pods[i].UID), Node: snap.NodeByName(name).Index})
		}
		p.set(members("other", 1, "1", alone, on("b"))[0])
		s := &ports{cluster: p.cluster}
		if _, err := s.assume(snap, places); !errors.Is(err, cluster.ErrNodeChanged) {
			t.Errorf("with a node that has changed since, the error is %v", err)
		}
		for _, pod := range pods {
			if on := p.cluster.Assumed(pod.UID); on != "" {
				t.Errorf("%s counts on %s", pod.Name, on)
			}
		}
	})
}

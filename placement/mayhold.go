package placement

import (
	"time"

	"muster.dev/muster/cluster"
)

// MayHold reports whether a domain of the level that is required could have a number of pods if there were no others on its nodes, and
// also if time is up before that is known. Kinds of pods are held against a domain one by one, and devices are as they are.
func (p *Plan) MayHold(pods []*cluster.Pod, atLeast int, n *Network, deadline time.Time) bool {
	s := p.near(n, deadline)
	if len(s.kinds(pods)) > mostNearKinds {
		return false
	}
	var counts []int
	var slots [][]int32
	for _, kind := range s.kinds(s.possible(pods, atLeast)) {
		if s.late() {
			return true
		}
		counts, slots = append(counts, len(kind)), append(slots, s.bareSlots(kind[0]))
	}
	return s.tree.MayHold(n.Required, counts, slots)
}

// bareSlots returns for how many pods like one there is room on each node without its pods.
func (s *nearness) bareSlots(pod *cluster.Pod) []int32 {
	p := s.plan
	judge := p.Judge(p.store.Profile.JudgeFit(pod, p.Snapshot()))
	slots := make([]int32, p.Snapshot().IndexEnd())
	for node := range p.Snapshot().Nodes() {
		if bare := node.Bare(); judge.FitsIn(bare) {
			slots[node.Index] = int32(Slots(bare, pod)) //nolint:gosec // no more than a node may have pods
		}
	}
	return slots
}

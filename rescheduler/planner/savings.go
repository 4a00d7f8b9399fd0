package planner

import (
	"cmp"
	"math"
	"slices"
)

// savings bring pods home that need not move after all.
type savings struct {
	*state

	homes    *homes
	purposes *purposes
}

// letStay lets pods stay that need not move after all, the dearest first.
func (s *savings) letStay() {
	for stayed := true; stayed; {
		stayed = false
		away := slices.Clone(s.gone)
		slices.SortFunc(away, func(a, b int32) int {
			return cmp.Or(cmp.Compare(s.items[b].cost, s.items[a].cost), cmp.Compare(a, b))
		})
		for _, at := range away {
			stayed = s.items[at].away() && s.homes.bringHome(s.items[at].unit) || stayed
		}
	}
	s.dissolve()
}

// dissolve brings home all pods that move for each other and nobody else. Every pod that came to a node that
// they left is one of them, so that there is room.
func (s *savings) dissolve() {
	highest := s.purposes.beneficiaries()
	var idle []int32
	for _, at := range s.gone {
		if s.items[at].at >= 0 && !s.purposes.serves(at, highest, math.MinInt32) {
			idle = append(idle, at)
		}
	}
	slices.Sort(idle)
	for _, at := range idle {
		s.move(at, -1)
	}
	for _, at := range idle {
		s.move(at, s.items[at].origin)
	}
}

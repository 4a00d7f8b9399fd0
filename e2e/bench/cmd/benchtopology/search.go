package main

// search tries all ways to place the pods of an instance.
type search struct {
	in     *instance
	placed places
	best   *worth
	looks  int // that are left
}

// mostLooks bounds a search: one is for a number of pods of one kind on one node.
const mostLooks = 2_000_000

// exhaustive returns what the best places are worth, nil if there are none. It reports false if there are too many to try them all.
func exhaustive(in *instance) (best *worth, whole bool) {
	s := &search{in: in, placed: make(places, len(in.kinds)), looks: mostLooks}
	for k := range s.placed {
		s.placed[k] = make([]int, len(in.nodes))
	}
	s.place(0, 0, in.kinds[0].count)
	return s.best, s.looks > 0
}

// place tries all numbers of pods of a kind on a node, with a number of them left.
func (s *search) place(k, n, left int) {
	if s.looks--; s.looks < 0 {
		return
	}
	if n == len(s.in.nodes) {
		switch {
		case left > 0:
		case k+1 < len(s.in.kinds):
			s.place(k+1, 0, s.in.kinds[k+1].count)
		default:
			if w, err := s.in.judge(s.placed); err == nil && (s.best == nil || w.compare(s.best) < 0) {
				s.best = w
			}
		}
		return
	}
	for pods := range min(left, s.in.room(n, k)) + 1 {
		s.placed[k][n] = pods
		s.place(k, n+1, left-pods)
	}
	s.placed[k][n] = 0
}

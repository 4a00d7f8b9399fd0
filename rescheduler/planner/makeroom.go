package planner

// MakeRoom plans places for pending groups, and what has to move for that. As many pods as
// can be get a place, those of the highest priority first, at the least cost. Pods that have
// room anyway get their places without a step.
func (p *Problem) MakeRoom(groups []Group) *Plan {
	s := newSearch(p, groups, nil)
	proven := s.solve(func() {
		s.placing.construct()
		s.placing.improve()
	})
	return s.author.plan(proven)
}

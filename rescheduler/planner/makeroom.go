package planner

// MakeRoom plans places for pending groups, and the moves that they need. It places all the pods it can, the
// highest priority first, at the least cost. Pods that have room anyway get their places without a step.
func (p *Problem) MakeRoom(groups []Group) *Plan {
	s := newSearch(p, groups, nil)
	proven := s.solve(func() {
		s.placing.construct()
		s.placing.improve()
	})
	return s.author.plan(proven)
}

// Package scenario answers "what if": a cluster in which pods come to nodes and go from them for
// trial, while the snapshot that it began with stays as it is.
//
//	s := scenario.New(snap)
//	judge := s.Judge(profile.Judge(pod, snap))
//	s.Take(victim, node)
//	fits := judge.Fits(node)
//	s.Undo(0)
//
// Plans of places ([muster.dev/muster/placement]), plans of the rescheduler and their rehearsals, and the
// search for victims all suppose on a Scenario. A part that keeps something about it (a [Judge], the trials of
// a plan) follows its log of moves. An undone move is one more entry there.
package scenario

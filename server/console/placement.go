package console

import (
	"maps"
	"net/http"
	"slices"

	"muster.dev/muster/cluster"
	"muster.dev/muster/inspect"
	"muster.dev/muster/placement/nomination"
)

// placementPage shows what is placed ahead of calls.
type placementPage struct{ nomination.Report }

// planned is how far a pod is that is placed ahead of calls, nil for others.
func (s *Console) planned(pod *cluster.Pod) *nomination.Pending {
	if s.options.Nominations == nil {
		return nil
	}
	about, known := s.options.Nominations.About(pod.UID)
	if !known {
		return nil
	}
	return &about
}

func (s *Console) debugPlacement(*http.Request) (inspect.Answer, error) {
	if s.options.Nominations == nil {
		return nil, inspect.Refuse(http.StatusNotFound, "placement: there is no API server")
	}
	return placementPage{s.options.Nominations.Report()}, nil
}

// Text implements [inspect.Answer].
func (p placementPage) Text(t *inspect.Table) {
	title := "pods by stage, and nominations by what became of them"
	if p.Pausing {
		title += "; nothing is nominated at present, since the API server is slow"
	}
	if p.SteppingAside {
		title += "; pods that are not gated are left to kube-scheduler at present: few wait, or it is not known that nominations save it enough"
	}
	t.Title("%s", title)
	for _, stage := range slices.Sorted(maps.Keys(p.Stages)) {
		t.Row(stage, p.Stages[stage])
	}
	t.Gap()
	for _, outcome := range slices.Sorted(maps.Keys(p.Ended)) {
		t.Row(outcome, p.Ended[outcome])
	}
	t.Gap()
	t.Row("IN FLIGHT", "NODE", "STAGE", "AGE", "ATTEMPT")
	for _, n := range p.InFlight {
		t.Row(n.Pod, n.Node, n.Stage, duration(n.AgeSeconds), n.Attempt)
	}
	t.Gap()
	t.Row("MISSED", "NODE", "WHY", "AT", "ATTEMPT")
	for _, e := range p.Missed {
		t.Row(e.Pod, e.Node, e.Outcome, inspect.Time(e.At), e.Attempt)
	}
}

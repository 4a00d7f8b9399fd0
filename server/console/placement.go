package console

import (
	"maps"
	"net/http"
	"slices"
	"time"

	"muster.dev/muster/cluster"
	"muster.dev/muster/inspect"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/server/remote"
)

// placementPage shows what is placed ahead of calls.
type placementPage struct {
	// Pausing says that nothing is nominated at present, since the API server is slow.
	Pausing bool `json:"pausing"`
	// SteppingAside says that none but gated pods are nominated at present: few pods wait, or it saves too little or is not known to save.
	SteppingAside bool `json:"steppingAside"`
	// SavingSeconds is how much sooner kube-scheduler comes to its next pod by a nomination, 0 while that is not known.
	SavingSeconds float64 `json:"savingSeconds"`
	// Stages counts the pending pods by stage, Ended the nominations by outcome.
	Stages map[string]int             `json:"stages"`
	Ended  map[nomination.Outcome]int `json:"ended"`
	// InFlight are the nominations that have not ended, the oldest first; Missed the last that came
	// to nothing, the newest first.
	InFlight []remote.Nomination `json:"inFlight"`
	Missed   []missedRow         `json:"missed"`
}

func newNominationRow(p *nomination.Pending) remote.Nomination {
	return remote.Nomination{Pod: p.Pod, Node: p.Node, Stage: p.Stage, AgeSeconds: seconds(p.Age), Attempt: p.Attempt}
}

type missedRow struct {
	Pod     string             `json:"pod"`
	Node    string             `json:"node"`
	Why     nomination.Outcome `json:"why"`
	At      time.Time          `json:"at"`
	Attempt int                `json:"attempt"`
}

// planned is how far a pod is that is placed ahead of calls, nil for others.
func (s *Console) planned(pod *cluster.Pod) *remote.Nomination {
	if s.options.Nominations == nil {
		return nil
	}
	about, known := s.options.Nominations.About(pod.UID)
	if !known {
		return nil
	}
	row := newNominationRow(&about)
	return &row
}

func (s *Console) debugPlacement(*http.Request) (inspect.Answer, error) {
	if s.options.Nominations == nil {
		return nil, inspect.Refuse(http.StatusNotFound, "placement: there is no API server")
	}
	report := s.options.Nominations.Report()
	page := placementPage{
		Pausing:       report.Pausing,
		SteppingAside: report.SteppingAside,
		SavingSeconds: report.Saving.Seconds(),
		Stages:        report.Stages,
		Ended:         report.Ended,
		InFlight:      []remote.Nomination{},
		Missed:        []missedRow{},
	}
	for _, p := range report.InFlight {
		page.InFlight = append(page.InFlight, newNominationRow(&p))
	}
	for _, e := range report.Missed {
		page.Missed = append(page.Missed, missedRow{e.Pod, e.Node, e.Outcome, e.At.UTC(), e.Attempt})
	}
	return page, nil
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
		t.Row(e.Pod, e.Node, e.Why, inspect.Time(e.At), e.Attempt)
	}
}

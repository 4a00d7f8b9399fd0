package server

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"k8s.io/utils/clock"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement/nomination"
)

func (s *Server) newNominator(o Options, client nomination.Client) *nomination.Nominator {
	limits := nomination.DefaultLimits(o.Config.Timeouts.Assume.Duration)
	limits.MinBacklog, limits.MaxAhead = int(o.Config.Nomination.MinBacklog), int(o.Config.Nomination.MaxAhead)
	return nomination.New(nomination.Options{
		Logger: o.Logger, Registerer: s.registry, Clock: clock.RealClock{}, Cluster: s.cluster, Profiles: s.extender.profiles,
		Skip:   s.extender.isElsewhere,
		Client: client, Writer: s.writer, Limits: limits, Seed: rand.Uint64(),
	})
}

// planned says how far a pod is that is placed ahead of calls, in half a sentence.
func (s *Server) planned(pod *cluster.Pod) string {
	if s.extender.nominator == nil {
		return ""
	}
	about, known := s.extender.nominator.About(pod.UID)
	if !known {
		return ""
	}
	return fmt.Sprintf("; nomination: %s for %v, node %s, attempt %d",
		about.Stage, about.Age.Round(time.Millisecond), cmp.Or(about.Node, "-"), about.Attempt)
}

// debugPlacement shows what is placed ahead of calls.
func (s *Server) debugPlacement(w http.ResponseWriter, _ *http.Request) {
	if s.extender.nominator == nil {
		http.Error(w, "placement: there is no API server", http.StatusNotFound)
		return
	}
	report := s.extender.nominator.Report()
	title := "pods by stage, and nominations by what became of them"
	if report.Pausing {
		title += "; nothing is nominated at present, since the API server is slow"
	}
	t := newTable(w, title)
	for _, stage := range slices.Sorted(maps.Keys(report.Stages)) {
		t.row(stage, report.Stages[stage])
	}
	t.row()
	for _, outcome := range slices.Sorted(maps.Keys(report.Ended)) {
		t.row(outcome, report.Ended[outcome])
	}
	t.flush()
	t.row()
	t.row("IN FLIGHT", "NODE", "STAGE", "AGE", "ATTEMPT")
	for _, p := range report.InFlight {
		t.row(p.Pod, p.Node, p.Stage, p.Age.Round(time.Millisecond), p.Attempt)
	}
	t.flush()
	t.row()
	t.row("MISSED", "NODE", "WHY", "AT", "ATTEMPT")
	for _, e := range report.Missed {
		t.row(e.Pod, e.Node, e.Outcome, e.At.UTC().Format(time.RFC3339), e.Attempt)
	}
	t.flush()
}

package muster

import (
	"bufio"
	"context"
	"errors"
	"strings"
)

// Nominations reads from the server's metrics how many nominations had which outcome
// since it started.
func (s *Server) Nominations(ctx context.Context) (map[string]int, error) {
	return s.MetricBy(ctx, "muster_nominations_total", "outcome", nil)
}

// InFlight reads from /debug/placement which pods, as namespace/name, have a nomination
// that the server follows.
func (s *Server) InFlight(ctx context.Context) (map[string]bool, error) {
	page, err := s.get(ctx, "/debug/placement")
	if err != nil {
		return nil, err
	}
	defer page.Close()
	var pods map[string]bool
	for lines := bufio.NewScanner(page); lines.Scan(); {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "IN FLIGHT"):
			pods = map[string]bool{}
		case pods == nil:
		case strings.TrimSpace(line) == "":
			return pods, nil
		default:
			pods[strings.Fields(line)[0]] = true
		}
	}
	return nil, errors.New("/debug/placement has no table of what is in flight")
}

// Planned reads from the server's metrics for how many pods it has planned a nomination since it started.
func (s *Server) Planned(ctx context.Context) (int, error) {
	families, err := s.metrics(ctx)
	if err != nil {
		return 0, err
	}
	planned := 0.0
	for _, m := range families["muster_nomination_batch_pods"].GetMetric() {
		planned += m.GetHistogram().GetSampleSum()
	}
	return int(planned), nil
}

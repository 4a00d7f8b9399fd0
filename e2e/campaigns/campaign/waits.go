package campaign

import (
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// mostWait is how many times as long as without nomination waits may be.
const mostWait = 1.1

// comparison is of the waits of some pods with and without nomination.
type comparison struct {
	about, figure string
	origin        origin
}

// comparisons begin with the one that is judged.
func comparisons() []comparison {
	return []comparison{
		{"pods that come while there is room", "", origin{calm, corev1.DefaultSchedulerName}},
		{"pods of the second scheduler that come while there is room", "second_", origin{calm, secondScheduler}},
		{"pods that come while the cluster is crowded", "crowded_", origin{crowded, corev1.DefaultSchedulerName}},
		{"pods that come around an outage", "outage_", origin{outage, corev1.DefaultSchedulerName}},
	}
}

// slower is an error when pods wait longer with nomination.
func (c campaign) slower() error {
	judged := comparisons()[0]
	got := c.ratio(judged, 0.99)
	if got <= mostWait {
		return nil
	}
	return fmt.Errorf("%s: p99 of the waits is %.2f times that without nomination, at most %.2f is allowed", judged.about, got, mostWait)
}

// printWaits prints the waits of each run, and the figures that come of them. How much the
// runs of one way differ among themselves is what the machine does to them.
func (c campaign) printWaits(out io.Writer, compared comparison) {
	if math.IsNaN(c.ratio(compared, 0.5)) {
		return
	}
	fmt.Fprintf(out, "%s, bound in all runs of a round:\n", compared.about)
	for _, r := range c {
		for n, waits := range r.waits(compared.origin) {
			if len(waits) > 0 {
				fmt.Fprintf(out, "  run %d, %-10s  %5d pods  p50 %6dms  p99 %6dms\n",
					n+1, r.outcomes[n].way, len(waits), quantile(waits, 0.5).Milliseconds(), quantile(waits, 0.99).Milliseconds())
			}
		}
	}
	fmt.Fprintf(out, "figure campaign_%swait_p50_vs_without=%.2f\n", compared.figure, c.ratio(compared, 0.5))
	fmt.Fprintf(out, "figure campaign_%swait_p99_vs_without=%.2f\n", compared.figure, c.ratio(compared, 0.99))
}

// ratio is how many times as long the quantile of the waits is with nomination: the
// median over all pairs of one run with and one without that follow each other. It is not
// a number when there is nothing to compare.
func (c campaign) ratio(of comparison, q float64) float64 {
	var ratios []float64
	for _, r := range c {
		var with, bare []time.Duration
		for n, waits := range r.waits(of.origin) {
			switch {
			case len(waits) == 0:
			case r.outcomes[n].way == nominating:
				with = append(with, quantile(waits, q))
			case r.outcomes[n].way == without:
				bare = append(bare, quantile(waits, q))
			}
		}
		for i := range min(len(with), len(bare)) {
			ratios = append(ratios, with[i].Seconds()/bare[i].Seconds())
		}
	}
	return median(ratios)
}

// waits lists how long pods waited in each run, in ascending order: pods that all runs have bound.
func (r round) waits(of origin) [][]time.Duration {
	waits := make([][]time.Duration, len(r.outcomes))
	for name, origin := range r.script.pods {
		pending := func(o *outcome) bool { _, bound := o.waits[name]; return !bound }
		if origin != of || slices.ContainsFunc(r.outcomes, pending) {
			continue
		}
		for n, o := range r.outcomes {
			waits[n] = append(waits[n], o.waits[name])
		}
	}
	for _, of := range waits {
		slices.Sort(of)
	}
	return waits
}

// quantile of sorted durations, by the nearest rank. There must be some.
func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)]
}

// median is not a number for no numbers.
func median(of []float64) float64 {
	slices.Sort(of)
	switch half := len(of) / 2; {
	case len(of) == 0:
		return math.NaN()
	case len(of)%2 == 0:
		return (of[half-1] + of[half]) / 2
	default:
		return of[half]
	}
}

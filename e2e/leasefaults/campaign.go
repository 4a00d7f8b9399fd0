package leasefaults

import (
	"context"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"

	"muster.dev/muster/e2e/faultcampaign"
)

// Campaign is the one for leadership.
func Campaign() faultcampaign.Campaign {
	t := &tally{}
	return faultcampaign.Campaign{
		Name: "lease", Counts: []string{answersFigure, bindingsFigure, leadersFigure}, Figures: t.figures,
		Open: func(ctx context.Context, dir string, muster faultcampaign.Program, progress io.Writer) (faultcampaign.Performer, error) {
			return open(ctx, dir, muster, progress, t)
		},
	}
}

// tally is what came of all runs. Its methods are safe for concurrent use.
type tally struct {
	mu      sync.Mutex
	worst   time.Duration // for which two led
	doubles int           // nodes that were given twice
	gaps    []time.Duration
}

func (t *tally) add(worst time.Duration, doubles int, gaps []time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.worst, t.doubles, t.gaps = max(t.worst, worst), t.doubles+doubles, append(t.gaps, gaps...)
}

// figures prints the figures.
func (t *tally) figures(out io.Writer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintf(out, "figure two_leaders_ms_max=%d\n", t.worst.Milliseconds())
	fmt.Fprintf(out, "figure double_given_nodes=%d\n", t.doubles)
	if len(t.gaps) > 0 {
		slices.Sort(t.gaps)
		fmt.Fprintf(out, "figure nobody_leads_ms_median=%d\n", t.gaps[len(t.gaps)/2].Milliseconds())
		fmt.Fprintf(out, "figure nobody_leads_ms_max=%d\n", t.gaps[len(t.gaps)-1].Milliseconds())
	}
}

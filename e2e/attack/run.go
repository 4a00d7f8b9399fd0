package attack

import (
	"context"
	"fmt"
	"io"
	"time"
)

// patience is how long one attack may take, which takes seconds on an idle machine.
const patience = 5 * time.Minute

// Report is what came of attacks.
type Report struct {
	Tried int
	// Succeeded are the names of those that did.
	Succeeded []string
}

// Figures prints the figures.
func (r Report) Figures(out io.Writer) {
	fmt.Fprintf(out, "figure attacks_tried=%d\nfigure attacks_succeeded=%d\n", r.Tried, len(r.Succeeded))
}

// Run tries attacks, one after the other, on one control plane whose files are in dir. It tells each
// verdict to out, in a line. An error means that nothing can be said of an attack.
func Run(ctx context.Context, attacks []Attack, dir string, out, progress io.Writer) (report Report, err error) {
	g, err := open(ctx, dir, progress)
	if err != nil {
		return report, err
	}
	defer g.close()
	for i, a := range attacks {
		began := time.Now()
		v, err := g.try(ctx, a)
		if err != nil {
			return report, fmt.Errorf("%s: %w", a.Name, err)
		}
		report.Tried++
		word := "held"
		if v.succeeded {
			word = "SUCCEEDED"
			report.Succeeded = append(report.Succeeded, a.Name)
		}
		fmt.Fprintf(out, "%2d/%d %s (%s, %.1fs): %s: %s\n", i+1, len(attacks), a.Name, a.By, time.Since(began).Seconds(), word, v.why)
	}
	return report, nil
}

// try tries one attack, after which everything that it left behind is gone, and muster is there still.
func (g *ground) try(ctx context.Context, a Attack) (verdict, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("gave up after %s", patience))
	defer cancel()
	v, err := a.attempt(ctx, g)
	if ended := g.ended(); ended != nil {
		return succeeded("%v", ended), nil
	}
	if err != nil {
		return v, err
	}
	return v, g.clear(ctx)
}

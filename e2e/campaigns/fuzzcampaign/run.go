package fuzzcampaign

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"
)

// Options of a campaign.
type Options struct {
	// Module is the root of the main module.
	Module string
	// Targets share Time: they run one after the other, each with this number of processes at a time.
	Targets  []Target
	Time     time.Duration
	Parallel int
	Out      io.Writer
}

// Run runs a campaign, and prints how it goes and what it comes to. The error says what was found.
func Run(ctx context.Context, o Options) error {
	if len(o.Targets) == 0 {
		return fmt.Errorf("there is no fuzz target in %s", o.Module)
	}
	share := (o.Time / time.Duration(len(o.Targets))).Round(time.Second)
	if share < time.Second {
		return fmt.Errorf("%s is too short for %d targets: each needs a second", o.Time, len(o.Targets))
	}
	fmt.Fprintf(o.Out, "%d targets, %s for each beside what it takes to build it\n", len(o.Targets), share)
	execs, failures := 0, 0
	for i, target := range o.Targets {
		began := time.Now()
		found, err := fuzz(ctx, o.Module, target, share, o.Parallel)
		if err != nil {
			return err
		}
		execs += found.Execs
		verdict := "nothing found"
		switch {
		case found.Failure == "" && found.Execs == 0:
			verdict = "the time was up before the seeds were tried: give it more"
		case found.Failure != "":
			failures++
			verdict = "FAILED, and its input is in " + target.Dir + "/testdata/fuzz/" + target.Name + " unless it is a seed:\n" + indented(
				found.Failure,
			)
		}
		fmt.Fprintf(o.Out, "[%2d/%d] %s: %d execs, %d of them reached new code, %s: %s\n",
			i+1, len(o.Targets), target, found.Execs, found.Interesting, time.Since(began).Round(time.Second), verdict)
	}
	fmt.Fprintln(o.Out, "measuring what large bodies take of memory")
	times, failure, err := amplified(ctx, o.Module)
	if err != nil {
		return err
	}
	fmt.Fprintf(
		o.Out, "figure fuzz_targets=%d\nfigure fuzz_execs=%d\nfigure fuzz_failures=%d\nfigure body_amplification=%s\n", len(o.Targets), execs,
		failures, times,
	)
	switch {
	case failures > 0:
		return fmt.Errorf("%d of %d targets failed", failures, len(o.Targets))
	case failure != "":
		return fmt.Errorf("a call takes too much memory:\n%s", indented(failure))
	default:
		return nil
	}
}

func indented(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
}

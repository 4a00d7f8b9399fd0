package reschedulerfaults

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/seeds"
)

// Run runs a campaign and tells on out how it goes and what came of it. The error says that
// something was found, and where logs are then, or why there is no telling.
func Run(ctx context.Context, o seeds.Options, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "muster-reschedulerfaults-")
	if err != nil {
		return fmt.Errorf("make a directory for the control planes: %w", err)
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%w\nlogs: %s", err, dir)
			return
		}
		err = os.RemoveAll(dir)
	}()
	report, err := campaign(ctx, o, dir, out)
	if err != nil {
		return err
	}
	report.print(out)
	return report.err()
}

// campaign runs all seeds, those of a lane one after the other.
func campaign(ctx context.Context, o seeds.Options, dir string, out io.Writer) (*report, error) {
	if o.Muster == "" {
		var err error
		if o.Muster, err = binaries.BuildMuster(ctx, dir, out); err != nil {
			return nil, err
		}
	}
	report := newReport(o.Seeds, out)
	return report, o.OverLanes(ctx, func(ctx context.Context, lane int, seeds <-chan uint64) error {
		return runLane(ctx, filepath.Join(dir, fmt.Sprintf("lane-%d", lane)), o.Muster, seeds, report, out)
	})
}

// runLane runs the seeds that it gets until there are no more.
func runLane(ctx context.Context, dir, binary string, seeds <-chan uint64, to *report, progress io.Writer) error {
	l, err := open(ctx, dir, binary, progress)
	if err != nil {
		return err
	}
	defer l.close()
	to.begin(time.Now())
	for seed := range seeds {
		outcome, err := l.perform(ctx, write(seed))
		if died := l.died(); died != nil {
			return fmt.Errorf("seed %d: %w", seed, died)
		}
		if err != nil {
			return fmt.Errorf("seed %d: %w", seed, err)
		}
		to.add(outcome)
	}
	return nil
}

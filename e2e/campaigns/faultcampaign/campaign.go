package faultcampaign

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"muster.dev/muster/e2e/binaries"
)

// Campaign holds what a campaign has of its own.
type Campaign struct {
	// Name begins the names of its figures, and ends the name of its target: faults-Name.
	Name string
	// Target is the name for make, where that is not faults-Name.
	Target string
	// Counts are the figures that its outcomes have, in the order in which they are told.
	Counts []string
	// Seeds is how many runs there are unless SEEDS says so, 50 when 0, and Lanes how many at a time unless LANES does, 4 when 0.
	Seeds, Lanes int
	// PerRun are the counts that are also told as an average per run.
	PerRun []string
	// Figures prints figures of the campaign's own, nil for none.
	Figures func(io.Writer)
	// Open starts everything that stays for all runs on a lane.
	Open func(ctx context.Context, dir string, muster Program, progress io.Writer) (Performer, error)
}

// Program is the muster to judge.
type Program struct {
	Path string
	// Skewable says that it heeds muster.Options.ClockSkew.
	Skewable bool
}

// Skew is by how much its clock is ahead that is to be: not at all, if it cannot be.
func (p Program) Skew(by time.Duration) time.Duration {
	if !p.Skewable {
		return 0
	}
	return by
}

// Performer performs one run after the other on a lane.
type Performer interface {
	// Perform plays the script of a seed and judges what came of it.
	Perform(ctx context.Context, seed uint64) (*Outcome, error)
	// Died is why a process ended that nobody killed, nil if none did.
	Died() error
	Close()
}

// Main runs the campaign that SEEDS, SEED and LANES shape, and returns the exit status: 1 when it
// found something, or when there is no telling.
func (c Campaign) Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	options, err := OptionsFromEnv(os.Getenv, cmp.Or(c.Seeds, 50), cmp.Or(c.Lanes, 4))
	if err == nil {
		err = c.run(ctx, options, os.Stdout)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "%sfaults: %v\n", c.Name, err)
		return 1
	}
	return 0
}

// target returns the name for make.
func (c Campaign) target() string { return cmp.Or(c.Target, "faults-"+c.Name) }

// run tells on out how the campaign goes and what came of it. The error says that something was
// found, and where logs are then, or why there is no telling.
func (c Campaign) run(ctx context.Context, o Options, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "muster-"+c.Name+"faults-")
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
	program := Program{Path: o.Muster}
	if program.Path == "" {
		if program.Path, err = binaries.BuildSkewable(ctx, dir, out); err != nil {
			return err
		}
		program.Skewable = true
	}
	report, err := c.perform(ctx, o, dir, program, out)
	if err != nil {
		return err
	}
	return report.Err()
}

// Perform performs all seeds, the seeds of a lane one after the other, and prints the report. Control planes
// and logs are in a directory. All processes have one clock: Main makes muster's differ.
func (c Campaign) Perform(ctx context.Context, o Options, dir string, out io.Writer) (*Report, error) {
	if o.Muster == "" {
		var err error
		if o.Muster, err = binaries.BuildMuster(ctx, out); err != nil {
			return nil, err
		}
	}
	return c.perform(ctx, o, dir, Program{Path: o.Muster}, out)
}

func (c Campaign) perform(ctx context.Context, o Options, dir string, muster Program, out io.Writer) (*Report, error) {
	report := newReport(c, o.Seeds, out)
	err := o.OverLanes(ctx, func(ctx context.Context, lane int, seeds <-chan uint64) error {
		times := 0
		return performAll(ctx, func() (Performer, error) {
			times++
			return c.Open(ctx, filepath.Join(dir, fmt.Sprintf("lane-%d.%d", lane, times)), muster, out)
		}, seeds, report)
	})
	if err != nil {
		return nil, err
	}
	report.print()
	return report, nil
}

// mostAgain is how often a seed is run again on a machine that is too slow for it.
const mostAgain = 3

// performAll runs the seeds that it gets until there are no more. A run in which a process could not renew its lease
// in time tells nothing: the process ends then, as it must, and here nobody starts it again. The seed is run again.
func performAll(ctx context.Context, open func() (Performer, error), seeds <-chan uint64, to *Report) error {
	on, err := open()
	if err != nil {
		return err
	}
	defer func() { on.Close() }() // closing twice does nothing
	to.begin(time.Now())
	for seed := range seeds {
		for again := 0; ; again++ {
			outcome, err := on.Perform(ctx, seed)
			if died := on.Died(); died != nil {
				err = died
			}
			if err == nil {
				to.add(seed, outcome)
				break
			}
			if again == mostAgain || !strings.Contains(err.Error(), "leadership lost") {
				return fmt.Errorf("seed %d: %w", seed, err)
			}
			to.again(seed)
			on.Close()
			next, err := open()
			if err != nil {
				return err
			}
			on = next
		}
	}
	return nil
}

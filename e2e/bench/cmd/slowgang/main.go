// Command slowgang starts one gang of 1,000 pods on 1,000 nodes with a stock kube-scheduler and muster, while the
// API server is slow to both: each call takes longer by a delay, one delay after the other. A process that does
// nothing useful keeps one core busy all the while.
//
// kube-scheduler and muster reach the API server through a relay that adds the delay, with the limits of their
// clients that `muster scheduler-config` prints and muster has by default, and muster is elected by its Lease. Pods
// are created without the relay, by sixteen clients. The clock runs from then on until the last pod is seen bound.
//
// A gang may be partial from the first binding call to the end of the last one, by the clock of the relay. What of that
// no binding was under way in is told as idle: the gang was partial then, and nobody did anything about it.
//
// It prints lines `figure NAME=VALUE` and fails when a gang does not start.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"muster.dev/muster/e2e/bench/quiet"
)

func main() {
	delays := delays{50 * time.Millisecond, 200 * time.Millisecond}
	flag.Var(&delays, "delays", "what each call takes longer, one `duration` after the other, separated by commas")
	members := flag.Int("members", 1000, "how many pods the gang has; there are as many nodes")
	flag.Parse()
	quiet.Measure("slowgang", func(ctx context.Context) error { return run(ctx, *members, delays, os.Stdout) })
}

func run(ctx context.Context, members int, delays delays, out io.Writer) error {
	ground, err := newGround(ctx, members, out)
	if err != nil {
		return err
	}
	defer ground.Close()
	var starts []start
	for _, delay := range delays {
		s, err := ground.start(ctx, delay)
		if err != nil {
			return fmt.Errorf("a delay of %s: %w", delay, err)
		}
		fmt.Fprintln(out, s)
		starts = append(starts, s)
	}
	return printFigures(out, members, starts)
}

// delays is a flag.
type delays []time.Duration

// String implements [flag.Value].
func (d *delays) String() string {
	var texts []string
	for _, delay := range *d {
		texts = append(texts, delay.String())
	}
	return strings.Join(texts, ",")
}

// Set implements [flag.Value].
func (d *delays) Set(text string) error {
	*d = nil
	for part := range strings.SplitSeq(text, ",") {
		delay, err := time.ParseDuration(part)
		if err != nil {
			return err
		}
		if delay < 0 {
			return errors.New("a delay cannot be negative")
		}
		*d = append(*d, delay)
	}
	return nil
}

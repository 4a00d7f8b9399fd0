// Package quiet says how busy a machine is before something is measured on it.
package quiet

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	// look is for how long processors are watched.
	look = time.Second
	// noisy is the share of their time from which on figures are not worth much.
	noisy = 0.1
)

// Report prints which share of the processors' time others take at present, and says so where it is too much to
// measure anything beside. It takes a second, and prints nothing where there is no /proc/stat.
func Report(ctx context.Context, out io.Writer) {
	before, err := read()
	if err != nil {
		return
	}
	select {
	case <-ctx.Done():
		return
	case <-time.After(look):
	}
	now, err := read()
	if err != nil {
		return
	}
	share := now.share(before)
	fmt.Fprintf(out, "figure load_before=%.2f\n", share)
	if share > noisy {
		fmt.Fprintf(out, "THE MACHINE IS NOT QUIET: others take %.0f %% of its processors. Figures of such a run are worth little.\n", 100*share)
	}
}

// times is how long all processors were busy and idle since they started, in ticks.
type times struct{ busy, idle int64 }

func read() (times, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return times{}, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return parse(line)
}

// parse reads the first line of /proc/stat. The fourth and fifth number are idle time, of the latter
// while something was being read from a disk; the ninth and tenth are counted in others.
func parse(line string) (t times, err error) {
	fields := strings.Fields(line)
	const first, idle, wait, last = 1, 4, 5, 8
	if len(fields) <= last || fields[0] != "cpu" {
		return t, fmt.Errorf("%q is not the sum of all processors", line)
	}
	for i := first; i <= last; i++ {
		ticks, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return t, err
		}
		if i == idle || i == wait {
			t.idle += ticks
		} else {
			t.busy += ticks
		}
	}
	return t, nil
}

// share is the busy part of the time since.
func (t times) share(since times) float64 {
	busy, idle := t.busy-since.busy, t.idle-since.idle
	if busy+idle <= 0 {
		return 0
	}
	return float64(busy) / float64(busy+idle)
}

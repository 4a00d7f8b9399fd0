package attack

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"muster.dev/muster/e2e/muster"
)

// strain is what an attack costs muster, and those who call it meanwhile.
type strain struct {
	answers []answer // to the attacker
	calls   int      // of others
	busy    int      // of these, refused as others hold too much
	failed  []string // of these, with another answer than they should have
	slowest time.Duration
	grown   int64 // bytes of memory, at most
	logged  int64 // bytes
}

// Bounds of strain. A call takes milliseconds; what takes for ever is far beyond. Memory has room for
// the bodies that muster lets in, for as much again until it is collected, and for what the calls need.
const (
	slow    = 15 * time.Second
	growth  = 2*maxInFlight + 128<<20
	chatter = 1 << 20
)

// judge says whether a strain was too much.
func (s strain) judge() verdict {
	switch {
	case len(s.failed) > 0:
		return succeeded("%d of %d calls of others failed: %s", len(s.failed), s.calls, s.failed[0])
	case s.busy == s.calls:
		return succeeded("none of %d calls of others was answered", s.calls)
	case s.slowest > slow:
		return succeeded("a call of others took %s", s.slowest)
	case s.grown > growth:
		return succeeded("muster's memory grew by %d MiB", s.grown>>20)
	case s.logged > chatter:
		return succeeded("muster logged %d MiB", s.logged>>20)
	}
	return held("%d answers within %s, memory grew by %d MiB", len(s.answers), s.longest().Round(time.Millisecond), max(0, s.grown)>>20)
}

// longest is how long the attacker waited.
func (s strain) longest() (longest time.Duration) {
	for _, a := range s.answers {
		longest = max(longest, a.took)
	}
	return longest
}

// unbearable are strains that are too much.
func unbearable() []strain {
	fine := strain{calls: 10, slowest: time.Second}
	failed, busy, slowed, grown, noisy := fine, fine, fine, fine, fine
	failed.failed, busy.busy, slowed.slowest, grown.grown, noisy.logged = []string{"no answer"}, fine.calls, 2*slow, 2*growth, 2*chatter
	return []strain{failed, busy, slowed, grown, noisy}
}

// strained attacks while somebody asks about a pod of theirs, all the time, and says what it cost.
func (g *ground) strained(ctx context.Context, attack func(context.Context) []answer) (s strain, err error) {
	pods, err := g.stage(ctx, newNodes("strain", 1, "4"), newPod(othersNamespace, "patient", "1", scheduledBy(byHand)))
	if err != nil {
		return s, err
	}
	logged, err := muster.LogSize(g.muster.Log()), g.resetPeak()
	if err != nil {
		return s, err
	}
	before, err := g.memory("VmRSS")
	if err != nil {
		return s, err
	}
	attacking, over := context.WithCancel(ctx)
	defer over()
	var attacked sync.WaitGroup
	attacked.Go(func() {
		defer over()
		s.answers = attack(attacking)
	})
	body := filterBody(pods["patient"], "strain-0")
	ask := func() {
		asked, enough := context.WithTimeout(ctx, 2*slow)
		defer enough()
		got := g.post(asked, "filter", body)
		s.calls++
		s.slowest = max(s.slowest, got.took)
		switch {
		case got.status == http.StatusServiceUnavailable:
			s.busy++
		case got.status != http.StatusOK || !strings.Contains(got.text, `"NodeNames":["strain-0"]`):
			s.failed = append(s.failed, got.String())
		}
	}
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		ask()
		select {
		case <-tick.C:
			continue
		case <-attacking.Done():
		}
		tick.Stop()
		break
	}
	attacked.Wait()
	ask() // once more, when all is over
	if err := ctx.Err(); err != nil {
		return s, err
	}
	peak, err := g.memory("VmHWM")
	s.grown, s.logged = peak-before, muster.LogSize(g.muster.Log())-logged
	return s, err
}

// resetPeak has the most memory that muster ever had forgotten.
func (g *ground) resetPeak() error {
	return os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", g.muster.Pid()), []byte("5"), 0o200)
}

// memory is a line of /proc/PID/status of muster in bytes: VmRSS is what it has in memory, VmHWM the
// most that it had.
func (g *ground) memory(line string) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", g.muster.Pid()))
	if err != nil {
		return 0, fmt.Errorf("read the memory of muster: %w", err)
	}
	for row := range strings.Lines(string(text)) {
		if name, value, _ := strings.Cut(row, ":"); name == line {
			kibibytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			return kibibytes << 10, err
		}
	}
	return 0, errors.New("/proc/PID/status has no " + line)
}

package app

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// diary records events in order.
type diary struct {
	mu    sync.Mutex
	lines []string
}

func (d *diary) note(line string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lines = append(d.lines, line)
}

// read returns the events since it was called last.
func (d *diary) read() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	lines := d.lines
	d.lines = nil
	return lines
}

// part is a Component that notes when it runs and when it ends.
func (d *diary) part(name string, when When) Component {
	return Part(name, when, func(ctx context.Context) {
		d.note(name + " runs")
		<-ctx.Done()
		d.note(name + " ends")
	})
}

// newAlone is a process that leads as nobody else does, once its view is complete.
func newAlone(t *testing.T, d *diary, synced <-chan struct{}) *Process {
	t.Helper()
	election, err := NewElection(ElectionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return &Process{
		Logger: slog.New(slog.DiscardHandler), Election: election, Patience: time.Minute,
		Wait: func(ctx context.Context) error {
			select {
			case <-synced:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		},
		Components: []Component{d.part("always", Always), d.part("synced", Synced), d.part("leading", Leading)},
		Begin:      func() { d.note("begins") },
		Stops: []Stop{
			{Name: "first", Run: func(context.Context) bool { d.note("stops first"); return true }},
			{Name: "second", Run: func(context.Context) bool {
				<-time.After(time.Second) // long enough for leaders to end
				d.note("stops second")
				return true
			}},
		},
	}
}

func TestPartsStartInTheirTimeAndWhatWasBegunLastEndsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		synced := make(chan struct{})
		p := newAlone(t, &d, synced)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- p.Run(ctx) }()
		synctest.Wait()
		want := func(when string, lines ...string) {
			t.Helper()
			got := d.read()
			if len(lines) > 0 && strings.HasSuffix(lines[0], "runs") { // these are beside each other
				slices.Sort(got)
			}
			if diff := cmp.Diff(lines, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", when, diff)
			}
		}
		want("before the view is complete", "always runs", "begins")
		close(synced)
		synctest.Wait()
		want("when it is", "leading runs", "synced runs")
		stop()
		synctest.Wait()
		want("told to stop", "leading ends")
		if err := <-ended; err != nil {
			t.Errorf("Run returned %v", err)
		}
		got := d.read()
		if len(got) == 4 {
			slices.Sort(got[2:])
		}
		if diff := cmp.Diff([]string{"stops second", "stops first", "always ends", "synced ends"}, got); diff != "" {
			t.Errorf("at the end (-want +got):\n%s", diff)
		}
	})
}

func TestAPartThatFailsEndsAllAndIsTheReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		p := newAlone(t, &d, nil)
		broken := errors.New("broken")
		p.Components = append(p.Components, Component{Name: "fails", Run: func(context.Context) error { return broken }})
		if err := p.Run(t.Context()); !errors.Is(err, broken) {
			t.Errorf("Run returned %v", err)
		}
		if got := d.read(); !slices.Contains(got, "stops first") || !slices.Contains(got, "always ends") || slices.Contains(got, "leading runs") {
			t.Errorf("what happened: %q", got)
		}
	})
}

func TestStopsShareTheirPatience(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		p := newAlone(t, &d, nil)
		hangs := func(ctx context.Context) bool { <-ctx.Done(); return false }
		p.Stops = []Stop{{Name: "one", Run: hangs}, {Name: "other", Run: hangs}}
		ctx, stop := context.WithCancel(t.Context())
		stop()
		began := time.Now()
		if err := p.Run(ctx); err != nil {
			t.Errorf("Run returned %v", err)
		}
		if took := time.Since(began); took != p.Patience {
			t.Errorf("stopping took %s, want %s", took, p.Patience)
		}
	})
}

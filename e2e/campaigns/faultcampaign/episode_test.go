package faultcampaign

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/watch"
)

// telling returns an episode that tells each step in order.
func telling(told *[]string) *Episode {
	step := func(name string) func(context.Context) error {
		return func(context.Context) error {
			*told = append(*told, name)
			return nil
		}
	}
	return &Episode{
		Observe: func(watch.Event) {},
		Prepare: step("prepare"),
		Play:    step("play"),
		Unsettled: func() []string {
			*told = append(*told, "settle")
			return nil
		},
		Over:  func(ctx context.Context, _ Ending) error { return step("over")(ctx) },
		Clear: func(ctx context.Context, _ func() bool) error { return step("clear")(ctx) },
	}
}

func TestTheStepsOfAnEpisodeFollowEachOther(t *testing.T) {
	var told []string
	e := telling(&told)
	ended := make(chan struct{})
	e.Beside = []func(context.Context) error{func(ctx context.Context) error {
		<-ctx.Done()
		close(ended)
		return nil
	}}
	over := e.Over
	e.Over = func(ctx context.Context, ending Ending) error {
		select {
		case <-ended:
		default:
			t.Error("what goes on beside the script has not ended when the episode is over")
		}
		return over(ctx, ending)
	}
	if _, err := e.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"prepare", "play", "settle", "over", "clear"}, told); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

func TestAnErrorEndsAnEpisode(t *testing.T) {
	broken := errors.New("broken")
	fails := func(context.Context) error { return broken }
	tests := map[string]struct {
		change func(*Episode)
		told   []string
	}{
		"of its preparation": {func(e *Episode) { e.Prepare = fails }, nil},
		"of its script":      {func(e *Episode) { e.Play = fails }, []string{"prepare"}},
		"of what goes on beside it": {func(e *Episode) {
			e.Beside = []func(context.Context) error{fails}
			e.Play = func(ctx context.Context) error {
				<-ctx.Done()
				return ctx.Err()
			}
		}, []string{"prepare"}},
		"of who looks at it": {
			func(e *Episode) { e.Over = func(context.Context, Ending) error { return broken } },
			[]string{"prepare", "play", "settle"},
		},
		"of its clearing": {
			func(e *Episode) { e.Clear = func(context.Context, func() bool) error { return broken } },
			[]string{"prepare", "play", "settle", "over"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			var told []string
			e := telling(&told)
			test.change(e)
			if _, err := e.Run(t.Context()); !errors.Is(err, broken) {
				t.Errorf("error %v", err)
			}
			if diff := cmp.Diff(test.told, told); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatDoesNotSettleIsTold(t *testing.T) {
	var told []string
	e := telling(&told)
	e.Unsettled, e.Limit = func() []string { return []string{"a pod waits"} }, time.Millisecond
	ending, err := e.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a pod waits"}, ending.Because); diff != "" || ending.Settled <= e.Limit {
		t.Errorf("settled in %s (-want +got):\n%s", ending.Settled, diff)
	}
	if told[len(told)-1] != "clear" {
		t.Errorf("steps: %v", told)
	}
}

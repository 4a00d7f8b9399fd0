package main

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/e2e/podwatch"
)

func TestFigures(t *testing.T) {
	const members = 1000
	began := time.Unix(1000, 0)
	after := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	whole := startOf(members, 50*time.Millisecond, began, podwatch.Tally{Bound: members, Last: after(11)}, spell{after(8), after(10), 0})
	late := startOf(
		members, 200*time.Millisecond, began, podwatch.Tally{Bound: members - 1, Last: after(29)}, spell{after(8), after(28), 17 * time.Second},
	)
	for name, test := range map[string]struct {
		starts []start
		want   []string
		err    bool
	}{
		"a gang that is partial while it is being bound": {[]start{whole}, []string{
			"started=1", "seconds_50ms=11.0", "partial_seconds_50ms=2.0", "partial_idle_seconds_50ms=0.0",
		}, false},
		"one that is partial while nothing happens": {[]start{whole, late}, []string{
			"started=0", "seconds_50ms=11.0", "partial_seconds_50ms=2.0", "partial_idle_seconds_50ms=0.0",
			"seconds_200ms=29.0", "partial_seconds_200ms=20.0", "partial_idle_seconds_200ms=17.0",
		}, true},
		"one with nothing bound": {[]start{startOf(members, time.Second, began, podwatch.Tally{Created: members}, spell{})}, []string{
			"started=0", "seconds_1s=0.0", "partial_seconds_1s=0.0", "partial_idle_seconds_1s=0.0",
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			if err := printFigures(&out, members, test.starts); (err != nil) != test.err {
				t.Errorf("error %v", err)
			}
			var got []string
			for line := range strings.Lines(out.String()) {
				got = append(got, strings.TrimPrefix(strings.TrimSpace(line), "figure slow_api_gang_of_1000_"))
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("figures (-want +got):\n%s", diff)
			}
		})
	}
}

func TestDelays(t *testing.T) {
	for text, want := range map[string]delays{
		"1s,20ms": {time.Second, 20 * time.Millisecond},
		"0s":      {0},
		"1s,":     nil,
		"-1s":     nil,
		"slow":    nil,
	} {
		d := delays{time.Hour}
		if err := d.Set(text); (err != nil) != (want == nil) || err == nil && !cmp.Equal(want, d) {
			t.Errorf("%q: %s, error %v, want %v", text, &d, err, want)
		}
	}
}

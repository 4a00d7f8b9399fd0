package simulation

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"muster.dev/muster/inspect"
)

// Answer tells how jobs fared by one configuration, or by two.
type Answer struct {
	Trace string `json:"trace"` // the name of the file
	Jobs  int    `json:"jobs"`
	Pods  int    `json:"pods"`
	Nodes int    `json:"nodes"`
	// LeftOut counts what was left out of the trace, by why.
	LeftOut map[string]int `json:"leftOut,omitempty"`
	// SpanSeconds is from the start until the last job comes, and ChartSeconds for how long the charts are.
	SpanSeconds  float64 `json:"spanSeconds"`
	ChartSeconds float64 `json:"chartSeconds"`
	Runs         []Run   `json:"runs"`
}

// Sum sums up replays of one input, by the names of their configurations.
func Sum(name string, in Input, configurations []string, records []*Record) *Answer {
	over := time.Second
	for _, r := range records {
		over = max(over, r.until(in.Trace.Jobs))
	}
	a := &Answer{
		Trace: name, Jobs: len(in.Trace.Jobs), Pods: in.Trace.Pods(), Nodes: len(in.Nodes.Nodes), LeftOut: in.Trace.LeftOut,
		SpanSeconds: in.Trace.Span().Seconds(), ChartSeconds: over.Seconds(),
	}
	for i, r := range records {
		a.Runs = append(a.Runs, r.sum(configurations[i], &in, over))
	}
	return a
}

// line is a figure, of each run.
type line struct {
	name  string
	value func(*Run) float64
	text  func(*Run) string
	times bool // the ratio of two runs says something
}

// lines are the figures of the answer.
func (a *Answer) lines() []line {
	all := []line{
		counted("jobs started", func(r *Run) int { return r.Started }),
		counted("jobs that wait at the end", func(r *Run) int { return r.Waiting }),
	}
	all = append(all, waitLines("wait", func(r *Run) *Waits { return &r.Wait })...)
	all = append(all, waitLines("wait of the tenth with most pods", func(r *Run) *Waits { return &r.WaitLargest })...)
	slowdown := func(r *Run) float64 { return r.Slowdown }
	all = append(all, line{"bounded slowdown, mean", slowdown, func(r *Run) string { return fmt.Sprintf("%.2f", r.Slowdown) }, true})
	for i := range a.Runs[0].Use {
		value := func(r *Run) float64 { return r.Use[i].Share }
		text := func(r *Run) string { return fmt.Sprintf("%.1f %%", 100*r.Use[i].Share) }
		all = append(all, line{"in use of " + a.Runs[0].Use[i].Resource, value, text, true})
	}
	return append(all,
		line{
			"kept idle by bookings, pod-seconds", func(r *Run) float64 { return r.IdlePodSeconds },
			func(r *Run) string { return fmt.Sprintf("%.0f", r.IdlePodSeconds) }, true,
		},
		lasting("room was booked for", func(r *Run) float64 { return r.BookedSeconds }),
		line{"forecasts kept, of nine in ten", nil, kept, false},
	)
}

func kept(r *Run) string {
	if r.Forecasts == 0 {
		return "-"
	}
	return fmt.Sprintf("%d of %d", r.Kept, r.Forecasts)
}

func counted(name string, of func(*Run) int) line {
	return line{name, func(r *Run) float64 { return float64(of(r)) }, func(r *Run) string { return fmt.Sprint(of(r)) }, true}
}

func lasting(name string, of func(*Run) float64) line {
	return line{name, of, func(r *Run) string { return inspect.Seconds(of(r)).String() }, true}
}

func waitLines(of string, waits func(*Run) *Waits) []line {
	return []line{
		lasting(of+", mean", func(r *Run) float64 { return waits(r).Mean }),
		lasting(of+", half within", func(r *Run) float64 { return waits(r).P50 }),
		lasting(of+", nine in ten within", func(r *Run) float64 { return waits(r).P90 }),
		lasting(of+", longest", func(r *Run) float64 { return waits(r).Max }),
	}
}

// ratio divides a figure of the second run by that of the first one, as text, - where that says nothing.
func (l *line) ratio(first, second *Run) string {
	if !l.times {
		return "-"
	}
	switch a, b := l.value(first), l.value(second); a {
	case b:
		return "1.00"
	case 0:
		return "-"
	default:
		return fmt.Sprintf("%.2f", b/a)
	}
}

// title says what was replayed.
func (a *Answer) title() string {
	span := inspect.Seconds(a.SpanSeconds)
	return fmt.Sprintf("%s: %s of %s, which come over %s, on %s",
		a.Trace, number(a.Jobs, "job"), number(a.Pods, "pod"), span, number(a.Nodes, "node"))
}

// number says how many things of a name there are.
func number(count int, name string) string {
	if count == 1 {
		return "1 " + name
	}
	return fmt.Sprintf("%d %ss", count, name)
}

// leftOut says in words what was left out.
func (a *Answer) leftOut() (lines []string) {
	for _, why := range slices.Sorted(maps.Keys(a.LeftOut)) {
		lines = append(lines, fmt.Sprintf("left out: %d that %s", a.LeftOut[why], why))
	}
	return lines
}

// Text implements [inspect.Answer].
func (a *Answer) Text(t *inspect.Table) {
	t.Title("%s", a.title())
	if lines := a.leftOut(); len(lines) > 0 {
		for _, line := range lines {
			t.Row(line)
		}
		t.Gap()
	}
	head := []any{""}
	for i := range a.Runs {
		head = append(head, a.Runs[i].Name)
	}
	if len(a.Runs) == 2 {
		head = append(head, "ratio")
	}
	t.Row(head...)
	for _, l := range a.lines() {
		row := []any{l.name}
		for i := range a.Runs {
			row = append(row, l.text(&a.Runs[i]))
		}
		if len(a.Runs) == 2 {
			row = append(row, l.ratio(&a.Runs[0], &a.Runs[1]))
		}
		t.Row(row...)
	}
	a.charts(t)
	for i := range a.Runs {
		for j, u := range a.Runs[i].Unstarted {
			if j == 0 {
				t.Gap()
				t.Row(fmt.Sprintf("wait at the end by %s: %d", a.Runs[i].Name, a.Runs[i].Waiting))
			}
			t.Row(fmt.Sprintf("  %s, of %s: %s", u.Job, number(u.Pods, "pod"), u.Why))
		}
	}
}

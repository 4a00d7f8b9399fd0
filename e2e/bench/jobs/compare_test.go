package jobs

import (
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"text/tabwriter"
	"time"

	"muster.dev/muster/e2e/bench/figures"
	"muster.dev/muster/e2e/bench/lab"
	"muster.dev/muster/e2e/bench/racks"
)

// The parameters of the comparison, which is a test because package synctest simulates time in tests alone.
const (
	// hoursEnv is for how long jobs come, in hours. Without it nothing is compared.
	hoursEnv = "BACKFILL_HOURS"
	// seedsEnv is how many workloads there are of each kind.
	seedsEnv = "BACKFILL_SEEDS"
	// dataEnv names the directory of the openb trace.
	dataEnv = "DEMO_DATA"

	nodes, perNode = 16, 8
	load           = 0.9
	after          = time.Minute // gangs wait before room is booked
	// every is how thin openb is made: one of its pods in eight, so that a cluster of this size has them in a few days.
	every = 8
)

// TestFigures prints the figures of make bench-backfill.
func TestFigures(t *testing.T) {
	hours, err := strconv.Atoi(os.Getenv(hoursEnv))
	if err != nil || hours < 1 {
		t.Skipf("%s has no number of hours: make bench-backfill sets it", hoursEnv)
	}
	out := os.Stdout
	seeds, err := figures.FromEnv(os.Getenv, seedsEnv, 3, 100)
	if err != nil {
		t.Fatal(err)
	}
	scenario(t, out, hours)
	over, trace := time.Duration(hours)*time.Hour, racks.Trace(nil)
	if data := os.Getenv(dataEnv); data == "" {
		fmt.Fprintf(out, "SKIPPED: openb, since %s is not set\n", dataEnv)
	} else {
		trace = openB(t, data)
	}
	c := &comparison{out: out, of: map[string][]ratios{}, kept: map[Saying]Forecasts{}}
	for seed := range uint64(seeds) {
		c.add(t, FromRacks("philly", nil, nodes, perNode, load, over, seed+1), seed+1)
		c.add(t, Lublin(nodes, perNode, load, over, seed+1), seed+1)
		if trace != nil {
			c.add(t, FromRacks("openb", trace, nodes, perNode, load, 0, seed+1), seed+1)
		}
	}
	c.print(t)
}

func scenario(t *testing.T, out io.Writer, hours int) {
	t.Helper()
	s := Scenario{Nodes: 100, Over: time.Hour}
	if hours < 3 {
		s.Over = 15 * time.Minute // a smoke run
	}
	with, without := s.Run(t, 30*time.Second), s.Run(t, 0)
	fmt.Fprintf(out, "a gang of 200 on 100 nodes that are 90 %% full, room booked after 30 s: %+v\nwithout: %+v\n", with, without)
	if with.Started != 200 {
		t.Errorf("%d of 200 members have started", with.Started)
	}
	figures.Print(out, "reserve_gang_200_started_s", 0, with.Gang.Seconds())
	figures.Print(out, "reserve_gang_200_started_without", 0, float64(without.Started))
	figures.Print(out, "reserve_small_pods_vs_without", 3, float64(with.Small)/float64(without.Small))
	figures.Print(out, "reserve_idle_share", 4, with.Idle)
	figures.Print(out, "reserve_idle_share_while_booked", 3, with.IdleWhile)
}

func openB(t *testing.T, data string) (thin racks.Trace) {
	t.Helper()
	dir, err := lab.InRepository(t.Context(), data)
	if err != nil {
		t.Fatal(err)
	}
	table, err := os.Open(filepath.Join(dir, "openb_pods.csv"))
	if err != nil {
		t.Fatalf("%s=%s: %v", dataEnv, data, err)
	}
	defer table.Close()
	trace, err := racks.ReadOpenB(table)
	if err != nil {
		t.Fatalf("%s=%s: %v", dataEnv, data, err)
	}
	for i := 0; i < len(trace); i += every {
		thin = append(thin, trace[i])
	}
	return thin
}

// ratios are of muster with room in time to something else, of one workload and saying.
type ratios struct{ wait, use, slowdown, easyWait float64 }

// comparison compares what rules make of workloads.
type comparison struct {
	out  io.Writer
	of   map[string][]ratios // by "workload_saying", and by each of them
	kept map[Saying]Forecasts
}

// add replays a workload by all rules, and prints what each makes of it.
func (c *comparison) add(t *testing.T, w *Workload, seed uint64) {
	t.Helper()
	fmt.Fprintf(c.out, "\n%s, seed %d\n", w, seed)
	table := tabwriter.NewWriter(c.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	defer table.Flush()
	fmt.Fprintln(table, "runtimes\trule\twait of the largest tenth\tin use\tslowdown\tforecasts kept\t")
	row := func(s Saying, rule string, r Result, f Forecasts) {
		said := "-"
		if f.All > 0 {
			said = fmt.Sprintf("%d of %d", f.Kept, f.All)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%.3f\t%.2f\t%s\t\n", s, rule, r.LargeWait.Round(time.Second), r.Utilisation, r.Slowdown, said)
	}
	starts, _ := Muster(t, w.Where(Nothing, seed), 0)
	without := Sum(w, starts)
	row(Nothing, "muster without", without, Forecasts{})
	for _, s := range []Saying{Perfect, Noisy, Nothing} {
		said := w.Where(s, seed)
		var easy Result
		for _, rule := range []Rule{FCFS{}, Greedy{}, Conservative{}, EASY{}} {
			r := Sum(said, Replay(said, rule))
			row(s, fmt.Sprintf("%T", rule)[len("jobs."):], r, Forecasts{})
			if rule == (EASY{}) {
				easy = r
			}
		}
		starts, f := Muster(t, said, after)
		with := Sum(said, starts)
		row(s, "muster", with, f)
		c.kept[s] = Forecasts{c.kept[s].Kept + f.Kept, c.kept[s].All + f.All}
		for _, of := range []string{"", "_" + w.Name, "_" + s.String(), "_" + w.Name + "_" + s.String()} {
			c.of[of] = append(c.of[of], ratios{
				wait: longer(with, without), use: with.Utilisation / without.Utilisation,
				slowdown: with.Slowdown / easy.Slowdown, easyWait: longer(with, easy),
			})
		}
	}
}

// longer compares waits. A second is added to each, since there may be none.
func longer(a, b Result) float64 {
	return float64(a.LargeWait+time.Second) / float64(b.LargeWait+time.Second)
}

// print prints the geometric means of all ratios, and how forecasts were kept.
func (c *comparison) print(t *testing.T) {
	t.Helper()
	fmt.Fprintln(c.out)
	for _, of := range slices.Sorted(maps.Keys(c.of)) {
		mean := func(value func(*ratios) float64) float64 {
			sum := 0.0
			for i := range c.of[of] {
				sum += math.Log(value(&c.of[of][i]))
			}
			return math.Exp(sum / float64(len(c.of[of])))
		}
		figures.Print(c.out, "backfill_mean_wait_large_vs_greedy"+of, 3, mean(func(r *ratios) float64 { return r.wait }))
		figures.Print(c.out, "backfill_mean_wait_large_vs_easy"+of, 3, mean(func(r *ratios) float64 { return r.easyWait }))
		figures.Print(c.out, "backfill_utilisation_vs_greedy"+of, 3, mean(func(r *ratios) float64 { return r.use }))
		figures.Print(c.out, "backfill_mean_slowdown_vs_easy"+of, 3, mean(func(r *ratios) float64 { return r.slowdown }))
	}
	var all Forecasts
	for _, s := range []Saying{Perfect, Noisy, Nothing} {
		f := c.kept[s]
		all = Forecasts{all.Kept + f.Kept, all.All + f.All}
		figures.Print(c.out, "forecast_p90_coverage_"+s.String(), 3, float64(f.Kept)/float64(f.All))
	}
	if all.All == 0 {
		t.Error("no forecast was held against a start")
	}
	figures.Print(c.out, "forecast_p90_coverage", 3, float64(all.Kept)/float64(all.All))
	figures.Print(c.out, "forecast_slips", 3, 1-float64(all.Kept)/float64(all.All))
}

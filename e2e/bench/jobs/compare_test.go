package jobs

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"text/tabwriter"
	"time"

	"muster.dev/muster/e2e/bench/figures"
	"muster.dev/muster/e2e/bench/lab"
	"muster.dev/muster/e2e/bench/racks"
)

// The parameters of the comparison. The clock of a bubble of package synctest is that of a test, so this is one.
const (
	// hoursEnv is for how long jobs come, in hours. Without it nothing is compared.
	hoursEnv = "BACKFILL_HOURS"
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
	scenario(t, out, hours)
	over := time.Duration(hours) * time.Hour
	workloads := []*Workload{FromRacks("philly", nil, nodes, perNode, load, over, 1), Lublin(nodes, perNode, load, over, 1)}
	if data := os.Getenv(dataEnv); data == "" {
		fmt.Fprintf(out, "SKIPPED: openb, since %s is not set\n", dataEnv)
	} else {
		workloads = append(workloads, FromRacks("openb", openB(t, data), nodes, perNode, load, 0, 1))
	}
	compare(t, out, workloads)
}

func scenario(t *testing.T, out io.Writer, hours int) {
	t.Helper()
	s := Scenario{Nodes: 100, Hour: time.Hour}
	if hours < 3 {
		s.Hour = 15 * time.Minute // a smoke run
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

// ratios are of muster with room in time to something else, of each workload and saying.
type ratios struct{ wait, use, slowdown, easyWait float64 }

// compare prints what each rule makes of workloads.
func compare(t *testing.T, out io.Writer, workloads []*Workload) {
	t.Helper()
	all, kept, forecast := map[Saying][]ratios{}, 0, 0
	for _, w := range workloads {
		fmt.Fprintf(out, "\n%s\n", w)
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprintln(table, "runtimes\trule\twait of the largest tenth\tin use\tslowdown\tforecasts kept\t")
		row := func(s Saying, rule string, r Result, f Forecasts) {
			said := "-"
			if f.All > 0 {
				said = fmt.Sprintf("%d of %d", f.Kept, f.All)
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%.3f\t%.2f\t%s\t\n", s, rule, r.LargeWait.Round(time.Second), r.Utilisation, r.Slowdown, said)
		}
		starts, _ := Muster(t, w.Where(Nothing, 1), 0)
		without := Sum(w, starts)
		row(Nothing, "muster without", without, Forecasts{})
		for _, s := range []Saying{Perfect, Noisy, Nothing} {
			said := w.Where(s, 1)
			rules := map[string]Result{}
			for _, rule := range []Rule{FCFS{}, Greedy{}, EASY{}, Conservative{}} {
				name := fmt.Sprintf("%T", rule)[len("jobs."):]
				rules[name] = Sum(said, Replay(said, rule))
				row(s, name, rules[name], Forecasts{})
			}
			starts, f := Muster(t, said, after)
			with := Sum(said, starts)
			row(s, "muster", with, f)
			kept, forecast = kept+f.Kept, forecast+f.All
			easy := rules["EASY"]
			all[s] = append(all[s], ratios{
				wait: longer(with, without), use: with.Utilisation / without.Utilisation,
				slowdown: with.Slowdown / easy.Slowdown, easyWait: longer(with, easy),
			})
		}
		table.Flush()
		for _, s := range []Saying{Perfect, Noisy, Nothing} {
			printRatios(out, "_"+w.Name+"_"+s.String(), all[s][len(all[s])-1:])
		}
	}
	fmt.Fprintln(out)
	var every []ratios
	for _, s := range []Saying{Perfect, Noisy, Nothing} {
		printRatios(out, "_"+s.String(), all[s])
		every = append(every, all[s]...)
	}
	printRatios(out, "", every)
	figures.Print(out, "forecast_p90_coverage", 3, float64(kept)/float64(forecast))
	figures.Print(out, "forecast_slips", 3, 1-float64(kept)/float64(forecast))
}

// longer compares waits. A second is added to each, since there may be none.
func longer(a, b Result) float64 {
	return float64(a.LargeWait+time.Second) / float64(b.LargeWait+time.Second)
}

// printRatios prints the geometric means of ratios.
func printRatios(out io.Writer, suffix string, of []ratios) {
	mean := func(value func(*ratios) float64) float64 {
		sum := 0.0
		for i := range of {
			sum += math.Log(value(&of[i]))
		}
		return math.Exp(sum / float64(len(of)))
	}
	figures.Print(out, "backfill_mean_wait_large_vs_greedy"+suffix, 3, mean(func(r *ratios) float64 { return r.wait }))
	figures.Print(out, "backfill_mean_wait_large_vs_easy"+suffix, 3, mean(func(r *ratios) float64 { return r.easyWait }))
	figures.Print(out, "backfill_utilisation_vs_greedy"+suffix, 3, mean(func(r *ratios) float64 { return r.use }))
	figures.Print(out, "backfill_mean_slowdown_vs_easy"+suffix, 3, mean(func(r *ratios) float64 { return r.slowdown }))
}

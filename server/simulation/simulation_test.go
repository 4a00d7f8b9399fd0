package simulation

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/inspect"
	"muster.dev/muster/server/simulation/trace"
)

// read makes an input of a table and of nodes of a shape.
func read(t *testing.T, table, shape string) Input {
	t.Helper()
	in := Input{Nodes: &trace.Nodes{}}
	var err error
	if in.Trace, err = trace.Read("jobs.csv", []byte(table), trace.CSV); err != nil {
		t.Fatal(err)
	}
	if err := in.Nodes.AddShape(shape); err != nil {
		t.Fatal(err)
	}
	return in
}

// booking is a configuration that books room after a time, 0 for never.
func booking(after time.Duration) *config.Configuration {
	cfg := config.Default()
	cfg.Gangs.ReserveAfter.Duration = after
	return cfg
}

func replayed(t *testing.T, in Input, cfg *config.Configuration) *Record {
	t.Helper()
	record, err := Replay(in, cfg, &Progress{})
	if err != nil {
		t.Fatal(err)
	}
	checkRecord(t, in, record)
	return record
}

// checkRecord checks what holds of each replay: nothing starts before it came, gangs start whole, and no node has more than it has room
// for.
func checkRecord(t *testing.T, in Input, record *Record) {
	t.Helper()
	type change struct {
		at   time.Duration
		node string
		by   float64
	}
	room := map[string]float64{}
	for _, node := range in.Nodes.Nodes {
		room[node.Name] = node.Status.Allocatable.Cpu().AsApproximateFloat64() + 1e-6
	}
	var changes []change
	for _, j := range in.Trace.Jobs {
		fate := record.Jobs[j.Number]
		for _, pod := range fate.Pods {
			cpus := j.Asks.Cpu().AsApproximateFloat64()
			changes = append(changes, change{pod.At, pod.Node, cpus}, change{pod.At + j.Runs(trace.Ender{}), pod.Node, -cpus})
			if pod.At < j.At {
				t.Errorf("%s came at %s, and a pod of it has a node at %s", j.Name, j.At, pod.At)
			}
		}
		if got := len(fate.Pods); j.Gang && got != 0 && (got != j.Pods || fate.Pods[got-1].At-fate.Pods[0].At > 2*time.Second) {
			t.Errorf("of the gang %s %d of %d pods have a node: %v", j.Name, got, j.Pods, fate.Pods)
		}
	}
	slices.SortStableFunc(changes, func(a, b change) int {
		if a.at != b.at {
			return int(a.at - b.at)
		}
		return int(a.by*1000) - int(b.by*1000)
	})
	for _, c := range changes {
		if room[c.node] -= c.by; room[c.node] < 0 {
			t.Fatalf("at %s the node %s has %g CPUs too few", c.at, c.node, -room[c.node])
		}
	}
}

// busy is a cluster of 32 places that are all taken by jobs of a minute, as more come than go, and a gang of 12 that comes when it is full.
func busy(t *testing.T) Input {
	t.Helper()
	var table strings.Builder
	table.WriteString("submit,runtime,pods,cpu,name,app,estimate\n100,600,12,1,large,large,10m\n")
	for i := range 200 {
		fmt.Fprintf(&table, "%.1f,60,1,1,small-%d,small,60s\n", 1.7*float64(i), i)
	}
	in := read(t, table.String(), "4:cpu=8,memory=64Gi")
	in.For = in.Trace.Span()
	return in
}

func TestALargeGangStartsOnABusyClusterOnlyIfRoomIsBooked(t *testing.T) {
	in := busy(t)
	with, without := replayed(t, in, booking(30*time.Second)), replayed(t, in, booking(0))
	answer := Sum("jobs.csv", in, []string{"without", "with"}, []*Record{without, with})
	if a, b := &answer.Runs[0], &answer.Runs[1]; b.WaitLargest.Max >= a.WaitLargest.Max || b.IdlePodSeconds == 0 || b.BookedSeconds == 0 {
		t.Errorf("without a booking it goes so: %+v\nwith one: %+v", *a, *b)
	}
	large := slices.IndexFunc(in.Trace.Jobs, func(j *trace.Job) bool { return j.Gang })
	if fate := without.Jobs[large]; fate.Started || fate.Why == "" {
		t.Errorf("without a booking the gang starts: %+v", fate)
	}
	if fate := with.Jobs[large]; !fate.Started || fate.At > 250*time.Second {
		t.Errorf("with a booking the gang has started: %t, at %s", fate.Started, fate.At)
	}
	if a := answer.Runs[0].Use[0]; a.Resource != "cpu" || a.Share < 0.8 || a.Share > 1 {
		t.Errorf("in use are %+v", a)
	}
}

func TestTheSameInputHasTheSameAnswer(t *testing.T) {
	in := busy(t)
	var texts [3][]byte
	var running sync.WaitGroup
	for i := range texts {
		running.Go(func() { // at the same time, too
			record, err := Replay(in, booking(30*time.Second), &Progress{})
			if err != nil {
				t.Error(err)
				return
			}
			texts[i], _ = json.Marshal(Sum("jobs.csv", in, []string{"a"}, []*Record{record}))
		})
	}
	running.Wait()
	for _, text := range texts[1:] {
		if !bytes.Equal(text, texts[0]) {
			t.Errorf("the answers differ:\n%s\n%s", texts[0], text)
		}
	}
}

// random is a table of jobs of all kinds.
func random(seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 0))
	var table strings.Builder
	table.WriteString("submit,runtime,pods,cpu,namespace,priority,estimate,app,gang\n")
	for range 60 {
		estimate := []string{"", "1m", "5m"}[r.IntN(3)]
		fmt.Fprintf(&table, "%d,%d,%d,%s,%s,%d,%s,app-%d,%s\n", r.IntN(900), 1+r.IntN(300), 1+r.IntN(9), []string{"1", "500m", "3"}[r.IntN(3)],
			[]string{"lab", "shop"}[r.IntN(2)], r.IntN(3), estimate, r.IntN(4), []string{"", "no"}[r.IntN(2)])
	}
	return table.String()
}

func TestWhateverComesNoNodeHasTooMuchAndGangsStartWhole(t *testing.T) {
	seeds := uint64(6)
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		in := read(t, random(seed), "5:cpu=6,memory=64Gi")
		after := time.Duration(seed%3) * 20 * time.Second
		record := replayed(t, in, booking(after))
		for i := range record.Jobs {
			if !record.Jobs[i].Started {
				t.Errorf("seed %d: %s has not started: %s", seed, in.Trace.Jobs[i].Name, record.Jobs[i].Why)
			}
		}
	}
}

func TestJobsStartByPriorityAndThenAsTheyCame(t *testing.T) {
	in := read(t, "submit,runtime,cpu,name,priority\n0,60,8,first,0\n10,60,8,low,0\n20,60,8,later,5\n30,60,8,last,5\n", "1:cpu=8,memory=1Gi")
	record := replayed(t, in, booking(0))
	var at []int
	for i := range record.Jobs {
		at = append(at, int(record.Jobs[i].At.Seconds()))
	}
	if want := []int{0, 180, 60, 120}; !slices.Equal(at, want) {
		t.Errorf("jobs start at %v, want %v", at, want)
	}
}

// A profile says to which nodes single pods go.
func TestPodsGoToNodesByTheScoresOfTheirProfile(t *testing.T) {
	cfg := booking(0)
	spread := cfg.Profiles[0]
	spread.SchedulerName = "spread"
	packed := config.Default().Profiles[0]
	for i := range packed.PluginConfig {
		if args, ok := packed.PluginConfig[i].Args.(*config.NodeResourcesFitArgs); ok {
			args.ScoringStrategy.Type = "MostAllocated"
		}
	}
	cfg.Profiles = []config.Profile{packed, spread}
	for scheduler, want := range map[string]int{"spread": 4, "": 1} {
		in := read(t, "submit,runtime,cpu,memory,scheduler\n"+strings.Repeat("0,60,1,1Gi,"+scheduler+"\n", 4), "4:cpu=8,memory=8Gi")
		nodes := map[string]bool{}
		for _, fate := range replayed(t, in, cfg).Jobs {
			nodes[fate.Pods[0].Node] = true
		}
		if len(nodes) != want {
			t.Errorf("by the profile %q four pods are on %d nodes, want %d", scheduler, len(nodes), want)
		}
	}
	in := read(t, "submit,runtime,scheduler\n0,60,none\n", "1:cpu=8")
	const want = `job 1: the configuration has no profile of its schedulerName "none"`
	if _, err := Replay(in, cfg, &Progress{}); err == nil || err.Error() != want {
		t.Errorf("of a pod without a profile it is said %v", err)
	}
}

func TestAReplayEndsWhenNothingMoreHappens(t *testing.T) {
	in := read(t, "submit,runtime,pods,cpu,name,gang\n0,60,1,1,fits,\n0,60,1,9,large,\n0,60,3,9,gang,\n", "2:cpu=8,memory=8Gi")
	record := replayed(t, in, booking(time.Minute))
	if record.End > 15*time.Minute {
		t.Errorf("it ends after %s", record.End)
	}
	run := Sum("jobs.csv", in, []string{"a"}, []*Record{record}).Runs[0]
	if run.Started != 1 || run.Waiting != 2 || len(run.Unstarted) != 2 {
		t.Errorf("it is said %+v", run)
	}
	for _, u := range run.Unstarted {
		if u.Why == "" {
			t.Errorf("nobody says why %s waits", u.Job)
		}
	}
}

func TestAReplayIsStopped(t *testing.T) {
	progress := &Progress{}
	progress.Stop()
	if _, err := Replay(busy(t), booking(0), progress); !errors.Is(err, ErrStopped) {
		t.Errorf("it is said %v, want that it was ended", err)
	}
}

// Of a hundred thousand that wait, nobody waits for the last one to be tried.
func TestAStepIsStoppedBetweenTwoPods(t *testing.T) {
	err := InVirtualTime(func() error {
		w, err := New(Options{Config: booking(0)})
		if err != nil {
			return err
		}
		defer w.Close()
		w.Nodes(1, 8)
		w.Queue(Pod("a", 0), Pod("b", 0), Pod("c", 0))
		w.Stopped = func() bool { return len(w.Waiting()) == 1 }
		long := func(*corev1.Pod) time.Duration { return time.Hour }
		w.Pass(3, func(int) {}, long)
		if got := w.Running(); len(got) != 2 {
			t.Errorf("%v run, want two", got)
		}
		asked := 0
		w.Stopped = func() bool { asked++; return asked > 2 } // and a call is held when all is over
		w.Step(time.Second, func() { w.Queue(Pod("g-0", 0, InGang("g", 2)), Pod("g-1", 0, InGang("g", 2))) }, long)
		return w.Err()
	})
	if err != nil {
		t.Error(err)
	}
}

func TestPodsOfNodesTakeTheirRoom(t *testing.T) {
	in := read(t, "submit,runtime,cpu\n0,60,8\n", "1:cpu=8,memory=8Gi")
	in.Nodes.Stay = []*corev1.Pod{Pod("agent", 0, func(p *corev1.Pod) { p.Spec.NodeName = in.Nodes.Nodes[0].Name })}
	if record := replayed(t, in, booking(0)); record.Jobs[0].Started {
		t.Error("a pod has room that another one has")
	}
}

func TestTimeIsVirtualAndErrorsComeOut(t *testing.T) {
	began, wrong := time.Now(), errors.New("wrong")
	err := InVirtualTime(func() error {
		start, done := time.Now(), make(chan struct{})
		go func() {
			<-time.After(24 * time.Hour)
			close(done)
		}()
		<-done
		if time.Since(start) != 24*time.Hour {
			return fmt.Errorf("%s have passed", time.Since(start))
		}
		return wrong
	})
	if !errors.Is(err, wrong) || time.Since(began) > time.Minute {
		t.Errorf("it is said %v after %s", err, time.Since(began))
	}
	if err := InVirtualTime(func() error { panic("help") }); err == nil || err.Error() != "simulation: help" {
		t.Errorf("of a panic it is said %v", err)
	}
}

func TestAChartIsDrawnInBlocks(t *testing.T) {
	values := make([]float64, points)
	for i := range values {
		values[i] = float64(i) / points
	}
	rows := drawn(values, 1)
	for i, row := range rows {
		if n := len([]rune(row)); n > chartWidth || !strings.HasSuffix(row, "█") {
			t.Errorf("row %d has %d characters: %q", i, n, row)
		}
	}
	if got, want := []rune(rows[0])[chartWidth/2], ' '; got != want && got != 0 {
		t.Errorf("in the middle the top row has %q", got)
	}
	if got := drawn(make([]float64, points), 1); strings.Join(got, "") != "" {
		t.Errorf("of nothing %q is drawn", got)
	}
}

func TestFiguresAreAsTheyAreDefined(t *testing.T) {
	in := read(t, "submit,runtime,cpu,pods,gang\n0,100,8,1,\n0,5,4,2,no\n", "1:cpu=8")
	record := &Record{End: 105 * time.Second, Jobs: []Fate{
		{Started: true, Pods: []Bound{{"a", 0}}},
		{Started: true, At: 100 * time.Second, Pods: []Bound{{"a", 100 * time.Second}, {"a", 100 * time.Second}}},
	}}
	run := Sum("a", in, []string{"a"}, []*Record{record}).Runs[0]
	want := Run{
		Name: "a", Started: 2, Wait: Waits{50, 0, 100, 100}, WaitLargest: Waits{100, 100, 100, 100}, Slowdown: (1 + 10.5) / 2,
		Use: []Use{{"cpu", 1}}, Seconds: 105,
	}
	run.UseOverTime, run.WaitingOverTime = nil, nil
	if diff := cmp.Diff(want, run); diff != "" {
		t.Error(diff)
	}
}

func TestThePageIsWellFormedAndNeedsNothingElse(t *testing.T) {
	in := busy(t)
	in.Trace.Jobs[0].Name = `<script src="x">`
	in.For = 3 * time.Minute
	records := []*Record{replayed(t, in, booking(0)), replayed(t, in, booking(time.Minute))}
	answer := Sum("<b>.csv", in, []string{"a&b.yaml", "c.yaml"}, records)
	page, err := answer.HTML("v1")
	if err != nil {
		t.Fatal(err)
	}
	decoder := xml.NewDecoder(bytes.NewReader(page))
	elements := map[string]int{}
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if element, is := token.(xml.StartElement); is {
			elements[element.Name.Local]++
		}
	}
	if elements["svg"] != 2 || elements["script"] != 0 || elements["link"] != 0 || elements["img"] != 0 {
		t.Errorf("the page has %v", elements)
	}
	for _, other := range []string{"http:", "https:", "src=", "url(", "@import", "<b>"} {
		if strings.Contains(string(page), other) {
			t.Errorf("the page has %s", other)
		}
	}
	var text bytes.Buffer
	if err := inspect.Print(&text, answer, inspect.Text); err != nil {
		t.Fatal(err)
	}
	for _, l := range answer.lines() {
		if !strings.Contains(string(page), l.name) || !strings.Contains(text.String(), l.name) {
			t.Errorf("%q is not on the page and in the text", l.name)
		}
	}
}

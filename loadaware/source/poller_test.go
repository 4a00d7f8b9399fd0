package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"muster.dev/muster/cluster"
)

type answer struct {
	reading *Reading
	err     error
}

// answering is a source that answers whatever is sent. Everything that the test did before it sent happens
// before the Poller goes on.
type answering chan answer

func (a answering) Read(ctx context.Context, _ []time.Duration) (*Reading, error) {
	select {
	case answer := <-a:
		return answer.reading, answer.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// reports holds the last report to a Follower about each node.
type reports map[string]*cluster.Usage

func (r reports) Report(node string, usage *cluster.Usage) { r[node] = usage }

type polled struct {
	*testing.T
	answer   // to the next question
	source   answering
	cluster  *cluster.Cluster
	reports  reports
	recorder *events.FakeRecorder
	registry *prometheus.Registry
	log      bytes.Buffer
}

func poll(t *testing.T, test func(p *polled)) {
	synctest.Test(t, func(t *testing.T) {
		p := &polled{
			T: t, source: make(answering), cluster: newCluster(t, "n", "m"), reports: reports{},
			recorder: events.NewFakeRecorder(10), registry: prometheus.NewRegistry(),
		}
		poller := NewPoller(PollerOptions{
			Clock: clock.RealClock{}, Cluster: p.cluster, Reader: p.source, Health: newHealth(p.recorder, p.registry, &p.log),
			Interval: 15 * time.Second, Timeout: time.Second, Followers: []Follower{p.reports},
			Priority: func(pod *cluster.Pod) string { return "class of " + pod.Name },
		})
		p.reading = &Reading{}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			poller.Run(ctx)
			close(ended)
		}()
		p.pass()
		test(p)
		cancel()
		<-ended
	})
}

// pass lets time pass until the source was asked once more, and what it answered was reported.
func (p *polled) pass() {
	p.source <- p.answer
	synctest.Wait()
}

func cpu(milli int64) cluster.Resources { return cluster.Resources{MilliCPU: milli} }

func TestAReportHasWhatTheNodeUsesBesideItsPods(t *testing.T) {
	tests := []struct {
		name                string
		node, first, second int64
		pods                []string
		system              int64
	}{
		{name: "what its pods leave", node: 1000, first: 300, second: 200, pods: []string{"a", "b"}, system: 500},
		{name: "pods of other nodes do not matter", node: 1000, first: 300, second: 200, pods: []string{"a"}, system: 700},
		{name: "nothing less than nothing", node: 400, first: 300, second: 200, pods: []string{"a", "b"}, system: 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			poll(t, func(p *polled) {
				want := &cluster.Usage{Updated: time.Now(), Interval: 20 * time.Second, Node: cpu(test.node), System: cpu(test.system)}
				want.Pods = map[types.NamespacedName]cluster.PodUsage{}
				figures := map[string]int64{"a": test.first, "b": test.second}
				p.reading = &Reading{
					Nodes: map[string]NodeReading{
						"n":       {At: want.Updated, Window: want.Interval, Used: want.Node},
						"unknown": {At: want.Updated, Used: want.Node},
					},
					Pods: map[types.NamespacedName]cluster.Resources{
						{Namespace: "default", Name: "a"}: cpu(test.first), {Namespace: "default", Name: "b"}: cpu(test.second),
						{Namespace: "default", Name: "elsewhere"}: cpu(1),
					},
				}
				for _, name := range append(test.pods, "unmeasured") {
					must(t, p.cluster.Set(podOn("n", name)))
					if used, measured := figures[name]; measured {
						want.Pods[types.NamespacedName{Namespace: "default", Name: name}] = cluster.PodUsage{Used: cpu(used), Priority: "class of " + name}
					}
				}
				p.pass()
				got := p.reports["n"]
				if got == nil || len(p.reports) != 1 {
					t.Fatalf("reports %v, want one about n", p.reports)
				}
				if len(got.Aggregated) != 15 || got.Aggregated[0].Used.MilliCPU != test.node {
					t.Errorf("statistics %v, want the 15 of one sample", got.Aggregated)
				}
				copied := *got
				copied.Aggregated = nil
				if diff := cmp.Diff(want, &copied); diff != "" {
					t.Errorf("want (-) got (+):\n%s", diff)
				}
			})
		})
	}
}

func TestWhatWasReportedIsNotReportedAgain(t *testing.T) {
	poll(t, func(p *polled) {
		at := time.Now()
		p.reading = &Reading{Nodes: map[string]NodeReading{"n": {At: at, Used: cpu(1)}}}
		p.pass()
		first := p.reports["n"]
		p.pass()
		if p.reports["n"] != first {
			t.Error("the same figures were reported twice")
		}
		p.reading = &Reading{Nodes: map[string]NodeReading{"n": {At: at.Add(time.Second), Used: cpu(3)}}}
		p.pass()
		got := p.reports["n"]
		if got == first || got.Aggregated[0].Used.MilliCPU != 2 {
			t.Errorf("reported %+v, want new figures and the average of both", got)
		}
	})
}

func TestTheSourcesOwnStatisticsGoFirst(t *testing.T) {
	poll(t, func(p *polled) {
		own := []cluster.Aggregate{{Type: "p95", Duration: 10 * time.Minute, Used: cpu(9)}}
		p.reading = &Reading{Nodes: map[string]NodeReading{"n": {At: time.Now(), Aggregated: own}}}
		p.pass()
		if diff := cmp.Diff(own, p.reports["n"].Aggregated); diff != "" {
			t.Errorf("want (-) got (+):\n%s", diff)
		}
	})
}

func TestNodesThatASourceForgetsKeepTheirFiguresAndNodesThatAreGoneDoNot(t *testing.T) {
	poll(t, func(p *polled) {
		p.reading = &Reading{Nodes: map[string]NodeReading{"n": {At: time.Now()}, "m": {At: time.Now()}}}
		p.pass()
		p.reading = &Reading{}
		must(t, p.cluster.Delete(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "m"}}))
		p.err = errors.New("away") // that does not matter for nodes that are gone
		p.pass()
		if p.reports["n"] == nil || p.reports["m"] != nil {
			t.Errorf("reports %v, want that of m taken back", p.reports)
		}
	})
}

func TestASourceThatCannotBeReachedIsToldOncePerChange(t *testing.T) {
	poll(t, func(p *polled) {
		p.reading = &Reading{Nodes: map[string]NodeReading{"n": {At: time.Now()}}}
		p.pass()
		before := p.reports["n"]
		p.err = errors.New("connection refused")
		p.pass()
		p.pass()
		p.pass()
		if p.reports["n"] != before {
			t.Error("an error changed what is known")
		}
		p.expect(0, 3)
		p.err = nil
		p.pass()
		p.pass()
		p.expect(1, 3)
		var told []string
		for len(p.recorder.Events) > 0 {
			told = append(told, <-p.recorder.Events)
		}
		want := []string{
			"Warning LoadSourceUnreachable Metrics cannot be read, and what is known of nodes gets older: connection refused",
			"Normal LoadSourceReachable Metrics can be read again",
		}
		if diff := cmp.Diff(want, told); diff != "" {
			t.Errorf("events, want (-) got (+):\n%s", diff)
		}
		var lines []string
		for line := range strings.Lines(p.log.String()) {
			_, line, _ = strings.Cut(line, "level=")
			lines = append(lines, strings.TrimSpace(line))
		}
		if diff := cmp.Diff([]string{
			`INFO msg="reading usage" source=Metrics`,
			`WARN msg="cannot read usage" source=Metrics err="connection refused"`,
			`INFO msg="reading usage again" source=Metrics`,
		}, lines); diff != "" {
			t.Errorf("log, want (-) got (+):\n%s", diff)
		}
	})
}

// expect compares the metrics of the source.
func (p *polled) expect(up, errs int) {
	p.Helper()
	got := map[string]float64{}
	families, err := p.registry.Gather()
	must(p.T, err)
	for _, family := range families {
		got[family.GetName()] = family.Metric[0].GetGauge().GetValue() + family.Metric[0].GetCounter().GetValue()
	}
	want := map[string]float64{
		"muster_load_source_up": float64(up), "muster_load_source_errors_total": float64(errs),
		"muster_load_refused_figures_total": 0, "muster_load_unmeasured_nodes": 1,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		p.Errorf("metrics, want (-) got (+):\n%s", diff)
	}
}

func TestFiguresThatAreRefusedAreCountedAndToldOfOnce(t *testing.T) {
	poll(t, func(p *polled) {
		refused := func(names ...string) (all []Refusal) {
			for _, name := range names {
				all = append(all, Refusal{Of: name, Resource: "cpu", Value: "-1", Reason: BelowZero})
			}
			return all
		}
		p.reading = &Reading{Nodes: map[string]NodeReading{"n": {At: time.Now(), Used: cpu(7)}}, Refused: refused("m", "unknown")}
		p.pass()
		p.pass()
		if p.reports["m"] != nil || p.reports["n"] == nil {
			t.Errorf("reports %v, want one about n alone", p.reports)
		}
		const line = `msg="figure refused: what it is of is not measured" source=Metrics node=m resource=cpu value=-1 reason=below_zero`
		if got := strings.Count(p.log.String(), "figure refused"); got != 1 || !strings.Contains(p.log.String(), line) {
			t.Errorf("%d lines, want one, %s:\n%s", got, line, p.log.String())
		}
		p.reading = &Reading{}
		p.pass()
		p.reading = &Reading{Refused: refused("m")}
		p.pass()
		if got := strings.Count(p.log.String(), "figure refused"); got != 2 {
			t.Errorf("%d lines after it was right in between, want 2:\n%s", got, p.log.String())
		}
		if got := p.value("muster_load_refused_figures_total", "of", "node", "reason", "below_zero"); got != 3 {
			t.Errorf("counted %v, want 3", got)
		}
	})
}

func TestALookTellsOfABoundedNumberOfRefusals(t *testing.T) {
	var log bytes.Buffer
	refusals, all := NewRefusals(slog.New(slog.NewTextHandler(&log, nil)), nil, "Metrics"), []Refusal{}
	for i := range 1000 {
		all = append(all, Refusal{Of: fmt.Sprint("default/p", i), Pod: true, Resource: "cpu", Value: strings.Repeat("1", 1000), Reason: Infinite})
	}
	refusals.Look(all)
	if lines := strings.Count(log.String(), "\n"); lines != mostTold+1 || !strings.Contains(log.String(), "lines=980") {
		t.Errorf("%d lines, want %d and one that says how many more", lines, mostTold)
	}
}

func TestAQueryThatMeasuresNothingIsNamed(t *testing.T) {
	poll(t, func(p *polled) {
		const query = "load.prometheus.node.queries[cpu]"
		series := func(n int) {
			p.reading = &Reading{Series: map[string]int{query: n, "load.prometheus.pod.queries[cpu]": 9}}
			p.pass()
		}
		for _, n := range []int{0, 0, 3} {
			series(n)
			if got := p.value("muster_load_query_series", "query", query); got != float64(n) {
				t.Errorf("%v series, want %d", got, n)
			}
		}
		if got := p.value("muster_load_source_up"); got != 1 {
			t.Errorf("the source is up: %v, want 1, as it answers", got)
		}
		if got := p.value("muster_load_unmeasured_nodes"); got != 2 {
			t.Errorf("%v nodes are not measured, want both", got)
		}
		for message, times := range map[string]int{"a query measures nothing": 1, "a query measures again": 1} {
			if got := strings.Count(p.log.String(), `msg="`+message+`" source=Metrics query=`+query); got != times {
				t.Errorf("%q is told %d times, want %d:\n%s", message, got, times, p.log.String())
			}
		}
	})
}

// value returns the value of a metric with some labels.
func (p *polled) value(name string, labels ...string) float64 {
	p.Helper()
	families, err := p.registry.Gather()
	must(p.T, err)
	for _, family := range families {
		for _, metric := range family.Metric {
			has := map[string]string{}
			for _, label := range metric.Label {
				has[label.GetName()] = label.GetValue()
			}
			matches := family.GetName() == name
			for i := 0; i < len(labels); i += 2 {
				matches = matches && has[labels[i]] == labels[i+1]
			}
			if matches {
				return metric.GetGauge().GetValue() + metric.GetCounter().GetValue()
			}
		}
	}
	p.Fatalf("there is no %s of %v", name, labels)
	return 0
}

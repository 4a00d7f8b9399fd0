package console

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	clocktesting "k8s.io/utils/clock/testing"

	"muster.dev/muster/cluster"
	"muster.dev/muster/loadaware/source"
	"muster.dev/muster/loadaware/usage"
	"muster.dev/muster/server/servertest"
)

// newLoadPages returns a bench with node a, measured 70 s ago with 7 CPUs of 10 in use, and b, which has never been
// measured, and a source that answered once and then no more.
func newLoadPages(t *testing.T) *bench {
	now := clocktesting.NewFakeClock(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC))
	var feed *usage.Feed
	b := newLoadBench(t, benchOptions{usage: func(c *cluster.Cluster) *usage.Feed {
		feed = &usage.Feed{
			Keeper: source.NewKeeper(source.KeeperOptions{Clock: now, Registerer: prometheus.NewRegistry(), Cluster: c}),
			Health: source.NewHealth(source.HealthOptions{
				Logger: slog.New(slog.DiscardHandler), Clock: now, Registerer: prometheus.NewRegistry(), Source: "Metrics",
			}),
		}
		return feed
	}})
	b.Node("a", "10")
	b.Node("b", "10")
	running := servertest.Pod("running", "1")
	running.Spec.NodeName = "a"
	if err := b.Cluster.Set(running); err != nil {
		t.Fatal(err)
	}
	pending := servertest.Pod("p", "1")
	pending.Spec.SchedulerName = ""
	b.Pending(pending)
	feed.Health.Observe(nil)
	feed.Keeper.Report("a", &cluster.Usage{Updated: now.Now(), Node: cluster.Resources{MilliCPU: 7000}})
	now.Step(70 * time.Second)
	feed.Health.Observe(io.ErrUnexpectedEOF)
	return b
}

func TestLoadPageHasALineForEachNode(t *testing.T) {
	_, got := newLoadPages(t).Get("/debug/load")
	var lines []string
	for line := range strings.Lines(got) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	want := []string{
		"usage from Metrics, which cannot be read since 2026-01-01T12:01:10Z; last error, at 2026-01-01T12:01:10Z: unexpected EOF",
		"",
		"PROFILE NODE MEASURED AGE USED ESTIMATE THRESHOLDS SCORE AGAINST",
		// The pod is not reported: 850m, and 200 MiB of 64 GiB.
		"default-scheduler a lately 1m10s cpu 70%, memory 0% cpu 78%, memory 0% cpu 65%, memory 95% 21 node(s) cpu usage exceed threshold",
		"default-scheduler b never - - - cpu 65%, memory 95% 0 -",
	}
	if diff := cmp.Diff(want, lines); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestLoadPageIsJSONForThoseWhoAskForIt(t *testing.T) {
	b := newLoadPages(t)
	_, byQuery := b.Get("/debug/load?format=json&pod=default/p")
	_, byHeader := b.Get("/debug/load?pod=default/p", "Accept", "application/json")
	if diff := cmp.Diff(byQuery, byHeader); diff != "" {
		t.Errorf("(-by query +by header):\n%s", diff)
	}
	var page loadPage
	if err := json.Unmarshal([]byte(byQuery), &page); err != nil {
		t.Fatal(err)
	}
	node := page.Profiles[0].Nodes[0]
	if page.Source.Source != "Metrics" || node.Node != "a" || *node.AgeSeconds != 70 || node.Adds["cpu"] != 850 ||
		node.Filter.Estimate["cpu"] != 8700 ||
		node.Pods != nil {
		t.Errorf("source %+v, node %+v", page.Source, node)
	}
}

func TestLoadPageOfANodeShowsTheWholeSum(t *testing.T) {
	b := newLoadPages(t)
	_, text := b.Get("/debug/load/a?pod=default/p")
	text = strings.Join(strings.Fields(text), " ")
	for _, want := range []string{
		"NODE a cpu memory measured lately, age 1m10s", "base of the filter 7000 0 node", "the pod 850 ",
		"default/running, estimate 850 209715200 koord-prod, counts: unreported", "default/running, used - -",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing: %s", want, text)
		}
	}
	_, encoded := b.Get("/debug/load/a?format=json")
	var page loadPage
	if err := json.Unmarshal([]byte(encoded), &page); err != nil {
		t.Fatal(err)
	}
	if pods := page.Profiles[0].Nodes[0].Pods; len(pods) != 1 || pods[0].Counts != "unreported" {
		t.Errorf("pods %+v", pods)
	}
}

func TestLoadPagesNameWhatTheyDoNotKnow(t *testing.T) {
	b := newLoadPages(t)
	for _, test := range []struct {
		path   string
		status int
		want   string
	}{
		{"/debug/load/c", http.StatusNotFound, `node: no node "c" in the view of the cluster`},
		{"/debug/load?pod=default/q", http.StatusNotFound, `pod: no pod "default/q" in the view of the cluster`},
		{"/debug/load?pod=q", http.StatusBadRequest, `pod: "q" is no pod: name one, as in ?pod=namespace/name, or post one`},
	} {
		if status, got := b.Get(test.path); status != test.status || strings.TrimSpace(got) != test.want {
			t.Errorf("%s answers %d %q, want %d %q", test.path, status, got, test.status, test.want)
		}
	}
	without := newBench(t, benchOptions{})
	if _, got := without.Get("/debug/load"); !strings.HasPrefix(got, "no profile runs LoadAware") {
		t.Errorf("without LoadAware: %q", got)
	}
}

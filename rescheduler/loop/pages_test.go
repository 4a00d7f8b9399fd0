package loop

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"muster.dev/muster/api/config"
	"muster.dev/muster/inspect"
	"muster.dev/muster/server/access"
	"muster.dev/muster/server/app"
)

// asks has the process answer about a page.
func (w *world) asks(cfg *config.Configuration, path string) (int, string) {
	answer := httptest.NewRecorder()
	d := &desk{
		synced: func() bool { return true },
		config: cfg,
		loop:   w.loop,
		about:  &inspect.Process{Name: reporter, Clock: w.clock, Started: w.clock.Now()},
	}
	port := app.Port{Field: fieldListen, Endpoints: d.looks(prometheus.NewRegistry()), Elsewhere: d.elsewhere()}
	port.Handler(access.NewMetrics(prometheus.NewRegistry())).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
	return answer.Code, answer.Body.String()
}

func TestThePageTellsOfTheLastLooksAndOfPlans(t *testing.T) {
	w := newWorld(t)
	w.set(w.pod("big", "4"))
	w.clock.Step(time.Minute)
	w.look(t.Context())
	w.reservations.Set(w.created[0])
	cfg := config.Default()
	const asText = `mode DryRun; 0 evictions of 20 in 1h0m0s

POLICY       ENABLED  LOOKED                TOOK  WHAT         PLAN
MakeRoom     true     2030-01-01T00:01:00Z  0s    made a plan  made
Separate     false    -                     -     -            -
Repair       false    -                     -     -            -
Relieve      false    -                     -     -            -
Balance      false    -                     -     -            -
Respread     false    -                     -     -            -
FreeDomains  false    -                     -     -            -
Coalesce     false    -                     -     -            -

BUDGET  NAMESPACE  SELECTOR  DOMAIN  POLICIES  LEFT
rate    -          -         -       -         20

PLAN  POLICY    MODE    PHASE  MOVED  EXPIRES               MESSAGE
made  MakeRoom  DryRun  -             2030-01-01T00:11:00Z  
`
	if _, got := w.asks(cfg, "/debug/rescheduler"); got != asText {
		t.Errorf("(-want +got):\n%s", cmp.Diff(asText, got))
	}
	const asJSON = `{"mode":"DryRun","evictions":0,"limit":20,"perSeconds":3600,"policies":[` +
		`{"policy":"MakeRoom","enabled":true,"looked":"2030-01-01T00:01:00Z","tookSeconds":0,"what":"made a plan","plan":"made"},` +
		`{"policy":"Separate","enabled":false,"tookSeconds":0},{"policy":"Repair","enabled":false,"tookSeconds":0},` +
		`{"policy":"Relieve","enabled":false,"tookSeconds":0},{"policy":"Balance","enabled":false,"tookSeconds":0},` +
		`{"policy":"Respread","enabled":false,"tookSeconds":0},` +
		`{"policy":"FreeDomains","enabled":false,"tookSeconds":0},{"policy":"Coalesce","enabled":false,"tookSeconds":0}],` +
		`"plans":[{"plan":"made","policy":"MakeRoom","mode":"DryRun","expires":"2030-01-01T00:11:00Z"}],"budgets":[{"budget":"rate",` +
		`"left":20}]}` + "\n"
	if _, got := w.asks(cfg, "/debug/rescheduler?format=json"); got != asJSON {
		t.Errorf("(-want +got):\n%s", cmp.Diff(asJSON, got))
	}
	if status, got := w.asks(cfg, "/debug/"); status != http.StatusOK || !strings.Contains(got, "/debug/rescheduler ") {
		t.Errorf("the index answered %d:\n%s", status, got)
	}
}

func TestThePageSaysWhomNoPlanHelps(t *testing.T) {
	w := newWorld(t)
	for i := range maxRefused + 2 {
		w.set(w.pod(fmt.Sprintf("huge-%02d", i), "8"))
	}
	w.clock.Step(time.Minute)
	w.look(t.Context())
	const why = "no node could take the pod, whatever pods were moved: 2 nodes: Insufficient cpu"
	_, text := w.asks(config.Default(), "/debug/rescheduler")
	for _, want := range []string{"MakeRoom  default/huge-19  " + why + "\n", "MakeRoom  and 2 more       -\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not have %q:\n%s", want, text)
		}
	}
	_, asJSON := w.asks(config.Default(), "/debug/rescheduler?format=json")
	if want := `{"name":"default/huge-21","why":"` + why + `"}`; !strings.Contains(asJSON, want) {
		t.Errorf("the page does not have %s:\n%s", want, asJSON)
	}
}

func TestThePagesCanBeSwitchedOff(t *testing.T) {
	w, cfg := newWorld(t), config.Default()
	cfg.Debug.Listen = ""
	for path, want := range map[string]int{
		"/livez": http.StatusOK, "/metrics": http.StatusOK, "/debug/": http.StatusNotFound, "/debug/rescheduler": http.StatusNotFound,
	} {
		if got, body := w.asks(cfg, path); got != want {
			t.Errorf("%s answered %d, want %d: %s", path, got, want, body)
		}
	}
}

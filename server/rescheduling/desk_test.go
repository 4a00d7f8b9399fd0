package rescheduling

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/inspect"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/loop"
	"muster.dev/muster/server/access"
	"muster.dev/muster/server/app"
)

// newDesk is the desk of a rescheduler that has seen nothing, and whose API server is nowhere.
func newDesk(t *testing.T, requests string) *desk {
	t.Helper()
	log, registry, now := slog.New(slog.DiscardHandler), prometheus.NewRegistry(), clock.RealClock{}
	cfg := config.Default()
	cfg.Rescheduler.Listen = "127.0.0.1:0"
	cfg.Rescheduler.Separate = config.SeparatePolicy{Enabled: true, Listen: requests}
	connection := &rest.Config{Host: "127.0.0.1:1"}
	nowhere, objects := kubernetes.NewForConfigOrDie(connection), dynamic.NewForConfigOrDie(connection)
	c := cluster.New(cluster.Options{Logger: log, Registerer: registry, AssumeTTL: time.Hour})
	plans := loop.New(loop.Options{
		Logger: log, Registerer: registry, Clock: now, Config: cfg, Cluster: c, Profiles: predicates.NewProfiles(),
		Core: nowhere, Objects: objects, Events: app.NoEvents().Recorder(), Lease: "lease",
	})
	return &desk{
		open: access.Listen, log: log, config: cfg, cluster: c, pages: plans.Endpoints(), client: nowhere,
		synced: func() bool { return true }, about: &inspect.Process{Name: reporter, Clock: now, Started: now.Now()},
	}
}

func TestThePagesCanBeSwitchedOff(t *testing.T) {
	for path, want := range map[string][2]int{ // while they are on, and off
		"/livez":             {http.StatusOK, http.StatusOK},
		"/metrics":           {http.StatusOK, http.StatusOK},
		"/debug/":            {http.StatusOK, http.StatusNotFound},
		"/debug/rescheduler": {http.StatusOK, http.StatusNotFound},
	} {
		for i, enabled := range []bool{true, false} {
			d := newDesk(t, "")
			if !enabled {
				d.config.Debug.Listen = ""
			}
			port := app.Port{Field: fieldListen, Endpoints: d.looks(prometheus.NewRegistry()), Elsewhere: d.elsewhere()}
			answer := httptest.NewRecorder()
			port.Handler(access.NewMetrics(prometheus.NewRegistry())).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, path, nil))
			if answer.Code != want[i] {
				t.Errorf("%s answered %d, want %d: %s", path, answer.Code, want[i], answer.Body)
			}
			if path == "/debug/" && enabled && !strings.Contains(answer.Body.String(), "/debug/rescheduler ") {
				t.Errorf("the index does not name the page about plans:\n%s", answer.Body)
			}
		}
	}
}

func TestNothingIsAnsweredOfAViewThatIsNotComplete(t *testing.T) {
	d := newDesk(t, "")
	d.synced = func() bool { return false }
	for _, e := range append(d.looks(prometheus.NewRegistry()), d.requests()...) {
		if e.Pattern != "/readyz" && e.Pattern != "/separate" {
			continue
		}
		answer := httptest.NewRecorder()
		e.Handler.ServeHTTP(answer, httptest.NewRequest(e.Method, e.Pattern, nil))
		if answer.Code != http.StatusServiceUnavailable {
			t.Errorf("%s answered %d, want %d", e.Pattern, answer.Code, http.StatusServiceUnavailable)
		}
	}
}

func TestRequestsAreTakenAtAnAddressOfTheirOwnAndNothingElseIsServedThere(t *testing.T) {
	p := newDesk(t, "127.0.0.1:0")
	servers, err := p.listen(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range servers {
		defer s.Listener.Close()
	}
	if len(servers) != 2 {
		t.Fatalf("it listens at %d addresses, want 2", len(servers))
	}
	for _, test := range []struct {
		at           int
		method, path string
		want         int
	}{
		{0, http.MethodPost, "/separate", http.StatusNotFound},
		{0, http.MethodGet, "/livez", http.StatusOK},
		{1, http.MethodGet, "/separate", http.StatusMethodNotAllowed},
		{1, http.MethodGet, "/metrics", http.StatusNotFound},
		{1, http.MethodGet, "/debug/rescheduler", http.StatusNotFound},
	} {
		answer := httptest.NewRecorder()
		request := httptest.NewRequest(test.method, test.path, nil)
		request.Host = "localhost"
		request.Header.Set("Content-Type", "application/json")
		servers[test.at].HTTP.Handler.ServeHTTP(answer, request)
		if answer.Code != test.want {
			t.Errorf("%s: %s %s answered %d, want %d", servers[test.at].Field, test.method, test.path, answer.Code, test.want)
		}
	}
}

func TestRequestsAreTakenNowhereByDefault(t *testing.T) {
	p := newDesk(t, config.Default().Rescheduler.Separate.Listen)
	servers, err := p.listen(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	defer servers[0].Listener.Close()
	if len(servers) != 1 {
		t.Errorf("it listens at %d addresses, want 1", len(servers))
	}
}

func TestAnAddressInUseNamesTheFieldAndNoPortStaysOpen(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	p := newDesk(t, taken.Addr().String())
	var first net.Listener
	p.open = func(field, address string, connections int) (net.Listener, error) {
		listener, err := access.Listen(field, address, connections)
		if err == nil {
			first = listener
		}
		return listener, err
	}
	if _, err := p.listen(
		prometheus.NewRegistry(),
	); err == nil ||
		!strings.HasPrefix(err.Error(), "rescheduler.separate.listen: listen tcp ") {
		t.Errorf("error %v, want that the address of rescheduler.separate.listen is in use", err)
	}
	if _, err := first.Accept(); err == nil || !strings.Contains(err.Error(), "use of closed") {
		t.Errorf("the other port: error %v, want that it is closed", err)
	}
}

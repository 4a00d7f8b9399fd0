package loop

import (
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"muster.dev/muster/api/config"
	"muster.dev/muster/inspect"
	"muster.dev/muster/server/access"
)

// newListener is a desk that listens, and does nothing else.
func newListener(w *world, requests string) *desk {
	cfg := config.Default()
	cfg.Rescheduler.Listen = "127.0.0.1:0"
	cfg.Rescheduler.Separate = config.SeparatePolicy{Enabled: true, Listen: requests}
	return &desk{
		open: access.Listen,
		log:  slog.New(slog.DiscardHandler), config: cfg, loop: w.loop,
		about: &inspect.Process{Name: reporter, Clock: w.clock, Started: w.clock.Now()},
	}
}

func TestRequestsAreTakenAtAnAddressOfTheirOwnAndNothingElseIsServedThere(t *testing.T) {
	p := newListener(newWorld(t), "127.0.0.1:0")
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
	p := newListener(newWorld(t), config.Default().Rescheduler.Separate.Listen)
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
	p := newListener(newWorld(t), taken.Addr().String())
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

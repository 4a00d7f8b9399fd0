package leadership

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
)

// leaseServer is an API server that has one lease, over a connection.
type leaseServer struct {
	*httptest.Server
	// hangs says which requests are never answered, by how many came before.
	hangs func(before int) bool

	mu    sync.Mutex
	calls []string // where requests came from, and by which HTTP
	lease *coordinationv1.Lease
}

func newLeaseServer(t *testing.T, hangs func(before int) bool) *leaseServer {
	s := &leaseServer{hangs: hangs}
	s.Server = httptest.NewUnstartedServer(s)
	s.EnableHTTP2 = true
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError) // for clients going away is the point here
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// ServeHTTP implements [http.Handler].
func (s *leaseServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	sent := &coordinationv1.Lease{}
	if body, _ := io.ReadAll(r.Body); len(body) > 0 {
		_, _, _ = scheme.Codecs.UniversalDeserializer().Decode(body, nil, sent)
	}
	s.mu.Lock()
	before := len(s.calls)
	s.calls = append(s.calls, r.RemoteAddr+" "+r.Proto)
	s.mu.Unlock()
	if s.hangs != nil && s.hangs(before) {
		<-r.Context().Done()
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.Method != http.MethodGet:
		s.lease = sent
	case s.lease == nil:
		w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(w).
			Encode(metav1.Status{
				TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
				Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound,
			})
		return
	}
	s.lease.TypeMeta = metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}
	_ = json.NewEncoder(w).Encode(s.lease)
}

func (s *leaseServer) config() *rest.Config {
	return &rest.Config{Host: s.URL, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
}

// quick is an election in which an answer is waited for half a second.
func quick() config.LeaderElection {
	election := config.Default().LeaderElection
	election.LeaseDuration.Duration = attempts * 500 * time.Millisecond * 3 / 2
	return election
}

func TestACandidateWhoseRequestHangsTriesAgain(t *testing.T) {
	server := newLeaseServer(t, func(before int) bool { return before == 0 })
	client, err := NewLeaseClient(server.config(), quick())
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(Options{Registerer: prometheus.NewRegistry(), Clock: clock.RealClock{}, Leases: client, Config: quick(), Name: "lease"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	led := false
	if err := c.Run(ctx, func(context.Context, Term) (bool, error) { led = true; return true, nil }); err != nil {
		t.Error(err)
	}
	if !led {
		t.Error("it never came to lead")
	}
}

func TestTheLeaseHasAConnectionOfItsOwnAndANewOneAfterSilence(t *testing.T) {
	server := newLeaseServer(t, func(before int) bool { return before == 2 })
	others, err := kubernetes.NewForConfig(server.config())
	if err != nil {
		t.Fatal(err)
	}
	client, err := NewLeaseClient(server.config(), quick())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = others.CoordinationV1().Leases("default").Get(t.Context(), "lease", metav1.GetOptions{}) // not found, as the next
	for range 3 {
		_, _ = client.Leases("default").Get(t.Context(), "lease", metav1.GetOptions{}) // the second hangs
	}
	server.mu.Lock()
	defer server.mu.Unlock()
	calls := server.calls
	if len(calls) != 4 {
		t.Fatalf("%d calls were made: %v", len(calls), calls)
	}
	if other, lease := calls[0], calls[1]; other == lease || lease[len(lease)-len("HTTP/1.1"):] != "HTTP/1.1" {
		t.Errorf("the lease was read over %s, other objects over %s", lease, other)
	}
	if hung, next := calls[2], calls[3]; hung == next {
		t.Errorf("after no answer came over %s, it was used again", hung)
	}
}

package extender

import (
	"context"
	"io"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang"
	"muster.dev/muster/inspect"
	"muster.dev/muster/loadaware"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/reservation"
	"muster.dev/muster/server/app"
	"muster.dev/muster/server/body"
	"muster.dev/muster/server/servertest"
)

// bench is an extender over a cluster of the test's own, served over HTTP.
type bench struct {
	*servertest.Bench
	config       *config.Configuration
	profiles     *predicates.Profiles
	bodies       *body.Readers
	gangs        *gang.Manager
	reservations *reservation.Keeper
	nominator    *nomination.Nominator
	writer       *nomination.Writer
	extender     *Extender
	metrics      *prometheus.Registry
}

type benchOptions struct {
	profiles  string // of the configuration, instead of the profiles of servertest.Config
	selection config.NodeSelection
	client    kubernetes.Interface
	ready     func() error
	await     func(context.Context) error
	maxBody   int64
	traces    trace.TracerProvider
	assumeTTL time.Duration
	log       io.Writer         // what is logged; nil drops it
	pick      func(n int) int   // nil takes the first of equals
	refusals  Refusals          // nil for none
	gangs     bool              // are planned when they are asked about, and never ahead
	plans     clock.WithTicker  // of the room that is kept for plans, nil for none
	ahead     nomination.Client // of pods that are placed ahead, nil for none
}

// benchBindTime is how long the API server may take to bind a pod.
const benchBindTime = time.Minute

func newBench(t testing.TB, o benchOptions) *bench {
	t.Helper()
	b := newExtenderBench(t, o)
	web := httptest.NewServer(inspect.Router(b.extender.Endpoints()...))
	t.Cleanup(web.Close)
	b.URL = web.URL
	return b
}

// newExtenderBench is a bench whose verbs are called without HTTP.
func newExtenderBench(t testing.TB, o benchOptions) *bench {
	t.Helper()
	cfg := servertest.Config(t, o.profiles, o.selection)
	limits := body.DefaultLimits(time.Minute)
	if limits.Body = 1 << 20; o.maxBody != 0 {
		limits.Body = o.maxBody
	}
	if o.ready == nil {
		o.ready = func() error { return nil }
	}
	if o.assumeTTL == 0 {
		o.assumeTTL = time.Hour
	}
	if o.pick == nil {
		o.pick = func(int) int { return 1 }
	}
	log := slog.New(slog.DiscardHandler)
	if o.log != nil {
		log = slog.New(slog.NewTextHandler(o.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	registry := prometheus.NewRegistry()
	c := cluster.New(cluster.Options{Logger: log, Registerer: registry, AssumeTTL: o.assumeTTL})
	b := &bench{
		Bench: &servertest.Bench{TB: t, Cluster: c}, config: cfg, metrics: registry, profiles: profilesOf(t, c, cfg),
		bodies: body.NewReaders(registry, limits),
	}
	options := Options{
		Logger: log, Registerer: registry, Cluster: c, Profiles: b.profiles, Client: o.client, BindTime: benchBindTime, Bodies: b.bodies,
		Traces: o.traces, Ready: o.ready, Await: o.await, Pick: o.pick, Refusals: o.refusals,
	}
	if o.plans != nil {
		b.reservations = reservation.New(reservation.Options{Logger: log, Clock: o.plans, Cluster: c, Profiles: b.profiles})
		options.Reservations = b.reservations
	}
	if o.gangs {
		b.gangs = servertest.Gangs(c, b.profiles, b.reservations)
		options.Gangs = b.gangs.Verbs
	}
	if o.ahead != nil {
		limits := nomination.DefaultLimits(time.Hour)
		limits.MinSaving, limits.Gather = 0, time.Millisecond
		b.writer = nomination.NewWriter(log, prometheus.NewRegistry(), clock.RealClock{}, nomination.DefaultWriteLimits(500))
		b.nominator = nomination.New(nomination.Options{
			Registerer: prometheus.NewRegistry(), Clock: clock.RealClock{}, Cluster: c,
			Profiles: b.profiles, Client: o.ahead, Limits: limits,
			Skip:   func(*cluster.Pod) bool { return false },
			Writer: b.writer,
		})
		options.Nominations = b.nominator
	}
	b.extender = New(options)
	return b
}

// verb returns the verb of a name.
func (e *Extender) verb(name string) *verb {
	for _, v := range e.verbs() {
		if v.name == name {
			return &v
		}
	}
	return nil
}

// profilesOf are the profiles of a configuration, in force.
func profilesOf(t testing.TB, c *cluster.Cluster, cfg *config.Configuration) *predicates.Profiles {
	t.Helper()
	registry := prometheus.NewRegistry()
	profiles, err := app.NewProfiles(app.ProfileOptions{
		Registerer: registry, Cluster: c, Config: cfg,
		Load: loadaware.Options{Logger: slog.New(slog.DiscardHandler), Metrics: loadaware.NewMetrics(registry)},
	})
	if err != nil {
		t.Fatal(err)
	}
	return profiles.InForce()
}

// newExtender is an extender of some profiles alone.
func newExtender(c *cluster.Cluster, client kubernetes.Interface, profiles *predicates.Profiles) *Extender {
	registry := prometheus.NewRegistry()
	return New(Options{
		Logger: slog.New(slog.DiscardHandler), Registerer: registry, Cluster: c, Profiles: profiles, Client: client, BindTime: benchBindTime,
		Bodies: body.NewReaders(registry, body.Limits{Body: 1 << 20, InFlight: 1 << 30, Timeout: time.Minute}),
		Ready:  func() error { return nil },
	})
}

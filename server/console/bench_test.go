package console

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/inspect"
	"muster.dev/muster/loadaware"
	"muster.dev/muster/loadaware/usage"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/placement/runtimes"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/reservation"
	"muster.dev/muster/server/app"
	"muster.dev/muster/server/backfill"
	"muster.dev/muster/server/body"
	"muster.dev/muster/server/extender"
	"muster.dev/muster/server/history"
	"muster.dev/muster/server/leadership"
	"muster.dev/muster/server/servertest"
)

// bench is a console over a cluster of the test's own, served over HTTP beside the verbs.
type bench struct {
	*servertest.Bench
	profiles     *predicates.Profiles
	bodies       *body.Readers
	reservations *reservation.Keeper
	booker       *backfill.Booker
	endpoints    []inspect.Endpoint // of the console
}

type benchOptions struct {
	profiles     string // of the configuration, and what its first one selects; see servertest.Config
	selection    config.NodeSelection
	client       kubernetes.Interface
	traces       trace.TracerProvider
	log          io.Writer          // what is logged; nil drops it
	reserveAfter time.Duration      // how long gangs wait before room is booked for them
	gangs        bool               // are planned when they are asked about, and never ahead
	plans        clock.WithTicker   // of the room that is kept for plans, nil for none
	ahead        *nomination.Limits // by which pods are placed ahead, nil for none
	written      nomination.Client  // takes nominations; nil when none is written
	usage        func(*cluster.Cluster) *usage.Feed
	state        state
}

// state is why a process is not ready, and what of its configuration is refused.
type state struct {
	serving error
	refused *app.Refusal
}

// Synced implements [Readiness].
func (s state) Synced() bool { return s.serving != app.ErrNotSynced } //nolint:errorlint // it is that one or not

// Serving implements [Readiness].
func (s state) Serving() error { return s.serving }

// Ready implements [Readiness].
func (s state) Ready() error {
	if errors.Is(s.serving, leadership.ErrStandingBy) {
		return nil
	}
	return s.serving
}

// refusing is a configuration that may be refused in part.
type refusing struct {
	*app.Reloader
	refused *app.Refusal
}

// Show implements [Configuration].
func (r refusing) Show() app.Configz {
	shown := r.Reloader.Show()
	shown.Refused = r.refused
	return shown
}

func newBench(t testing.TB, o benchOptions) *bench {
	t.Helper()
	cfg, registry := servertest.Config(t, o.profiles, o.selection), prometheus.NewRegistry()
	log := slog.New(slog.DiscardHandler)
	if o.log != nil {
		log = slog.New(slog.NewTextHandler(o.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	c := cluster.New(cluster.Options{Logger: log, Registerer: registry, AssumeTTL: time.Hour})
	profiles, err := app.NewProfiles(app.ProfileOptions{
		Registerer: registry, Cluster: c, Config: cfg, Load: loadaware.Options{Logger: log, Metrics: loadaware.NewMetrics(registry)},
	})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{
		Bench: &servertest.Bench{TB: t, Cluster: c}, profiles: profiles.InForce(),
		bodies: body.NewReaders(registry, body.Limits{Body: 1 << 20, InFlight: 256 << 20, Timeout: time.Minute}),
	}
	reloader := app.NewReloader(app.ReloadOptions{
		Logger: log, Clock: clock.RealClock{}, Registerer: registry, Config: cfg, Profiles: profiles,
	})
	pages := Options{
		Process: &inspect.Process{Name: "muster", Clock: clock.RealClock{}}, Cluster: c, Profiles: b.profiles, Usage: &usage.Feed{},
		Configuration: refusing{reloader, o.state.refused}, Readiness: o.state, Elected: func() bool { return false },
		Ports: func() []*app.Port { return nil }, Bodies: b.bodies,
		History: history.New(history.Options{Clock: clock.RealClock{}, Cluster: c}),
	}
	verbs := extender.Options{
		Logger: log, Registerer: registry, Cluster: c, Profiles: b.profiles, Client: o.client, BindTime: time.Minute, Bodies: b.bodies,
		Traces: o.traces, Ready: func() error { return nil }, Pick: func(int) int { return 1 },
	}
	if o.plans != nil {
		b.reservations = reservation.New(reservation.Options{Logger: log, Clock: o.plans, Cluster: c, Profiles: b.profiles})
		pages.Reservations, verbs.Reservations = b.reservations, b.reservations
	}
	if o.gangs {
		gangs := servertest.Gangs(c, b.profiles, b.reservations)
		pages.Gangs, verbs.Gangs = gangs.Observer, gangs.Verbs
		b.booker = backfill.New(backfill.Options{
			Logger: log, Registerer: registry, Clock: clock.RealClock{}, Cluster: c, Gangs: gangs.Observer, Room: b.reservations,
			History: runtimes.NewHistory(registry), Profiles: b.profiles, After: o.reserveAfter,
		})
		pages.Forecasts = b.booker
	}
	if o.ahead != nil {
		nominator := b.newNominator(&o, registry)
		pages.Nominations, verbs.Nominations = nominator, nominator
	}
	if o.usage != nil {
		pages.Usage = o.usage(c)
	}
	b.endpoints = New(pages).Endpoints()
	health := NewHealth(HealthOptions{
		Stuck: func() error { return nil }, Ready: o.state.Ready, Metrics: registry, Version: "v1.2.3",
	})
	web := httptest.NewServer(inspect.Router(slices.Concat(extender.New(verbs).Endpoints(), health.Endpoints(), b.endpoints)...))
	t.Cleanup(web.Close)
	b.URL = web.URL
	return b
}

// newNominator places pods ahead while the test lasts, if nominations are written.
func (b *bench) newNominator(o *benchOptions, registry *prometheus.Registry) *nomination.Nominator {
	log := slog.New(slog.DiscardHandler)
	writer := nomination.NewWriter(log, registry, clock.RealClock{}, nomination.DefaultWriteLimits(500))
	nominator := nomination.New(nomination.Options{
		Registerer: registry, Clock: clock.RealClock{}, Cluster: b.Cluster, Profiles: b.profiles, Client: o.written,
		Writer: writer, Limits: *o.ahead, Skip: func(*cluster.Pod) bool { return false },
	})
	if o.written == nil {
		return nominator
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { writer.Run(ctx) })
	running.Go(func() { nominator.Run(ctx) })
	b.Cleanup(func() { cancel(); running.Wait() })
	return nominator
}

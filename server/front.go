package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"k8s.io/component-base/tracing"
	"k8s.io/utils/clock"

	"muster.dev/muster/server/access"
	"muster.dev/muster/server/admission"
	"muster.dev/muster/server/app"
	"muster.dev/muster/server/body"
	"muster.dev/muster/server/canary"
	"muster.dev/muster/server/console"
	"muster.dev/muster/server/extender"
	"muster.dev/muster/server/history"
	"muster.dev/muster/server/network"
)

// front answers: the verbs, the webhook and the pages, at their ports.
type front struct {
	log        *slog.Logger
	patience   time.Duration // of stopping
	asks       bool          // clients for a certificate
	readiness  *app.Readiness
	http       *http.Server           // of the verbs
	traces     tracing.TracerProvider // nil when tracing is off
	ports      []*app.Port            // all that are open, that of the verbs first
	components []app.Component
}

func newFront(b *base, p *parts) (*front, error) {
	f := &front{
		log: b.Logger, patience: b.Config.Timeouts.Shutdown(), asks: b.Config.Serving.TLS.AsksClients(), traces: p.traces,
	}
	f.readiness = app.NewReadiness(app.ReadinessOptions{Synced: p.ahead.synced, Certified: p.https.ready, Election: p.api.Election})
	bodies := newBodies(b.Registry, b.Config)
	verbs := extender.New(verbOptions(b, p, bodies, f.readiness))
	locks := newCanary(b, verbs, clock.RealClock{})
	reloader := app.NewReloader(app.ReloadOptions{
		Logger: b.Logger, Clock: clock.RealClock{}, Registerer: b.Registry, File: b.File, Config: b.Config, Profiles: p.profiles,
		Unused: []string{"rescheduler"},
	})
	past := newHistory(b, p, verbs, clock.RealClock{})
	b.Registry.MustRegister(network.NewCollector(b.Cluster, p.ahead.gangs.Observer.Report))
	served := &served{
		verbs:    p.registration.endpoints(verbs.Endpoints()),
		webhooks: admission.NewWebhooks(p.profiles.InForce(), b.Owners.Signs(), b.Registry, bodies),
		health:   console.NewHealth(console.HealthOptions{Stuck: locks.Stuck, Ready: f.readiness.Ready, Metrics: b.Registry, Version: b.Version}),
		pages:    console.New(consoleOptions(b, p, bodies, f.readiness, reloader, past, func() []*app.Port { return f.ports })),
	}
	metrics := access.NewMetrics(b.Registry)
	var err error
	if f.ports, err = open(b, p.https, served); err != nil {
		return nil, err
	}
	f.http = &http.Server{
		Handler:           f.ports[0].Handler(metrics),
		TLSConfig:         f.ports[0].TLS,
		ReadHeaderTimeout: 10 * time.Second,
		// Longer than the 90 s after which the scheduler's client drops an idle
		// connection, so that it is never the server that closes one about to be used.
		IdleTimeout:    120 * time.Second,
		MaxHeaderBytes: access.MaxHeaderBytes,
		ErrorLog:       slog.NewLogLogger(b.Logger.Handler(), slog.LevelWarn),
	}
	access.Track(f.http)
	f.components = []app.Component{
		{Name: "verbs", When: app.Always, Run: func(context.Context) error { return f.serve() }},
		app.Part("locks", app.Always, locks.Run),
		app.Part("history", app.Always, past.Run),
		app.Part("configuration file", app.Always, reloader.Run),
	}
	for _, port := range f.ports[1:] { // they go on while calls in flight finish, so that it can be seen what keeps them
		side := access.NewServer(port.Field, port.Secured(), port.Handler(metrics), b.Logger)
		f.components = append(f.components, app.Component{Name: port.Field, When: app.Always, Run: side.Run})
	}
	return f, nil
}

// verbOptions are what the verbs are made with.
func verbOptions(b *base, p *parts, bodies *body.Readers, readiness *app.Readiness) extender.Options {
	o := extender.Options{
		Logger: b.Logger, Registerer: b.Registry, Cluster: b.Cluster, Profiles: p.profiles.InForce(), Client: p.api.binds,
		BindTime: extender.BindTime(b.Config.Timeouts), Bodies: bodies, Traces: p.traces, Ready: readiness.Serving,
		Await: readiness.Await,
	}
	if p.api.live() {
		o.Gangs, o.Reservations, o.Nominations = p.ahead.gangs.Verbs, p.view.reservations, p.ahead.nominator
		o.Refusals = p.ahead.requeuer
	}
	return o
}

// consoleOptions are what the pages are made with.
func consoleOptions(
	b *base, p *parts, bodies *body.Readers, readiness *app.Readiness, reloader *app.Reloader, past *history.Keeper, ports func() []*app.Port,
) console.Options {
	o := console.Options{
		Process: b.About, Cluster: b.Cluster, Profiles: p.profiles.InForce(), Usage: p.usage.Feed, Configuration: reloader, Readiness: readiness,
		Snapshot: b.options.SnapshotFiles, Elected: p.api.Election.Elected, Ports: ports, Bodies: bodies,
		History: past, Gangs: p.ahead.gangs.Observer, Forecasts: p.ahead.booker,
	}
	if p.api.live() {
		o.Reservations, o.Nominations = p.view.reservations, p.ahead.nominator
	}
	return o
}

// leastPatience is how long a lock may be taken at least before it counts as stuck: the longest that one
// is taken in good order is the plan of a very large gang.
const leastPatience = 15 * time.Second

// newCanary watches over the locks of the verbs. One that is not free for several times as long as
// kube-scheduler waits for an answer will not come free.
func newCanary(b *base, verbs *extender.Extender, now clock.WithTicker) *canary.Canary {
	return canary.New(canary.Options{
		Logger: b.Logger, Registerer: b.Registry, Clock: now, Locks: verbs.Locks,
		Patience: max(3*b.Config.Timeouts.Filter.Duration, leastPatience),
	})
}

// newHistory remembers how the verbs fare, and what waits.
func newHistory(b *base, p *parts, verbs *extender.Extender, now clock.WithTicker) *history.Keeper {
	return history.New(history.Options{
		Clock: now, Cluster: b.Cluster, Calls: verbs.Answered,
		GangsWaiting: func() (waiting int) {
			for _, g := range p.ahead.gangs.Observer.Report() {
				if g.Why != "" {
					waiting++
				}
			}
			return waiting
		},
	})
}

// serve answers the verbs until drain.
func (f *front) serve() error {
	announce(f.log, f.asks, f.ports)
	var err error
	if f.http.TLSConfig != nil {
		err = f.http.ServeTLS(f.ports[0].Listener, "", "")
	} else {
		err = f.http.Serve(f.ports[0].Listener)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serving: %w", err)
}

// announce logs where the process listens, and warns if everybody may have pods bound.
func announce(log *slog.Logger, asks bool, ports []*app.Port) {
	for _, p := range ports {
		log.Info("serving", "listener", p.Field, "address", p.Listener.Addr().String(), "tls", p.TLS != nil)
	}
	verbs := ports[0].Listener.Addr()
	if !access.IsLoopback(verbs) && !asks {
		log.Warn("anybody who reaches the verbs may call them: listen on loopback, have clients show a certificate (serving.tls.clientCAFile or "+
			"selfManaged.clientSecretName), or let a NetworkPolicy keep others out", "listener", fieldVerbs, "address", verbs.String())
	}
}

// drain turns readiness off and lets calls in flight finish.
func (f *front) drain(ctx context.Context) (clean bool) {
	f.readiness.Stop()
	f.log.Info("stopping", "atMost", f.patience)
	if err := f.http.Shutdown(ctx); err != nil {
		f.log.Warn("calls in flight were cut off", "err", err)
		_ = f.http.Close() // nothing is left to be done about it
		return false
	}
	return true
}

// flush sends the last traces.
func (f *front) flush(ctx context.Context) (clean bool) {
	if f.traces == nil {
		return true
	}
	if err := f.traces.Shutdown(ctx); err != nil {
		f.log.Warn("the last traces are lost", "err", err)
	}
	return true
}

package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/tracing"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config/v1alpha2"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/finished"
	"muster.dev/muster/gang/record"
	"muster.dev/muster/inspect"
	"muster.dev/muster/loadaware"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/placement/requeue"
	"muster.dev/muster/rescheduler/holes"
	"muster.dev/muster/server/access"
	"muster.dev/muster/server/canary"
	"muster.dev/muster/server/certs"
	"muster.dev/muster/server/leadership"
)

// Options of a Server.
type Options struct {
	// Config is decoded, defaulted and valid. Required.
	Config *v1alpha2.MusterConfiguration
	// ConfigFile is where it comes from. Its profiles are put in force when it changes.
	ConfigFile ConfigFile
	// RESTConfig is the connection to the API server. Either it or SnapshotFiles is
	// required.
	RESTConfig *rest.Config
	// SnapshotFiles are dumps to answer from instead; "-" is Stdin.
	SnapshotFiles []string
	Stdin         io.Reader
	// Version is what /version reports.
	Version string
	// Flags of the command line by name, which /flagz shows.
	Flags map[string]string
	// Logger is required.
	Logger *slog.Logger
	// Registry takes the metrics and shows them at /metrics; nil stands for a new one.
	Registry inspect.Registry
}

// Server is one muster process.
type Server struct {
	log       *slog.Logger
	config    *v1alpha2.MusterConfiguration
	process   *inspect.Process
	registry  inspect.Registry
	cluster   *cluster.Cluster
	client    kubernetes.Interface // nil without an API server
	metadata  metadata.Interface   // as client
	leader    clients              // as client
	watcher   *cluster.Watcher     // nil without an API server
	finished  *finished.Pods       // as watcher
	holes     *holes.Keeper        // as watcher
	stores    *stores
	reloader  *reloader
	extender  *Extender
	writer    *nomination.Writer // of what is placed ahead of calls; nil without an API server
	requeuer  *requeue.Requeuer  // as writer
	load      load
	traces    tracing.TracerProvider // nil when tracing is off
	bodies    *bodies
	verbs     *verbs
	gates     *gates
	canary    *canary.Canary
	readiness readiness
	candidate *leadership.Candidate // nil without leader election
	led       chan struct{}         // closed when this process leads
	epoch     record.Epoch          // once it leads, by leader election
	drained   atomic.Bool           // all calls were answered before it stopped
	certs     *certs.Keeper         // of the certificate that muster makes itself; nil without one
	access    *access.Metrics

	certificates *certificates // nil without https
	ports        []*port       // all that are open, that of the verbs first
	listener     net.Listener  // of the verbs
	http         *http.Server
	sides        []*access.Server // the others, which go on while calls in flight finish, so that it can be seen what keeps them
}

// clients write what only the leader may: they are behind the fence.
type clients struct {
	core    kubernetes.Interface
	dynamic dynamic.Interface
}

// Run serves until the context ends, and then stops in good order.
func Run(ctx context.Context, o Options) error {
	s, err := New(o)
	if err != nil {
		return err
	}
	return s.Run(ctx)
}

// New builds a server and opens its ports. Run must follow, as it closes them.
func New(o Options) (*Server, error) {
	s := &Server{log: o.Logger, config: o.Config, registry: o.Registry}
	if s.registry == nil {
		s.registry = prometheus.NewRegistry()
	}
	s.process = &inspect.Process{Name: "muster", Version: o.Version, Clock: clock.RealClock{}, Started: time.Now(), Flags: o.Flags}
	inspect.RegisterRuntime(s.registry)
	s.access = access.NewMetrics(s.registry)
	s.cluster = cluster.New(cluster.Options{Logger: o.Logger, Registerer: s.registry, AssumeTTL: o.Config.Timeouts.Assume.Duration})

	s.readiness.fence = leadership.Always()
	var err error
	if s.stores, err = newStores(o.Logger, s.cluster, s.registry, o.Config); err != nil {
		return nil, err
	}
	if err := s.connect(o); err != nil {
		return nil, err
	}
	if s.load.usage != nil {
		s.stores.keeper = s.load.usage.Keeper
	}
	s.registry.MustRegister(loadaware.NewCollector(s.stores.profiles, s.cluster))
	s.reloader = newReloader(o.Logger, clock.RealClock{}, s.registry, o.ConfigFile, o.Config, s.stores)
	s.extender = newExtender(o.Logger, s.cluster, s.leader.core, bindTime(o.Config.Timeouts), s.stores.profiles)
	s.extender.holes = s.holes
	if err := s.planAhead(o); err != nil {
		return nil, err
	}
	if s.traces, err = newTraces(o.Logger, o.Config.Tracing, o.Version); err != nil {
		return nil, err
	}
	s.bodies = newBodies(s.registry, o.Config.Serving, o.Config.Timeouts.Filter.Duration)
	s.verbs = newVerbs(o.Logger, s.registry, s.traces, s.bodies, s.readiness.serving)
	s.gates = newGates(o.Config, s.stores.profiles, s.registry, s.bodies)
	s.canary = s.newCanary(clock.RealClock{})
	if err := s.certify(); err != nil {
		return nil, err
	}
	if err := s.listen(); err != nil {
		return nil, err
	}
	return s, nil
}

// Addr is the address that the server listens on for the verbs.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Run serves until the context ends, a part of the server fails, or the lease is lost. Asked to stop,
// it gives the lease back last, when nothing runs any more.
func (s *Server) Run(ctx context.Context) error {
	s.led = make(chan struct{})
	group, either := errgroup.WithContext(context.WithoutCancel(ctx))
	running, resign := context.WithCancel(either)
	group.Go(func() error {
		defer resign()
		return s.run(ctx, either)
	})
	group.Go(func() error { return s.lead(running) })
	return group.Wait()
}

// run serves until it is asked to stop, or must: the lease is lost, or a part has failed.
func (s *Server) run(asked, must context.Context) error {
	work, stop := context.WithCancel(must)
	defer stop()
	group, work := errgroup.WithContext(work)
	ahead, enough := context.WithCancel(work)
	defer enough()
	group.Go(s.serve)
	for _, side := range s.sides {
		group.Go(func() error { return side.Run(work) })
	}
	if s.certs != nil {
		group.Go(func() error {
			s.certs.Run(work)
			return nil
		})
	}
	group.Go(func() error {
		s.canary.Run(work)
		return nil
	})
	group.Go(func() error { return s.watch(work) })
	group.Go(func() error {
		s.reloader.run(work)
		return nil
	})
	group.Go(func() error { return s.runLoad(work) })
	if s.load.controller != nil {
		group.Go(func() error { return s.runAhead(ahead, s.load.controller.Run) })
	}
	if s.load.reporter != nil {
		group.Go(func() error { return s.runAhead(ahead, s.load.reporter.Run) })
	}
	if s.holes != nil {
		group.Go(func() error {
			s.holes.Run(work)
			return nil
		})
		group.Go(func() error {
			return s.runAhead(ahead, func(ctx context.Context) { s.holes.Confirm(ctx, holes.NewWriter(s.leader.dynamic)) })
		})
	}
	if s.finished != nil {
		group.Go(func() error {
			s.finished.Run(work)
			return nil
		})
	}
	if s.writer != nil {
		group.Go(func() error { return s.runAhead(ahead, s.writer.Run) })
		group.Go(func() error { return s.runAhead(ahead, s.extender.gangs.Run) })
		group.Go(func() error { return s.runAhead(ahead, s.requeuer.Run) })
		group.Go(func() error { return s.runAhead(ahead, s.publishGangs) })
	}
	if s.extender.nominator != nil {
		group.Go(func() error { return s.runAhead(ahead, s.extender.nominator.Run) })
	}
	group.Go(func() error {
		select {
		case <-asked.Done():
		case <-work.Done():
		}
		enough()
		s.drain(must)
		stop()
		return nil
	})
	return group.Wait()
}

func (s *Server) serve() error {
	s.announce()
	var err error
	if s.http.TLSConfig != nil {
		err = s.http.ServeTLS(s.listener, "", "")
	} else {
		err = s.http.Serve(s.listener)
	}
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serving: %w", err)
}

// lostGrace is how long calls in flight may take to be told that this process does not lead any more.
const lostGrace = time.Second

// drain turns readiness off and lets calls in flight finish. When it must end, they have no time for
// that: another replica may answer the next ones already.
func (s *Server) drain(must context.Context) {
	s.readiness.stopping.Store(true)
	s.log.Info("stopping", "atMost", s.config.Timeouts.Shutdown.Duration)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(must), s.config.Timeouts.Shutdown.Duration)
	defer cancel()
	defer context.AfterFunc(must, func() { time.AfterFunc(lostGrace, cancel) })()
	if err := s.http.Shutdown(ctx); err != nil {
		s.log.Warn("calls in flight were cut off", "err", err)
		_ = s.http.Close() // nothing is left to be done about it
	} else {
		s.drained.Store(true)
	}
	if s.traces != nil {
		if err := s.traces.Shutdown(ctx); err != nil {
			s.log.Warn("the last traces are lost", "err", err)
		}
	}
}

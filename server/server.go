package server

import (
	"context"
	"io"
	"net"
	"slices"

	"k8s.io/client-go/kubernetes"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/tracing"

	"muster.dev/muster/server/access"
	"muster.dev/muster/server/app"
)

// Options of a Server. Either RESTConfig or SnapshotFiles is required.
type Options struct {
	app.Options
	// RESTConfig is the connection to the API server.
	RESTConfig *rest.Config
	// SnapshotFiles are dumps to answer from instead; "-" is Stdin.
	SnapshotFiles []string
	Stdin         io.Reader
}

// Server is one muster process, whose ports are open.
type Server struct {
	process *app.Process
	ports   []*app.Port // all that are open, that of the verbs first
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
func New(o Options) (*Server, error) { return build(o, surroundings{listen: access.Listen}) }

// Run serves until the context ends, a part of the server fails, or the lease is lost. Asked to stop,
// it gives the lease back last, when nothing runs any more.
func (s *Server) Run(ctx context.Context) error { return s.process.Run(ctx) }

// Addr is the address that the server listens on for the verbs.
func (s *Server) Addr() net.Addr { return s.ports[0].Listener.Addr() }

// DebugAddr is the address at which there is something to look at, nil when there is none.
func (s *Server) DebugAddr() net.Addr {
	for _, p := range s.ports {
		if p.Field == fieldDebug {
			return p.Listener.Addr()
		}
	}
	return nil
}

// surroundings are what a server finds around it.
type surroundings struct {
	listen app.Listen
	// The others are for tests, beside dumps: what the lease is read with, what pods are bound by, and what is
	// followed.
	leases  coordinationv1client.LeasesGetter
	binds   kubernetes.Interface
	watched kubernetes.Interface
}

// base holds what all parts of a server are made with.
type base struct {
	*app.Base
	options Options
	around  surroundings
}

// parts are what a server is made of behind its ports.
type parts struct {
	api          *api
	usage        *app.Usage
	profiles     *app.Profiles
	registration *registration
	view         *view
	ahead        *ahead
	https        *https
	traces       tracing.TracerProvider // nil when tracing is off
}

// build wires a server, from the view of the cluster up to the ports.
func build(o Options, around surroundings) (*Server, error) {
	b := &base{app.NewBase("muster", o.Options, len(o.SnapshotFiles) == 0), o, around}
	api, err := newAPI(b)
	if err != nil {
		return nil, err
	}
	usage, keepers, err := newUsage(b, api)
	if err != nil {
		return nil, err
	}
	registration := newRegistration(o.Logger, b.Registry)
	profiles, err := newProfiles(b, usage, registration)
	if err != nil {
		return nil, err
	}
	view, err := newView(b, api, usage, profiles.InForce())
	if err != nil {
		return nil, err
	}
	ahead, err := newAhead(b, api, view, profiles.InForce())
	if err != nil {
		return nil, err
	}
	https, err := newHTTPS(b, api)
	if err != nil {
		return nil, err
	}
	traces, err := newTraces(o.Logger, o.Config.Tracing, o.Version)
	if err != nil {
		return nil, err
	}
	front, err := newFront(b, &parts{
		api: api, usage: usage, profiles: profiles, registration: registration, view: view, ahead: ahead, https: https, traces: traces,
	})
	if err != nil {
		return nil, err
	}
	return &Server{ports: front.ports, process: &app.Process{
		Logger: o.Logger,
		Components: slices.Concat(
			api.components(b), front.components, https.components, view.components,
			keepers, []app.Component{usage.Component(view.wait)}, ahead.components, newQuestions(b, api, view, ahead, profiles.InForce()),
		),
		Stops:    []app.Stop{{Name: "traces", Run: front.flush}, {Name: "calls", Run: front.drain}},
		Patience: o.Config.Timeouts.Shutdown(),
		Wait:     ahead.wait,
		Election: api.Election,
		CatchUp:  view.catchUp,
		Begin:    ahead.follow,
	}}, nil
}

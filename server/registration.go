package server

import (
	"log/slog"
	"net/http"
	"sync/atomic"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"

	"muster.dev/muster/api/config"
	"muster.dev/muster/inspect"
	"muster.dev/muster/server/admission"
)

// registration compares what kube-scheduler was told of the profiles, by the URL that it calls, with the profiles in
// force. It is safe for concurrent use.
type registration struct {
	log      *slog.Logger
	outdated prometheus.Gauge
	wanted   atomic.Pointer[wanted]
}

// wanted holds what the profiles in force ask of kube-scheduler.
type wanted struct {
	registration string
	warned       atomic.Bool // the log has told that a caller was told something else
}

func newRegistration(log *slog.Logger, registerer prometheus.Registerer) *registration {
	r := &registration{log: log, outdated: prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "muster_scheduler_config_outdated",
		Help: "1 while kube-scheduler calls muster as its configuration was printed for other profiles than those in force, else 0.",
	})}
	registerer.MustRegister(r.outdated)
	return r
}

// follow takes note of the profiles that are put in force.
func (r *registration) follow(profiles []config.Profile) {
	of, err := admission.Registration(profiles)
	if err != nil { // arguments that were read from JSON cannot be written
		r.log.Error("what the profiles ask of kube-scheduler cannot be told", "err", err)
	}
	r.wanted.Store(&wanted{registration: of})
}

// endpoints are the verbs below the path that names muster, and below the one that says what kube-scheduler was told. They are at paths
// of their own, too: files that were printed before muster had a name there have these.
func (r *registration) endpoints(verbs []inspect.Endpoint) []inspect.Endpoint {
	endpoints := make([]inspect.Endpoint, 0, len(verbs)+3)
	handlers := make(map[string]http.Handler, len(verbs))
	for _, verb := range verbs {
		handler := verb.Handler
		handlers[verb.Pattern] = handler
		verb.Handler = http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
			r.called("")
			handler.ServeHTTP(w, req)
		})
		endpoints = append(endpoints, verb)
	}
	below := func(path, about string) inspect.Endpoint {
		return inspect.Endpoint{
			Method: http.MethodPost, Pattern: path + "{verb}", About: about,
			Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
				handler, is := handlers["/"+chi.URLParam(req, "verb")]
				if !is {
					http.NotFound(w, req)
					return
				}
				r.called(chi.URLParam(req, "registration"))
				handler.ServeHTTP(w, req)
			}),
		}
	}
	const told = admission.RegisteredPath + "{registration}/"
	return append(endpoints,
		below(admission.NamePath+"/", "the same verbs, by a name that kube-scheduler's events show"),
		below(admission.NamePath+told, "the same, where kube-scheduler's configuration was printed for these profiles"),
		below(told, "the same for a configuration that was printed before the verbs had a name"),
	)
}

// called compares what a caller was told with what the profiles in force ask. The log tells of the first difference.
func (r *registration) called(told string) {
	wanted := r.wanted.Load()
	if told == wanted.registration {
		r.outdated.Set(0)
		return
	}
	r.outdated.Set(1)
	if wanted.warned.CompareAndSwap(false, true) {
		r.log.Warn("kube-scheduler's configuration was printed for other profiles, so that nodes may be rated twice or not at all: "+
			"see what differs with 'muster preflight --scheduler-config FILE', print it again with 'muster scheduler-config', and "+
			"restart kube-scheduler", "before", told, "now", wanted.registration)
	}
}

package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/pprof"
	"runtime/debug"
	"slices"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"muster.dev/muster/inspect"
	"muster.dev/muster/server/page"
)

// get is an endpoint that answers with what it is asked for.
func get(pattern, about string, handler http.HandlerFunc) inspect.Endpoint {
	return inspect.Endpoint{Method: http.MethodGet, Pattern: pattern, About: about, Handler: handler}
}

func post(pattern, about string, handler http.Handler) inspect.Endpoint {
	return inspect.Endpoint{Method: http.MethodPost, Pattern: pattern, About: about, Handler: handler}
}

// work is what kube-scheduler calls, and whether it can.
func (s *Server) work() []inspect.Endpoint {
	var endpoints []inspect.Endpoint
	about := map[string]string{
		"filter":     "kube-scheduler asks which nodes a pod fits",
		"prioritize": "kube-scheduler asks how well nodes suit a pod",
		"preempt":    "kube-scheduler asks where evicting its victims would help",
		"bind":       "kube-scheduler asks to bind a pod to a node",
	}
	for _, verb := range s.extender.verbs() {
		endpoints = append(endpoints, post("/"+verb.name, about[verb.name], s.verbs.handler(verb)))
	}
	return slices.Concat(endpoints, s.alive(), s.about())
}

// webhook is what the API server calls.
func (s *Server) webhook() []inspect.Endpoint {
	return []inspect.Endpoint{post("/webhook/gates", "the API server asks for the scheduling gate of a pod that is created", s.gates)}
}

// alive is what a kubelet asks for.
func (s *Server) alive() []inspect.Endpoint {
	return []inspect.Endpoint{
		get("/livez", "200, or 503 and which lock is stuck that verbs need", s.livez),
		get("/readyz", "200 while calls can be answered, else 503 and why not", s.readyz),
	}
}

// about is what the process is.
func (s *Server) about() []inspect.Endpoint {
	return []inspect.Endpoint{get("/version", "what was built, from what, with what", s.version)}
}

// health is what a kubelet and a Prometheus ask for.
func (s *Server) health() []inspect.Endpoint {
	return append(s.alive(),
		get("/metrics", "metrics in the Prometheus format", promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{}).ServeHTTP))
}

// pages are what there is to look at.
func (s *Server) pages() []inspect.Endpoint {
	debug := func(pattern, about string, answer func(*http.Request) (inspect.Answer, error)) inspect.Endpoint {
		return get(pattern, about, inspect.Handler(answer).ServeHTTP)
	}
	explain := debug("/debug/explain", "the same for a pod that is posted as YAML", s.debugExplain)
	explain.Method, explain.Handler = http.MethodPost, s.bodies.timely(explain.Handler)
	pages := append(page.Endpoints(), s.process.Endpoints("/readyz", "/metrics", "/configz", "/version", "/debug/")...)
	pages = append(pages,
		get("/configz", "the configuration in force, and what of its file is refused", s.configz),
		debug("/debug/status", "how muster fares, in short: what 'muster status' asks for", s.debugStatus),
		debug("/debug/listeners", "where the process listens, for whom, and what is served there", s.debugListeners),
		debug("/debug/pending", "pods that have no node", s.debugPending),
		debug("/debug/nodes", "every node: what it offers, what is requested, what is used", s.debugNodes),
		debug("/debug/explain", "?pod=namespace/name: what the profile says of the pod on every node", s.debugExplain),
		explain,
		debug("/debug/equivalence", "equivalence classes whose verdicts are remembered", s.debugEquivalence),
		debug("/debug/equivalence/{class}", "what is remembered of one class on every node", s.debugClass),
		debug("/debug/equivalence/{class}/nodes/{node}", "what each predicate is remembered to say of it on one node", s.debugClassNode),
		debug("/debug/placement", "pods that are placed ahead of kube-scheduler, and what became of others", s.debugPlacement),
		debug("/debug/gangs", "groups of pods that start together, and why they wait", s.debugGangs),
		debug("/debug/gangs/{namespace}/{name}", "the members of one group and their places", s.debugGang),
		debug("/debug/plans", "ReschedulingPlans: which pods move, and how far that is", s.debugPlans),
		debug("/debug/holes", "room that plans of the rescheduler keep, and for whom", s.debugHoles),
		debug("/debug/load", "how busy nodes are by LoadAware; ?pod=namespace/name for a pod", s.debugLoad),
		debug("/debug/load/{node}", "the whole sum of one node: what was measured, and what each pod adds", s.debugLoadNode),
		debug("/debug/predicates", "what each predicate and score reads: the invalidation matrix", s.debugPredicates),
	)
	if !s.config.Serving.Profiling {
		return pages
	}
	return append(pages,
		get("/debug/pprof/", "profiles of the process", pprof.Index),
		get("/debug/pprof/profile", "CPU profile", pprof.Profile),
		get("/debug/pprof/trace", "execution trace", pprof.Trace),
		get("/debug/pprof/symbol", "program counters to names", pprof.Symbol),
		get("/debug/pprof/{profile}", "one profile: heap, goroutine, mutex, block, …", func(w http.ResponseWriter, r *http.Request) {
			pprof.Handler(chi.URLParam(r, "profile")).ServeHTTP(w, r)
		}),
	)
}

func (s *Server) livez(w http.ResponseWriter, _ *http.Request) {
	if err := s.canary.Stuck(); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = fmt.Fprintln(w, "ok")
}

func (s *Server) readyz(w http.ResponseWriter, _ *http.Request) {
	if err := s.readiness.ready(); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	_, _ = fmt.Fprintln(w, "ok")
}

func (s *Server) configz(w http.ResponseWriter, _ *http.Request) { s.writeJSON(w, s.reloader.show()) }

func (s *Server) version(w http.ResponseWriter, _ *http.Request) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		http.Error(w, "the binary carries no build information", http.StatusNotFound)
		return
	}
	settings := map[string]string{}
	for _, setting := range info.Settings {
		settings[setting.Key] = setting.Value
	}
	s.writeJSON(w, map[string]any{"version": s.process.Version, "goVersion": info.GoVersion, "settings": settings})
}

func (s *Server) writeJSON(w http.ResponseWriter, value any) {
	encoded, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(encoded, '\n'))
}

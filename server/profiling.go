package server

import (
	"net/http"
	"net/http/pprof"

	"github.com/go-chi/chi/v5"

	"muster.dev/muster/inspect"
	"muster.dev/muster/server/access"
)

// profiling returns the endpoints of Go's profiler. What they show is of the whole process, and a profile takes its time: they
// are for callers on this host alone, as kubectl port-forward is one.
func profiling() []inspect.Endpoint {
	local := func(pattern, about string, handler http.HandlerFunc) inspect.Endpoint {
		return inspect.Endpoint{
			Method: http.MethodGet, Pattern: pattern, About: about,
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if !access.IsLocal(r) {
					http.Error(w, "profiles are for callers on this host: use kubectl port-forward", http.StatusForbidden)
					return
				}
				handler(w, r)
			}),
		}
	}
	return []inspect.Endpoint{
		local("/debug/pprof/", "profiles of the process, for callers on this host", pprof.Index),
		local("/debug/pprof/profile", "CPU profile", pprof.Profile),
		local("/debug/pprof/trace", "execution trace", pprof.Trace),
		local("/debug/pprof/symbol", "program counters to names", pprof.Symbol),
		local("/debug/pprof/{profile}", "one profile: heap, goroutine, mutex, block, …", func(w http.ResponseWriter, r *http.Request) {
			pprof.Handler(chi.URLParam(r, "profile")).ServeHTTP(w, r)
		}),
	}
}

package server

import (
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/http/pprof"
	"runtime/debug"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// route is a line of the table from which the router and the index page are made.
type route struct {
	method, pattern string
	about           string
	handler         http.HandlerFunc
}

// routes is everything that is served.
func (s *Server) routes() []route {
	var routes []route
	about := map[string]string{
		"filter":     "kube-scheduler asks which nodes a pod fits",
		"prioritize": "kube-scheduler asks how well nodes suit a pod",
		"preempt":    "kube-scheduler asks where evicting its victims would help",
		"bind":       "kube-scheduler asks to bind a pod to a node",
	}
	for _, verb := range s.extender.verbs() {
		routes = append(routes, route{http.MethodPost, "/" + verb.name, about[verb.name], s.verbs.handler(verb)})
	}
	routes = append(routes,
		route{http.MethodPost, "/webhook/gates", "the API server asks for the scheduling gate of a pod that is created", s.gates.ServeHTTP},
		route{http.MethodGet, "/livez", "200 while the process runs", s.livez},
		route{http.MethodGet, "/readyz", "200 while calls can be answered, else 503 and why not", s.readyz},
		route{http.MethodGet, "/metrics", "metrics in the Prometheus format", promhttp.HandlerFor(s.registry, promhttp.HandlerOpts{}).ServeHTTP},
		route{http.MethodGet, "/configz", "the configuration in force, and what of its file is refused", s.configz},
		route{http.MethodGet, "/version", "what was built, from what, with what", s.version},
		route{http.MethodGet, "/debug/nodes", "every node: what it offers, what is requested, how many pods", s.debugNodes},
		route{http.MethodGet, "/debug/explain", "?pod=namespace/name: what the profile says of the pod on every node", s.debugExplain},
		route{http.MethodPost, "/debug/explain", "the same for a pod that is posted as YAML", s.debugExplain},
		route{http.MethodGet, "/debug/equivalence", "equivalence classes whose verdicts are remembered", s.debugEquivalence},
		route{http.MethodGet, "/debug/equivalence/{class}", "what is remembered of one class on every node", s.debugClass},
		route{http.MethodGet, "/debug/equivalence/{class}/nodes/{node}", "what each predicate is remembered to say of it on one node", s.debugClassNode},
		route{http.MethodGet, "/debug/placement", "pods that are placed ahead of kube-scheduler, and what became of others", s.debugPlacement},
		route{http.MethodGet, "/debug/gangs", "groups of pods that start together, and why they wait", s.debugGangs},
		route{http.MethodGet, "/debug/gangs/{namespace}/{name}", "the members of one group and their places", s.debugGang},
		route{http.MethodGet, "/debug/holes", "room that plans of the rescheduler keep, and for whom", s.debugHoles},
		route{http.MethodGet, "/debug/load", "how busy nodes are by LoadAware; ?pod=namespace/name for a pod, ?format=json", s.debugLoad},
		route{http.MethodGet, "/debug/load/{node}", "the whole sum of one node: what was measured, and what each pod adds", s.debugLoadNode},
		route{http.MethodGet, "/debug/predicates", "what each predicate and score reads: the invalidation matrix", s.debugPredicates},
		route{http.MethodGet, "/debug/", "this page", s.index},
	)
	if s.config.Serving.Profiling {
		routes = append(routes,
			route{http.MethodGet, "/debug/pprof/", "profiles of the process", pprof.Index},
			route{http.MethodGet, "/debug/pprof/profile", "CPU profile", pprof.Profile},
			route{http.MethodGet, "/debug/pprof/trace", "execution trace", pprof.Trace},
			route{http.MethodGet, "/debug/pprof/symbol", "program counters to names", pprof.Symbol},
			route{http.MethodGet, "/debug/pprof/{profile}", "one profile: heap, goroutine, mutex, block, …", func(w http.ResponseWriter, r *http.Request) {
				pprof.Handler(chi.URLParam(r, "profile")).ServeHTTP(w, r)
			}},
		)
	}
	return routes
}

// router serves the routes. chi answers 404 and 405 for what is not among them.
func (s *Server) router() http.Handler {
	router := chi.NewRouter()
	for _, route := range s.routes() {
		router.Method(route.method, route.pattern, route.handler)
	}
	router.Get("/debug", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "debug/", http.StatusMovedPermanently)
	})
	return router
}

func (s *Server) livez(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") }

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
	s.writeJSON(w, map[string]any{"version": s.versionName, "goVersion": info.GoVersion, "settings": settings})
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

// index is the page of all routes.
func (s *Server) index(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	if err := indexPage.Execute(w, s.indexRoutes()); err != nil {
		s.log.Debug("index page not sent", "error", err)
	}
}

type indexRoute struct{ Method, Pattern, About string }

// Link says that the route can be followed as it stands.
func (r indexRoute) Link() bool {
	return r.Method == http.MethodGet && !strings.Contains(r.Pattern, "{")
}

func (s *Server) indexRoutes() []indexRoute {
	var rows []indexRoute
	for _, route := range s.routes() {
		rows = append(rows, indexRoute{route.method, route.pattern, route.about})
	}
	return rows
}

// indexPage links relatively, so that it works behind a proxy that adds a prefix.
var indexPage = template.Must(template.New("index").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>muster</title>
<style>body{font:15px/1.5 system-ui,sans-serif;margin:2em;color-scheme:light dark}td{padding:.1em 1em .1em 0}</style></head>
<body><h1>muster</h1><table>
{{range .}}<tr><td>{{.Method}}</td><td>{{if .Link}}<a href="..{{.Pattern}}">{{.Pattern}}</a>{{else}}{{.Pattern}}{{end}}</td><td>{{.About}}</td></tr>
{{end}}</table></body></html>
`))

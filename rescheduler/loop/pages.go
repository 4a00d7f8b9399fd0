package loop

import (
	"cmp"
	"fmt"
	"net/http"
	"text/tabwriter"
	"time"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"muster.dev/muster/rescheduler/executor"
)

func (p *process) router(registry *prometheus.Registry) http.Handler {
	router := chi.NewRouter()
	router.Get("/livez", func(w http.ResponseWriter, _ *http.Request) { _, _ = fmt.Fprintln(w, "ok") })
	router.Get("/readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !p.watcher.Synced() {
			http.Error(w, "the view of the cluster is not complete yet", http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, "ok")
	})
	router.Method(http.MethodGet, "/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	router.Get("/debug/rescheduler", p.loop.page)
	return router
}

// page shows the last looks, and the plans.
func (l *loop) page(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	now := l.clock.Now()
	recent := 0
	for _, eviction := range executor.Evictions(l.holes.Plans()) {
		if now.Sub(eviction.At) < l.limits.Rate.Per {
			recent++
		}
	}
	fmt.Fprintf(w, "mode %s; %d evictions of %d in %s\n\n", l.config.Mode, recent, l.limits.Rate.Evictions, l.limits.Rate.Per)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "POLICY\tENABLED\tLOOKED\tTOOK\tWHAT\tPLAN")
	l.mu.Lock()
	for _, p := range l.policies {
		if last, looked := l.runs[p.Name]; looked {
			fmt.Fprintf(t, "%s\t%t\t%s\t%s\t%s\t%s\n", p.Name, p.Enabled, last.At.UTC().Format(time.RFC3339), last.Took.Round(time.Millisecond), last.What, cmp.Or(last.Plan, "-"))
		} else {
			fmt.Fprintf(t, "%s\t%t\t-\t-\t-\t-\n", p.Name, p.Enabled)
		}
	}
	l.mu.Unlock()
	t.Flush()
	fmt.Fprintln(t)
	fmt.Fprintln(t, "PLAN\tPOLICY\tMODE\tPHASE\tMOVED\tEXPIRES\tMESSAGE")
	for _, plan := range l.holes.Plans() {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", plan.Name, plan.Spec.Policy, plan.Spec.Mode, cmp.Or(plan.Status.Phase, "-"), plan.Status.Moved,
			plan.Spec.Expires.UTC().Format(time.RFC3339), plan.Status.Message)
	}
	t.Flush()
}

package loop

import (
	"cmp"
	"fmt"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/inspect"
	"muster.dev/muster/rescheduler/executor"
	"muster.dev/muster/rescheduler/separation"
)

// looks returns the endpoints of the rescheduler's pages.
func (d *desk) looks(registry prometheus.Gatherer) []inspect.Endpoint {
	get := func(pattern, about string, handler http.Handler) inspect.Endpoint {
		return inspect.Endpoint{Method: http.MethodGet, Pattern: pattern, About: about, Handler: handler}
	}
	endpoints := []inspect.Endpoint{
		get("/livez", "200 while the process runs", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = fmt.Fprintln(w, "ok")
		})),
		get("/readyz", "200 while the view of the cluster is complete, else 503", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if !d.synced() {
				http.Error(w, "the view of the cluster is not complete yet", http.StatusServiceUnavailable)
				return
			}
			_, _ = fmt.Fprintln(w, "ok")
		})),
		get("/metrics", "metrics in the Prometheus format", inspect.Metrics(registry)),
	}
	if !d.config.Debug.Enabled() {
		return endpoints
	}
	endpoints = append(endpoints, d.about.Endpoints("/readyz", "/metrics", "/debug/")...)
	return append(
		endpoints,
		get("/debug/rescheduler", "what each policy found last, and the plans", inspect.Handler(d.loop.page)),
		get("/debug/rescheduler/removable", "nodes that the cluster could do without", inspect.Handler(d.loop.removablePage)),
	)
}

// requests are taken once the view of the cluster is complete.
func (d *desk) requests() []inspect.Endpoint {
	handler := separation.New(separation.Options{
		Logger: d.log, Snapshot: d.loop.cluster.Snapshot, Client: d.client, DryRun: d.config.Rescheduler.Mode == v1alpha1.DryRun,
	})
	return []inspect.Endpoint{{
		Method: http.MethodPost, Pattern: "/separate", About: "asks for a pod to be separated from another one, or from its node",
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !d.synced() {
				http.Error(w, "the view of the cluster is not complete yet", http.StatusServiceUnavailable)
				return
			}
			handler.ServeHTTP(w, r)
		}),
	}}
}

// Page is the last looks, and the plans: what /debug/rescheduler answers with.
type Page struct {
	Mode v1alpha1.Mode `json:"mode"`
	// Evictions is how many there were in the last Per, of at most Limit; 0 is no limit.
	Evictions  int         `json:"evictions"`
	Limit      int         `json:"limit"`
	PerSeconds float64     `json:"perSeconds"`
	Policies   []PolicyRow `json:"policies"`
	Plans      []PlanRow   `json:"plans"`
	// Budgets is the rest of each budget with a bound.
	Budgets []executor.Allowance `json:"budgets,omitempty"`
}

// PolicyRow is the last finding of a policy.
type PolicyRow struct {
	Policy  v1alpha1.Policy `json:"policy"`
	Enabled bool            `json:"enabled"`
	// The last look for something to plan; zero when there was none.
	Looked      time.Time `json:"looked,omitzero"`
	TookSeconds float64   `json:"tookSeconds"`
	What        string    `json:"what,omitempty"`
	Plan        string    `json:"plan,omitempty"`
	// Refused are the pods that the policy did not help, and the ones that it left alone, of all that it looked
	// at.
	Refused []RefusedRow `json:"refused,omitempty"`
}

// RefusedRow is a pod or group that a policy did not help, or left alone.
type RefusedRow struct {
	Name string `json:"name"` // of a pod, a gang or a node
	Why  string `json:"why"`
}

// PlanRow is how far a plan is.
type PlanRow struct {
	Plan    string          `json:"plan"`
	Policy  v1alpha1.Policy `json:"policy"`
	Mode    v1alpha1.Mode   `json:"mode"`
	Phase   v1alpha1.Phase  `json:"phase,omitempty"`
	Moved   string          `json:"moved,omitempty"`
	Expires time.Time       `json:"expires"`
	Message string          `json:"message,omitempty"`
}

func (l *loop) page(*http.Request) (inspect.Answer, error) {
	p := Page{Mode: l.config.Mode, Limit: l.limits.Rate.Evictions, PerSeconds: l.limits.Rate.Per.Seconds(), Plans: []PlanRow{}}
	now, past := l.clock.Now(), l.record.Evictions()
	for _, eviction := range past {
		if now.Sub(eviction.At) < l.limits.Rate.Per {
			p.Evictions++
		}
	}
	for _, plan := range l.reservations.Plans() {
		p.Plans = append(p.Plans, PlanRow{
			Plan: plan.Name, Policy: plan.Spec.Policy, Mode: plan.Spec.Mode, Phase: plan.Status.Phase, Moved: plan.Status.Moved,
			Expires: plan.Expires().UTC(), Message: plan.Status.Message,
		})
	}
	p.Budgets = l.limits.Left(l.cluster, l.record, now)
	for _, policy := range l.policies {
		last := l.journal.last(policy.Name)
		row := PolicyRow{
			Policy: policy.Name, Enabled: policy.Enabled,
			Looked: last.At.UTC(), TookSeconds: last.Took.Round(time.Millisecond).Seconds(), What: last.What, Plan: last.Plan,
		}
		for _, refusal := range last.Refused {
			row.Refused = append(row.Refused, RefusedRow{refusal.Name, refusal.String()})
		}
		p.Policies = append(p.Policies, row)
	}
	return p, nil
}

// Text implements [inspect.Answer].
func (p Page) Text(t *inspect.Table) {
	per := time.Duration(p.PerSeconds * float64(time.Second))
	t.Title("mode %s; %d evictions of %d in %s", p.Mode, p.Evictions, p.Limit, per)
	t.Row("POLICY", "ENABLED", "LOOKED", "TOOK", "WHAT", "PLAN")
	for _, row := range p.Policies {
		looked, took := "-", "-"
		if !row.Looked.IsZero() {
			looked, took = row.Looked.Format(time.RFC3339), time.Duration(row.TookSeconds*float64(time.Second)).Round(time.Millisecond).String()
		}
		t.Row(row.Policy, row.Enabled, looked, took, cmp.Or(row.What, "-"), cmp.Or(row.Plan, "-"))
	}
	t.Gap()
	p.refused(t)
	if len(p.Budgets) > 0 {
		t.Row("BUDGET", "NAMESPACE", "SELECTOR", "DOMAIN", "POLICIES", "LEFT")
		for _, b := range p.Budgets {
			t.Row(b.Budget, cmp.Or(b.Namespace, "-"), cmp.Or(b.Selector, "-"), cmp.Or(b.Domain, "-"), cmp.Or(b.Policies, "-"), b.Left)
		}
		t.Gap()
	}
	t.Row("PLAN", "POLICY", "MODE", "PHASE", "MOVED", "EXPIRES", "MESSAGE")
	for _, plan := range p.Plans {
		t.Row(plan.Plan, plan.Policy, plan.Mode, cmp.Or(plan.Phase, "-"), plan.Moved, plan.Expires.Format(time.RFC3339), plan.Message)
	}
}

// maxRefused is how many of a policy people are shown.
const maxRefused = 20

func (p Page) refused(t *inspect.Table) {
	none := true
	for _, policy := range p.Policies {
		for i, refused := range policy.Refused {
			if none {
				t.Row("POLICY", "NOT FOR", "WHY")
				none = false
			}
			if i == maxRefused {
				t.Row(policy.Policy, fmt.Sprintf("and %d more", len(policy.Refused)-i), "-")
				break
			}
			t.Row(policy.Policy, refused.Name, refused.Why)
		}
	}
	if !none {
		t.Gap()
	}
}

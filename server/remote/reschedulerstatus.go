package remote

import (
	"cmp"
	"fmt"

	"muster.dev/muster/inspect"
	"muster.dev/muster/rescheduler/loop"
)

// writeRescheduler tells how a rescheduler fares. Wide it tells as well how long policies looked and whom they did not help,
// when plans expire, and what is left of budgets.
func writeRescheduler(t *inspect.Table, p *loop.Page, wide bool) {
	t.Row(
		"rescheduler",
		fmt.Sprintf("mode %s, %d plans, %d evictions of %d in %v", p.Mode, len(p.Plans), p.Evictions, p.Limit, inspect.Seconds(p.PerSeconds)),
	)
	t.Gap()
	writePolicies(t, p, wide)
	if len(p.Plans) > 0 {
		t.Gap()
		writePlans(t, p, wide)
	}
	if wide && len(p.Budgets) > 0 {
		t.Gap()
		t.Row("BUDGET", "NAMESPACE", "SELECTOR", "DOMAIN", "POLICIES", "LEFT")
		for _, b := range p.Budgets {
			t.Row(b.Budget, cmp.Or(b.Namespace, "-"), cmp.Or(b.Selector, "-"), cmp.Or(b.Domain, "-"), cmp.Or(b.Policies, "-"), b.Left)
		}
	}
}

func writePolicies(t *inspect.Table, p *loop.Page, wide bool) {
	header := []any{"POLICY", "LOOKED", "FOUND", "PLAN"}
	if wide {
		header = append(header, "TOOK", "NOT HELPED")
	}
	t.Row(header...)
	for i := range p.Policies {
		policy := &p.Policies[i]
		if !policy.Enabled {
			continue
		}
		cells := []any{policy.Policy, inspect.Time(policy.Looked), cmp.Or(policy.What, "-"), cmp.Or(policy.Plan, "-")}
		if wide {
			cells = append(cells, fmt.Sprintf("%.3fs", policy.TookSeconds), len(policy.Refused))
		}
		t.Row(cells...)
	}
}

func writePlans(t *inspect.Table, p *loop.Page, wide bool) {
	header := []any{"PLAN", "POLICY", "MODE", "PHASE", "MOVED"}
	if wide {
		header = append(header, "EXPIRES")
	}
	t.Row(append(header, "MESSAGE")...)
	for i := range p.Plans {
		plan := &p.Plans[i]
		cells := []any{plan.Plan, plan.Policy, plan.Mode, cmp.Or(plan.Phase, "Pending"), cmp.Or(plan.Moved, "-")}
		if wide {
			cells = append(cells, inspect.Time(plan.Expires))
		}
		t.Row(append(cells, cmp.Or(plan.Message, "-"))...)
	}
}

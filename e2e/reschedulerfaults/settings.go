package reschedulerfaults

import (
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/e2e/muster"
)

// settings of the reschedulers. The zero of a limit is none.
type settings struct {
	replicas int           // of the process
	mode     v1alpha1.Mode // while no fault changes it
	// policies are on. No two of them would undo each other's moves.
	policies  sets.Set[v1alpha1.Policy]
	mark      config.NodeMark // of nodes that become empty
	closedFor time.Duration   // an emptied node
	selection muster.Selection
	budgets   budgets
	// jobs says that there may be Jobs, which take ten seconds to make the first pod anew, and longer each time.
	jobs bool
	// allowClaims and allowSingle are what evictable says of pods with claims, and of the only one that is ready.
	allowClaims, allowSingle bool
	// skew is by how much muster's clock is ahead.
	skew time.Duration
}

// wrong is by how much a clock may be wrong.
const wrong = 30 * time.Second

// musterSkew returns by how much muster's clock is ahead for a seed.
func musterSkew(seed uint64) time.Duration { return []time.Duration{0, wrong, -wrong}[seed%3] }

// skewsOf returns by how much the clock of a rescheduler is ahead, and that of its successors, by turns. Those of the first one
// are wrong if muster's is. None is behind from the beginning, as it would take pods for too young to make room for.
func (s *settings) skewsOf(replica int) [2]time.Duration {
	switch {
	case replica > 0:
		return [2]time.Duration{}
	case s.skew < 0:
		return [2]time.Duration{wrong, -wrong}
	}
	return [2]time.Duration{s.skew, 0}
}

// mostApart is by how much two clocks differ at most.
func (s *settings) mostApart() time.Duration { return 2 * s.skew.Abs() }

// rest is how much longer what replaces a pod may take.
func (s *settings) rest() time.Duration {
	if s.jobs {
		return 10 * time.Second
	}
	return 0
}

// gathers says that a policy is on that empties nodes.
func (s *settings) gathers() bool { return s.policies.HasAny(v1alpha1.Coalesce, v1alpha1.FreeDomains) }

// spreads says that a policy is on that does nothing while a pod is pending.
func (s *settings) spreads() bool { return s.policies.HasAny(v1alpha1.Respread, v1alpha1.Balance) }

// measured says that a policy goes by what nodes use.
func (s *settings) measured() bool { return s.policies.HasAny(v1alpha1.Relieve, v1alpha1.Balance) }

// budgets bound evictions, as the configuration has them.
type budgets struct {
	rate                           rate
	perPlan, perNode, perWorkload  int
	workloadCoolDown, nodeCoolDown time.Duration
	webRate                        rate // of pods whose tier is web
	webDown                        int
}

// rate is so many evictions in a period.
type rate struct {
	evictions int
	per       time.Duration
}

func (r rate) config() map[string]any {
	return map[string]any{"evictions": r.evictions, "per": max(r.per, time.Second).String()}
}

// percent are thresholds.
func percent(cpu int) map[string]any { return map[string]any{"cpu": cpu, "memory": 0} }

// newFor is how long a node counts as new.
const newFor = 8 * time.Second

// config is the section of the configuration.
func (s *settings) config(mode v1alpha1.Mode) map[string]any {
	of := func(policy v1alpha1.Policy, more map[string]any) map[string]any {
		more["enabled"] = s.policies.Has(policy)
		return more
	}
	return map[string]any{
		"mode": mode, "interval": "1s", "planTTL": (planTTL + s.rest()).String(), "planTime": "500ms",
		"replacementTimeout": (replacementTimeout + s.rest()).String(),
		"makeRoom":           map[string]any{"pendingFor": "1s"},
		"budgets":            s.budgets.config(),
		"coalesce":           of(v1alpha1.Coalesce, map[string]any{"maxNodes": 3, "mark": s.mark, "closedFor": s.closedFor.String()}),
		"freeDomains":        of(v1alpha1.FreeDomains, map[string]any{"key": rackLabel, "nodes": 1}),
		// The first rescheduler's clock is ahead of that which tells when nodes were created, if any is.
		"respread": of(v1alpha1.Respread, map[string]any{"newFor": (newFor + s.skew.Abs()).String()}),
		"relieve": of(v1alpha1.Relieve, map[string]any{
			"samples": 1, "maxNodes": 2, "highThresholds": percent(60), "targetThresholds": percent(50),
		}),
		"balance":  of(v1alpha1.Balance, map[string]any{"samples": 1, "maxNodes": 2, "margins": percent(8), "minGain": 5}),
		"separate": of(v1alpha1.Separate, map[string]any{}),
		// Nodes that are emptied put pods of one controller together.
		"repair":    of(v1alpha1.Repair, map[string]any{"duplicates": !s.gathers()}),
		"evictable": map[string]any{"allowSingleReplica": s.allowSingle, "allowClaims": s.allowClaims},
	}
}

func (b *budgets) config() map[string]any {
	web := map[string]any{"selector": tierLabel + "=" + tierWeb, "rate": b.webRate.config()}
	if b.webDown > 0 {
		web["maxDown"] = b.webDown
	}
	return map[string]any{
		"rate": b.rate.config(), "perPlan": b.perPlan, "perNode": b.perNode, "perWorkload": b.perWorkload,
		"workloadCoolDown": b.workloadCoolDown.String(), "nodeCoolDown": b.nodeCoolDown.String(), "selected": []any{web},
	}
}

// Package reschedulerfaults looks for what breaks rescheduling. On real control planes, with a
// stock kube-scheduler, KWOK for machines, and relays that spoil calls of muster and of
// 'muster reschedule' to the API server, it has pods come that fit nowhere in a cluster whose
// room is in pieces, while processes die and freeze, objects change and others want the room. It
// judges the whole history:
//
//   - What replaces an evicted pod has a node within 60 s, unless that place was lost, and then
//     the plan says that it has failed. When all has settled, each evicted pod has been replaced (story.lost says exactly
//     when it has not).
//   - Nobody evicts a pod that must stay: of a Job that fails by it, of kube-system, annotated against it, with local data or,
//     unless that is allowed, with a claim, or the only one of its controller that is ready.
//   - No pod is evicted without a plan that said so before, past its PodDisruptionBudget, over a
//     rate, a number per plan, node or workload, a number that may be down, or in a cool-down: also not when somebody has
//     deleted the plans of evictions before, and no process remembers them.
//   - From when muster says that it keeps the room of a plan, nobody is bound there so that those do
//     not fit any more whom it is for, and nothing returns to the node that it was moved off.
//   - No pod is evicted before muster has said so, nor to go to a node that has been closed.
//   - Plans end within 30 s of their expiry, and say why.
//   - Two replicas do not evict at once.
//   - A rescheduler that has said that its mode is DryRun evicts nobody until the mode is another one. In mode Approve
//     it evicts by plans that somebody has approved of, and a plan of mode Approve evicts nobody before that.
//   - No node carries a mark at the end that has no plan behind it, or whose time is over.
//   - No node is overcommitted, and no process panics.
//   - When nothing goes wrong any more and no plan is carried out, no pod waits beside room for it.
//
// A run is the script of a seed: some nodes, ReplicaSets, StatefulSets, Deployments and, in a fifth of the runs, Jobs that fill
// about half of them, some policies, pods that come, and some faults of faults.go, modes.go and trouble.go. wishes.go and
// load.go give policies something to do: pods are asked to leave, nodes tainted, and measured by what their pods use.
// A replacement may differ: by a new template, or since the API server changes requests on creation, as a vertical
// autoscaler does. Policies that would undo each other's moves are never on together.
//
// Most faults come in the middle of a plan, and at what it is about: the node that a pod is to go to, the pod that is next,
// its workload, the plan itself. The script is a function of the seed, to the calls that are spoiled; how processes
// interleave is not, so that a seed that found something may have to be run again some times. Nodes
// that are emptied are tainted or cordoned in most runs, for seconds.
//
// In two of three runs clocks are wrong by 30 s: that of muster is ahead or behind, and that of the first rescheduler is
// ahead. The successor of one that was killed has another clock, right or wrong in the other direction. A rescheduler
// that is behind takes a pod for too young to make room for, so that none is at the beginning. What is judged goes by the
// clock of the campaign.
//
// Each of these, taken out of muster for trial, was found within 30 seeds: that what is moved is kept off
// the node that it leaves, reservations, how many may be down (also of the first eviction of a process only),
// rates, that evictions are remembered when a process begins, and that the extender looks whether room is there
// before it answers for it.
//
// Nothing here trusts muster: what is judged comes from the watches of the API server, and from
// the relays, which see every eviction.
package reschedulerfaults

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/muster"
)

// Figures of a campaign.
const (
	evictionsFigure = "evictions"
	movedFigure     = "moved"
	placedFigure    = "placed"
	pausesFigure    = "brakes"     // times in which a rescheduler had a stricter mode
	marksFigure     = "marked"     // nodes
	marksLeftFigure = "marks_left" // at the end, with no plan behind them
	lostFigure      = "evicted_not_replaced"
)

// plansFigure is how many plans ended in a phase.
func plansFigure(phase v1alpha1.Phase) string { return "plans_" + string(phase) }

// byFigure is how many evictions plans of a policy made.
func byFigure(policy v1alpha1.Policy) string { return "evictions_by_" + string(policy) }

// Campaign is the one for rescheduling.
func Campaign() faultcampaign.Campaign {
	counts := []string{
		plansFigure(v1alpha1.Succeeded), plansFigure(v1alpha1.Failed), plansFigure(v1alpha1.Expired), evictionsFigure, movedFigure, placedFigure,
		pausesFigure, marksFigure, marksLeftFigure, lostFigure,
	}
	for _, policy := range v1alpha1.Policies() {
		counts = append(counts, byFigure(policy))
	}
	return faultcampaign.Campaign{Name: "rescheduler", Open: open, Counts: counts, PerRun: []string{evictionsFigure}}
}

// window is how long things happen in a run. What waits for a moment that does not come
// happens at its end.
const window = 14 * time.Second

// script is done in a run, whatever comes of it.
type script struct {
	seed      uint64
	settings  settings
	nodes     []*corev1.Node
	workloads []*replicas // that are placed before anything happens
	events    []event
	trouble   faultcampaign.Trouble
	// approvedAfter is how long after it was made somebody approves of a plan that asks for that.
	approvedAfter time.Duration
}

// workload is the one of a name, nil when there is none.
func (s *script) workload(name string) *replicas {
	for _, w := range s.workloads {
		if w.name == name {
			return w
		}
	}
	return nil
}

// event is something that is done to the cluster, not before a time since the run began, and
// some time after a moment.
type event struct {
	at     time.Duration
	moment moment
	after  time.Duration
	what   string              // for people
	fault  faultcampaign.Fault // "" for what is none
	do     func(context.Context, *run) error
}

// moment is one in the life of a plan, of any.
type moment string

// The moments.
const (
	anyTime   moment = ""
	planMade  moment = "a plan is made"
	planRuns  moment = "a plan is carried out"
	podLeaves moment = "a pod is evicted"
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
	// jobs says that there may be Jobs, which take ten seconds to make the first pod again, and longer each time.
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

// skewsOf returns the skews of the clocks of a rescheduler and its successors, by turns. The first one has wrong clocks if
// muster's is wrong. None is behind from the beginning, as it would take pods for too young to make room for.
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
	rate                 rate
	perPlan, perWorkload int
	workloadCoolDown     time.Duration
	webRate              rate // of pods whose tier is web
	webDown              int
}

// rate is a number of evictions in a period.
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
		"mode": mode, "interval": "1s",
		"replacementTimeout": (replacementTimeout + s.rest()).String(),
		"makeRoom":           map[string]any{"pendingFor": "1s"},
		"budgets":            s.budgets.config(),
		"coalesce":           of(v1alpha1.Coalesce, map[string]any{"mark": s.mark, "closedFor": s.closedFor.String()}),
		"freeDomains":        map[string]any{"key": s.freed(), "nodes": 1},
		// The first rescheduler's clock is ahead of that which tells when nodes were created, if any is.
		"respread": of(v1alpha1.Respread, map[string]any{"newFor": (newFor + s.skew.Abs()).String()}),
		"relieve": of(v1alpha1.Relieve, map[string]any{
			"highThresholds": percent(60), "targetThresholds": percent(50),
		}),
		"balance":  of(v1alpha1.Balance, map[string]any{"margins": percent(8)}),
		"separate": of(v1alpha1.Separate, map[string]any{}),
		// Nodes that are emptied put pods of one controller together.
		"repair":    map[string]any{"checks": s.checks()},
		"evictable": map[string]any{"minReplicas": s.minReplicas(), "allowClaims": s.allowClaims},
	}
}

// freed returns the label of the domains that are freed, "" for none.
func (s *settings) freed() string {
	if !s.policies.Has(v1alpha1.FreeDomains) {
		return ""
	}
	return rackLabel
}

// checks returns what is repaired.
func (s *settings) checks() (checks []string) {
	if !s.policies.Has(v1alpha1.Repair) {
		return nil
	}
	if !s.gathers() {
		checks = append(checks, config.CheckDuplicates)
	}
	return append(checks, config.UsualRepairs()...)
}

// minReplicas returns how many a controller is to have for one to move.
func (s *settings) minReplicas() int {
	if s.allowSingle {
		return 0
	}
	return 1
}

func (b *budgets) config() map[string]any {
	web := map[string]any{"selector": tierLabel + "=" + tierWeb, "rate": b.webRate.config()}
	if b.webDown > 0 {
		web["maxDown"] = b.webDown
	}
	return map[string]any{
		"rate": b.rate.config(), "perPlan": b.perPlan, "nodesPerPlan": 2, "perWorkload": b.perWorkload,
		"workloadCoolDown": b.workloadCoolDown.String(), "selected": []any{web},
	}
}

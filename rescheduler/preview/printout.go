package preview

import (
	"encoding/json"
	"fmt"
	"io"
	"math"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/rescheduler/planner"
	"muster.dev/muster/rescheduler/policy"
)

// Format is how a plan is printed.
type Format string

// The formats.
const (
	Table Format = "table"
	YAML  Format = "yaml"
	JSON  Format = "json"
)

// Formats are all there are.
func Formats() []Format { return []Format{Table, YAML, JSON} }

// printout is a plan as it is printed.
type printout struct {
	Policy v1alpha1.Policy `json:"policy"`
	Steps  []step          `json:"steps"`
	// Why says why there are no steps.
	Why        string      `json:"why,omitempty"`
	Placements []placement `json:"placements,omitempty"`
	Unplaced   []refusal   `json:"unplaced,omitempty"`
	Emptied    []string    `json:"emptied,omitempty"`
	Kept       []refusal   `json:"kept,omitempty"`
	Unmoved    []refusal   `json:"unmoved,omitempty"`
	// Excluded are all pods on nodes that no plan moves, if that is asked for.
	Excluded []exclusion `json:"excluded,omitempty"`
	// Cost adds up the costs of all steps; a plain eviction costs 1.
	Cost    float64 `json:"cost"`
	Late    bool    `json:"late,omitempty"`
	Figures struct {
		Before figures `json:"before"`
		After  figures `json:"after"`
	} `json:"figures"`
}

type step struct {
	Pod  string  `json:"pod"`
	Gang string  `json:"gang,omitempty"`
	From string  `json:"from"`
	To   string  `json:"to"`
	Why  string  `json:"why"`
	Cost float64 `json:"cost"`
}

type placement struct {
	Pod   string  `json:"pod"`
	Group string  `json:"group,omitempty"`
	Node  string  `json:"node"`
	After int     `json:"afterSteps"`
	Why   string  `json:"why"`
	Cost  float64 `json:"cost"`
}

type refusal struct {
	Name    string   `json:"name"`
	Reason  string   `json:"reason"`
	Details []detail `json:"details,omitempty"`
}

type exclusion struct {
	Pod    string `json:"pod"`
	Node   string `json:"node"`
	Reason string `json:"reason"`
}

type detail struct {
	Nodes  int    `json:"nodes,omitempty"`
	Pods   int    `json:"pods,omitempty"`
	Reason string `json:"reason"`
}

type figures struct {
	PendingPods   int                             `json:"pendingPods"`
	EmptyNodes    int                             `json:"emptyNodes"`
	Evictions     int                             `json:"evictions"`
	Fragmentation map[corev1.ResourceName]float64 `json:"fragmentation"`
}

// newPrintout returns a plan for a situation, or why there is none.
func newPrintout(name v1alpha1.Policy, in policy.Situation, plan *planner.Plan, why string) *printout {
	d := &printout{
		Policy: name, Steps: []step{}, Why: why, Cost: plain(plan.Cost), Late: plan.Late,
		Unplaced: refusals(plan.Unplaced), Kept: refusals(plan.Kept), Unmoved: refusals(plan.Unmoved),
	}
	for _, s := range plan.Steps {
		d.Steps = append(d.Steps, step{Pod: s.Pod.FullName(), Gang: s.Gang, From: s.From.Name, To: s.To.Name, Why: s.Why, Cost: plain(s.Cost)})
	}
	for _, p := range plan.Placements {
		shown := placement{Pod: p.Pod.FullName(), Node: p.Node.Name, After: p.After, Why: p.Why, Cost: plain(p.Cost)}
		if p.Group != shown.Pod {
			shown.Group = p.Group
		}
		d.Placements = append(d.Placements, shown)
	}
	for _, node := range plan.Emptied {
		d.Emptied = append(d.Emptied, node.Name)
	}
	before, after := in.Problem.Figures(plan)
	d.Figures.Before = figures{PendingPods: len(in.Waiting), EmptyNodes: before.EmptyNodes, Fragmentation: rounded(before.Fragmentation)}
	d.Figures.After = figures{
		PendingPods:   len(in.Waiting) - len(plan.Placements),
		EmptyNodes:    after.EmptyNodes,
		Evictions:     len(plan.Steps),
		Fragmentation: rounded(after.Fragmentation),
	}
	return d
}

// exclude tells of the pods that no plan moves.
func (d *printout) exclude(all []planner.Exclusion) {
	for _, e := range all {
		d.Excluded = append(d.Excluded, exclusion{Pod: e.Pod.FullName(), Node: e.Node.Name, Reason: e.Reason})
	}
}

// plain returns a cost in plain evictions.
func plain(cost int64) float64 { return float64(cost) / 1000 }

func rounded(shares map[corev1.ResourceName]float64) map[corev1.ResourceName]float64 {
	for name, share := range shares {
		shares[name] = math.Round(share*1000) / 1000
	}
	return shares
}

func refusals(from []planner.Refusal) []refusal {
	var all []refusal
	for _, r := range from {
		shown := refusal{Name: r.Name, Reason: r.Reason}
		for _, d := range r.Details {
			shown.Details = append(shown.Details, detail{Nodes: d.Nodes, Pods: d.Pods, Reason: d.Reason})
		}
		all = append(all, shown)
	}
	return all
}

func (d *printout) print(out io.Writer, format Format) error {
	var text []byte
	var err error
	switch format {
	case YAML:
		text, err = yaml.Marshal(d)
	case JSON:
		text, err = json.MarshalIndent(d, "", "  ")
		text = append(text, '\n')
	case Table:
		return d.table(out)
	default:
		return fmt.Errorf("format %q: want one of %v", format, Formats())
	}
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return err
}

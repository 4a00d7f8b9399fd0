package preview

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/inspect"
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

// table prints a plan for people.
func (d *printout) table(out io.Writer) error {
	var text bytes.Buffer
	if len(d.Steps) > 0 {
		columns(&text, "STEP\tPOD\tFROM\tTO\tCOST\tWHY", func(row func(...any)) {
			for i, s := range d.Steps {
				why := s.Why
				if s.Gang != "" {
					why += " (gang " + s.Gang + ")"
				}
				row(i+1, s.Pod, s.From, s.To, fmt.Sprintf("%.2f", s.Cost), why)
			}
		})
	}
	if len(d.Placements) > 0 {
		columns(&text, "PENDING POD\tNODE\tAFTER STEP\tWHY", func(row func(...any)) {
			for _, p := range d.Placements {
				row(p.Pod, p.Node, p.After, p.Why)
			}
		})
	}
	if len(d.Emptied) > 0 {
		columns(&text, "EMPTIED NODES", func(row func(...any)) {
			for _, node := range d.Emptied {
				row(node)
			}
		})
	}
	refused(&text, "NO PLACE FOR", d.Unplaced)
	kept := "NODES THAT STAY"
	if d.Policy == v1alpha1.FreeDomains {
		kept = "DOMAINS THAT STAY"
	}
	refused(&text, kept, d.Kept)
	refused(&text, "PODS THAT STAY", d.Unmoved)
	excluded(&text, d.Excluded)
	if d.Late {
		fmt.Fprint(&text, "The search ended because its time was up: with more (--time), it may find more.\n\n")
	}
	d.summary(&text)
	_, err := out.Write(text.Bytes())
	return err
}

func columns(out io.Writer, header string, rows func(row func(...any))) {
	table := tabwriter.NewWriter(out, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, header)
	rows(func(cells ...any) {
		for i, cell := range cells {
			if i > 0 {
				fmt.Fprint(table, "\t")
			}
			fmt.Fprint(table, inspect.Printable(fmt.Sprint(cell))) // dumps may have anything in them
		}
		fmt.Fprintln(table)
	})
	table.Flush()
	fmt.Fprintln(out)
}

func refused(out io.Writer, header string, all []refusal) {
	if len(all) == 0 {
		return
	}
	columns(out, header+"\tREASON\tDETAILS", func(row func(...any)) {
		for _, r := range all {
			var details []string
			for _, d := range r.Details {
				details = append(details, d.String())
			}
			row(r.Name, r.Reason, strings.Join(details, "; "))
		}
	})
}

// mostExamples is how many pods the table names among the pods that are not moved for one reason.
const mostExamples = 3

// excluded prints why pods are not moved, the most frequent reason first.
func excluded(out io.Writer, all []exclusion) {
	if len(all) == 0 {
		return
	}
	pods := map[string][]string{} // by reason
	for _, e := range all {
		pods[e.Reason] = append(pods[e.Reason], e.Pod)
	}
	reasons := slices.SortedFunc(maps.Keys(pods), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(pods[b]), len(pods[a])), cmp.Compare(a, b))
	})
	columns(out, "PODS THAT NO PLAN MOVES\tWHY\tSUCH AS", func(row func(...any)) {
		for _, reason := range reasons {
			examples := strings.Join(pods[reason][:min(mostExamples, len(pods[reason]))], ", ")
			if len(pods[reason]) > mostExamples {
				examples += ", ..."
			}
			row(len(pods[reason]), reason, examples)
		}
	})
}

// String is as in "3 pods: it has local storage".
func (d detail) String() string {
	return planner.Detail{Reason: d.Reason, Nodes: d.Nodes, Pods: d.Pods}.String()
}

func (d *printout) summary(out io.Writer) {
	before, after := d.Figures.Before, d.Figures.After
	columns(out, "\tBEFORE\tAFTER", func(row func(...any)) {
		row("pending pods", before.PendingPods, after.PendingPods)
		row("empty nodes", before.EmptyNodes, after.EmptyNodes)
		row("evictions", before.Evictions, after.Evictions)
		for _, name := range slices.Sorted(maps.Keys(before.Fragmentation)) {
			row("fragmentation of "+string(name), percent(before.Fragmentation[name]), percent(after.Fragmentation[name]))
		}
	})
	if len(d.Steps) == 0 && len(d.Unplaced)+len(d.Unmoved) == 0 {
		fmt.Fprintf(out, "There is nothing to do: %s.\n", inspect.Printable(d.Why))
	}
}

func percent(share float64) string { return fmt.Sprintf("%.0f%%", share*100) }

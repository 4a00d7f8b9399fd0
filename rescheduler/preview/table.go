package preview

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/inspect"
	"muster.dev/muster/rescheduler/planner"
)

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

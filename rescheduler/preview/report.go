package preview

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"fmt"
	"html/template"
	"io"
	"slices"

	"muster.dev/muster/api/rescheduling/v1alpha1"
)

//go:embed report.html
var pages embed.FS

// ReportOptions say what to report on, and where.
type ReportOptions struct {
	// Options without Policy, ExplainExcluded, Format and Out.
	Options
	// Version of muster.
	Version string
}

// Report writes a page that tells what muster would have done with a cluster: which of the pods that wait would get a
// place, which gangs would start, which nodes could be emptied and which relieved. It stands by itself: who gets it needs
// nothing else. Nothing is written after an error.
func Report(ctx context.Context, o ReportOptions, out io.Writer) error {
	s, err := o.look(ctx)
	if err != nil {
		return err
	}
	page, err := s.report(o.Version)
	if err != nil {
		return err
	}
	parsed, err := template.New("report.html").ParseFS(pages, "report.html")
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := parsed.Execute(&text, page); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	_, err = out.Write(text.Bytes())
	return err
}

// mostRows is how many rows a table of the page has at most.
const mostRows = 200

// report is the content of the page.
type report struct {
	Version     string
	Nodes, Pods int
	Pending     int
	Room        *printout // of MakeRoom
	// Now of the Placed pods have room as it is, the others once pods have moved.
	Placed, Now int
	Gangs       []gangPlaces
	Waiting     []shortage
	Empty       *printout // of Coalesce
	Relieve     *printout // nil where no node is measured
	Hot         int       // nodes that Relieve relieves, or cannot
}

// gangPlaces is a gang that would start.
type gangPlaces struct {
	Name    string
	Members int
	After   int // moves
}

// shortage is why pods wait, and how many for that.
type shortage struct {
	Reason   string
	Pods     int
	Examples []string
}

func (s *survey) report(version string) (*report, error) {
	snap := s.situation.Problem.Snapshot
	r := &report{Version: version, Nodes: snap.NodeCount(), Pending: s.situation.Pending}
	for node := range snap.Nodes() {
		r.Pods += len(node.Pods)
	}
	var err error
	if r.Room, err = s.plan(v1alpha1.MakeRoom); err != nil {
		return nil, err
	}
	if r.Empty, err = s.plan(v1alpha1.Coalesce); err != nil {
		return nil, err
	}
	if r.Relieve, err = s.plan(v1alpha1.Relieve); err != nil {
		return nil, err
	}
	r.countPlaces()
	r.Waiting = shortages(r.Room.Unplaced)
	relieved := map[string]bool{}
	for _, step := range r.Relieve.Steps {
		relieved[step.From] = true
	}
	if r.Hot = len(relieved) + len(r.Relieve.Kept); r.Hot == 0 {
		r.Relieve = nil
	}
	return r, nil
}

// countPlaces counts who would get a place.
func (r *report) countPlaces() {
	gangs := map[string]*gangPlaces{}
	for _, p := range r.Room.Placements {
		r.Placed++
		if p.After == 0 {
			r.Now++
		}
		if p.Group == "" {
			continue
		}
		if gangs[p.Group] == nil {
			gangs[p.Group] = &gangPlaces{Name: p.Group}
		}
		gangs[p.Group].Members++
		gangs[p.Group].After = max(gangs[p.Group].After, p.After)
	}
	for _, g := range gangs {
		r.Gangs = append(r.Gangs, *g)
	}
	slices.SortFunc(r.Gangs, func(a, b gangPlaces) int { return cmp.Compare(a.Name, b.Name) })
}

// shortages returns the reasons of refusals, the reasons of most pods first.
func shortages(all []refusal) []shortage {
	at := map[string]int{}
	var found []shortage
	for _, one := range all {
		i, known := at[one.Reason]
		if !known {
			i = len(found)
			at[one.Reason], found = i, append(found, shortage{Reason: one.Reason})
		}
		found[i].Pods++
		if len(found[i].Examples) < mostExamples {
			found[i].Examples = append(found[i].Examples, one.Name)
		}
	}
	slices.SortStableFunc(found, func(a, b shortage) int { return cmp.Compare(b.Pods, a.Pods) })
	return found
}

// First returns the first rows of what may have many.
func (*report) First(rows any) any {
	switch rows := rows.(type) {
	case []placement:
		return rows[:min(mostRows, len(rows))]
	case []step:
		return rows[:min(mostRows, len(rows))]
	case []string:
		return rows[:min(mostRows, len(rows))]
	case []shortage:
		return rows[:min(mostRows, len(rows))]
	}
	return rows
}

// Rest returns how many of count rows First leaves out.
func (*report) Rest(count int) int { return max(0, count-mostRows) }

// Later returns how many get a place after moves.
func (r *report) Later() int { return r.Placed - r.Now }

// Moves returns the moves of a plan, in words.
func (*report) Moves(of *printout) string {
	if len(of.Steps) == 1 {
		return "1 move"
	}
	return fmt.Sprintf("%d moves", len(of.Steps))
}

// Percent returns a share of nodes.
func (r *report) Percent(nodes int) int { return 100 * nodes / max(1, r.Nodes) }

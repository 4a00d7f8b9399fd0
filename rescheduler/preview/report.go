package preview

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"html"
	"io"
	"reflect"
	"slices"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/charts/template"
)

//go:embed report.html
var pageTemplate string

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
	text, err := written(page)
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	_, err = io.WriteString(out, text)
	return err
}

// written returns the page in HTML. All that is filled in stands between tags.
func written(page *report) (string, error) {
	set, err := template.Parse(map[string]string{"report": pageTemplate}, map[string]template.Func{
		"first":   func(args ...any) (any, error) { return first(args[0]), nil },
		"rest":    func(args ...any) (any, error) { return max(0, args[0].(int)-mostRows), nil },
		"moves":   func(args ...any) (any, error) { return moves(args[0].(*printout)), nil },
		"percent": func(args ...any) (any, error) { return 100 * args[0].(int) / max(1, args[1].(int)), nil },
	}, html.EscapeString)
	if err != nil {
		return "", err
	}
	return set.Fill("report", page)
}

// mostRows is how many rows a table of the page has at most.
const mostRows = 200

// report is the content of the page.
type report struct {
	Version     string
	Nodes, Pods int
	Pending     int
	Room        *printout // of MakeRoom
	// Now of the Placed pods have room as it is, and Later of them once pods have moved.
	Placed, Now, Later int
	Gangs              []gangPlaces
	Waiting            []shortage
	Empty              *printout // of Coalesce
	Relieve            *printout // nil where no node is measured
	Hot                int       // nodes that Relieve relieves, or cannot
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
	r.Later = r.Placed - r.Now
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

// first returns the first rows of what may have many.
func first(rows any) any {
	list := reflect.ValueOf(rows)
	return list.Slice(0, min(mostRows, list.Len())).Interface()
}

// moves returns the moves of a plan, in words.
func moves(of *printout) string {
	if len(of.Steps) == 1 {
		return "1 move"
	}
	return fmt.Sprintf("%d moves", len(of.Steps))
}

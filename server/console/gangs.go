package console

import (
	"cmp"
	"net/http"

	"github.com/go-chi/chi/v5"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/gang/core"
	"muster.dev/muster/inspect"
	"muster.dev/muster/server/backfill"
	"muster.dev/muster/server/explanation"
	"muster.dev/muster/server/remote"
)

// gangsPage is all gangs, in the order in which they are planned.
type gangsPage struct{ remote.AllGangs }

func (s *Console) debugGangs(*http.Request) (inspect.Answer, error) {
	if s.options.Gangs == nil {
		return nil, inspect.Refuse(http.StatusNotFound, "gangs: they are not known here")
	}
	page := gangsPage{remote.AllGangs{Gangs: append([]core.Summary{}, s.options.Gangs.Report()...)}}
	if s.options.Forecasts != nil {
		page.Booked = s.options.Forecasts.Room()
	}
	return page, nil
}

// Text implements [inspect.Answer].
func (p gangsPage) Text(t *inspect.Table) {
	if room := p.Booked; room != nil {
		t.Title("room is booked for %s from %s: pods %d, nodes %d; pods that have room now, which is kept: %d (%.1f %% of all nodes)",
			room.Gang, inspect.Time(room.From), room.Pods, room.Nodes, room.IdlePods, 100*room.IdleShare)
	}
	t.Title("gangs, in the order in which they are planned")
	t.Row("GANG", "MIN", "PENDING", "PLACED", "HELD", "BINDING", "BOUND", "LEAVING", "SUCCEEDED", "FAILED", "PRIORITY", "WAITS BECAUSE")
	for i := range p.Gangs {
		g := &p.Gangs[i]
		t.Row(
			g.Name, g.MinMember, g.Pending, g.Placed, g.Held, g.Binding, g.Bound, g.Leaving, g.Succeeded, g.Failed, g.Priority,
			cmp.Or(g.Why, "-"),
		)
	}
}

// gangPage is the gangs of one name: there may be one for each label.
type gangPage struct{ *explanation.Gangs }

func (s *Console) debugGang(r *http.Request) (inspect.Answer, error) {
	name := types.NamespacedName{Namespace: chi.URLParam(r, "namespace"), Name: chi.URLParam(r, "name")}
	page := gangPage{s.explainer.Gangs(name)}
	if len(page.Gangs.Gangs) == 0 {
		return nil, inspect.Refuse(http.StatusNotFound, "there is no gang %s: no pod is a member of it", name)
	}
	return page, nil
}

func (s *Console) debugWhen(r *http.Request) (inspect.Answer, error) {
	if s.options.Forecasts == nil {
		return nil, inspect.Refuse(http.StatusNotFound, "gangs: they are not known here")
	}
	name := types.NamespacedName{Namespace: chi.URLParam(r, "namespace"), Name: chi.URLParam(r, "name")}
	forecasts, free := s.options.Forecasts.When(name)
	if !free {
		return nil, inspect.Refuse(http.StatusTooManyRequests, "another forecast is being made: ask again in a moment")
	}
	if len(forecasts.Gangs) == 0 {
		return nil, inspect.Refuse(http.StatusNotFound, "there is no gang %s: no pod is a member of it", name)
	}
	return whenPage{forecasts}, nil
}

// whenPage is the forecasts for the gangs of one name.
type whenPage struct{ *backfill.Forecasts }

// Text implements [inspect.Answer].
func (p whenPage) Text(t *inspect.Table) {
	t.Title("when gangs start, if pods end as they say")
	p.Forecasts.Text(t)
}

// Text implements [inspect.Answer].
func (p gangPage) Text(t *inspect.Table) {
	for i := range p.Gangs.Gangs {
		g := &p.Gangs.Gangs[i]
		if i > 0 {
			t.Gap()
		}
		t.Title("%s by label %s: %d members must start together; waits because: %s", g.Name, g.Label, g.MinMember, cmp.Or(g.Why, "-"))
		if g.Places != nil {
			t.Row("now", g.Places)
		}
		if g.Note != "" {
			t.Row("note", g.Note)
		}
		t.Row("last denied", inspect.Time(g.Denied))
		t.Row("planned", inspect.Time(g.Planned))
		t.Row("to be bound until", inspect.Time(g.Deadline))
		t.Gap()
		t.Row("MEMBER", "STAGE", "NODE", "FOR")
		for _, m := range g.Members {
			t.Row(m.Pod, m.Stage, cmp.Or(m.Node, "-"), duration(m.AgeSeconds))
		}
	}
}

// dumpedGangs are the gangs of a dump. No scheduler asks about their members, so none is ever denied: why they wait is read
// off what is there. Pods that have finished are not.
type dumpedGangs struct{ Gangs }

// Report implements Gangs.
func (d dumpedGangs) Report() []core.Summary {
	all := d.Gangs.Report()
	for i := range all {
		all[i].Why = whyInADump(&all[i])
	}
	return all
}

// About implements Gangs.
func (d dumpedGangs) About(name types.NamespacedName) []core.Details {
	all := d.Gangs.About(name)
	for i := range all {
		all[i].Why = whyInADump(&all[i].Summary)
	}
	return all
}

// Member implements Gangs.
func (d dumpedGangs) Member(uid types.UID) (core.Summary, core.Member, bool) {
	s, member, known := d.Gangs.Member(uid)
	if known {
		s.Why = whyInADump(&s)
	}
	return s, member, known
}

func whyInADump(s *core.Summary) string {
	switch {
	case s.Pending == 0:
		return ""
	case s.MinMember == 0:
		return "it is not known how many members must start together: the PodGroup is missing, or an annotation"
	case s.Short() > 0:
		return s.Why + ", unless they have finished"
	default:
		return "all of its members were waiting when the snapshot was taken; 'muster plan' says what it would take to start them"
	}
}

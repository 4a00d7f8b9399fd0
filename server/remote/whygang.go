package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"muster.dev/muster/gang/core"
	"muster.dev/muster/inspect"
	"muster.dev/muster/predicates"
)

// mostAsked is how many members without a place are asked about: most gangs have members that are alike.
const mostAsked = 8

// GangReasons is why the gangs of one name wait.
type GangReasons struct {
	Gangs []GangReason `json:"gangs"`
}

// GangReason is why a gang waits.
type GangReason struct {
	core.Details
	// Missing is how many pods are yet to be created for a quorum.
	Missing int `json:"missing"`
	// Seeking are members without a place; members that are alike are one entry. MoreSeeking counts members that were
	// not asked about.
	Seeking     []Seeking `json:"seeking,omitempty"`
	MoreSeeking int       `json:"moreSeeking,omitempty"`
}

// Seeking is where members would fit, each by itself.
type Seeking struct {
	Pods    []string `json:"pods"` // their names
	Fitting int      `json:"fitting"`
	Nodes   int      `json:"nodes"`
	// Refused is why they fit on no others.
	Refused []Refusal `json:"refused,omitempty"`
}

// Refusal is an objection to a number of nodes.
type Refusal struct {
	predicates.Objection
	Nodes int `json:"nodes"`
}

// WhyGang asks why the gangs of a name wait.
func (c *Client) WhyGang(ctx context.Context, namespace, name string) (*GangReasons, error) {
	var named NamedGangs
	err := c.get(ctx, "/debug/gangs/"+url.PathEscape(namespace)+"/"+url.PathEscape(name), &named)
	if answer, ok := errors.AsType[*AnswerError](err); ok && answer.Status == http.StatusNotFound {
		names, listErr := c.Gangs(ctx)
		if listErr != nil {
			return nil, listErr
		}
		return nil, absent("gang", namespace+"/"+name, names)
	}
	if err != nil {
		return nil, err
	}
	told := &GangReasons{}
	for i := range named.Gangs {
		reason, err := c.whyGang(ctx, namespace, &named.Gangs[i])
		if err != nil {
			return nil, err
		}
		told.Gangs = append(told.Gangs, *reason)
	}
	return told, nil
}

func (c *Client) whyGang(ctx context.Context, namespace string, g *core.Details) (*GangReason, error) {
	there := g.Pending + g.Placed + g.Held + g.Binding + g.Bound + g.Succeeded
	r := &GangReason{Details: *g, Missing: max(0, g.MinMember-there)}
	if g.Why == "" {
		return r, nil
	}
	asked := 0
	for i := range g.Members {
		if g.Members[i].Node != "" {
			continue
		}
		if asked == mostAsked {
			r.MoreSeeking++
			continue
		}
		asked++
		explanation, err := c.Explain(ctx, namespace, g.Members[i].Pod)
		if answer, ok := errors.AsType[*AnswerError](err); ok && answer.Status == http.StatusNotFound {
			continue // it was deleted meanwhile
		}
		if err != nil {
			return nil, err
		}
		r.add(g.Members[i].Pod, explanation)
	}
	return r, nil
}

// add puts a pod to the pods that are told the same.
func (r *GangReason) add(pod string, e *Explanation) {
	told := Seeking{Pods: []string{pod}, Fitting: e.Fitting, Nodes: len(e.Nodes), Refused: e.refusals()}
	if e.NoProfile != "" {
		told.Refused = []Refusal{{Objection: predicates.Objection{Predicate: "-", Reason: e.NoProfile}}}
	}
	for i := range r.Seeking {
		known := &r.Seeking[i]
		if known.Fitting == told.Fitting && known.Nodes == told.Nodes && slices.Equal(known.Refused, told.Refused) {
			known.Pods = append(known.Pods, pod)
			return
		}
	}
	r.Seeking = append(r.Seeking, told)
}

// Waits says that one of the gangs does.
func (r *GangReasons) Waits() bool {
	return slices.ContainsFunc(r.Gangs, func(g GangReason) bool { return g.Why != "" })
}

// Text implements [inspect.Answer].
func (r *GangReasons) Text(t *inspect.Table) {
	for i := range r.Gangs {
		if i > 0 {
			t.Gap()
		}
		r.Gangs[i].head(t)
		r.Gangs[i].places(t)
	}
}

// Wide implements [inspect.WideAnswer]: with every member.
func (r *GangReasons) Wide(t *inspect.Table) {
	for i := range r.Gangs {
		g := &r.Gangs[i]
		if i > 0 {
			t.Gap()
		}
		g.head(t)
		g.places(t)
		t.Gap()
		t.Row("MEMBER", "STAGE", "NODE", "FOR")
		for _, m := range g.Members {
			t.Row(m.Pod, m.Stage, cmp.Or(m.Node, "-"), seconds(m.AgeSeconds))
		}
	}
}

func (r *GangReason) head(t *inspect.Table) {
	if r.Why == "" {
		t.Row(inspect.Good("gang " + r.Name + " does not wait"))
	} else {
		t.Row(inspect.Doubtful("gang " + r.Name + " waits: " + r.Why))
	}
	if r.Note != "" {
		t.Row(inspect.Doubtful(r.Note))
	}
	t.Gap()
	t.Row("quorum", r.quorum())
	t.Row("members", fmt.Sprintf("%d pending, %d placed, %d held, %d binding, %d bound, %d succeeded, %d failed, by label %s",
		r.Pending, r.Placed, r.Held, r.Binding, r.Bound, r.Succeeded, r.Failed, r.Label))
	t.Row("reserved", r.reserved())
	t.Row("last denied", inspect.Time(r.Denied))
}

func (r *GangReason) quorum() string {
	switch {
	case r.MinMember == 0:
		return "not known: what makes it a gang does not say how many must start together"
	case r.Missing > 0:
		return fmt.Sprintf("%d members must start together: %d more are to be created", r.MinMember, r.Missing)
	default:
		return fmt.Sprintf("%d members must start together: that many are there", r.MinMember)
	}
}

// reserved is which nodes have room for members that have not started.
func (r *GangReason) reserved() string {
	var nodes []string
	places := 0
	for _, m := range r.Members {
		if m.Node == "" || m.Stage == "bound" || m.Stage == "leaving" {
			continue
		}
		places++
		if !slices.Contains(nodes, m.Node) {
			nodes = append(nodes, m.Node)
		}
	}
	if places == 0 {
		return "no place"
	}
	slices.Sort(nodes)
	said := fmt.Sprintf("%d places on %s", places, strings.Join(nodes, ", "))
	if r.Room != "" {
		said += ", kept as " + string(r.Room)
	}
	if !r.Deadline.IsZero() {
		said += ", until " + inspect.Time(r.Deadline)
	}
	return said
}

// places says of members that have none where they would fit.
func (r *GangReason) places(t *inspect.Table) {
	if len(r.Seeking) == 0 {
		return
	}
	t.Gap()
	t.Row("WITHOUT A PLACE", "FITS ON", "NODES", "REFUSED BY", "BECAUSE")
	for _, s := range r.Seeking {
		who, fits := pods(s.Pods), fmt.Sprintf("%d of %d", s.Fitting, s.Nodes)
		if len(s.Refused) == 0 {
			t.Row(who, fits, "-", "-", "-")
		}
		for _, refusal := range s.Refused {
			t.Row(who, fits, refusal.Nodes, inspect.Bad(refusal.Predicate), refusal.Reason)
			who, fits = "", ""
		}
	}
	if r.MoreSeeking > 0 {
		t.Row(fmt.Sprintf("and %d more, not asked about", r.MoreSeeking))
	}
}

// pods names one of some that are alike.
func pods(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return fmt.Sprintf("%s and %d alike", names[0], len(names)-1)
}

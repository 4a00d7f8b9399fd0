package explanation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/gang/core"
	"muster.dev/muster/inspect"
)

// Gangs is why the gangs of one name wait: there may be one for each label.
type Gangs struct {
	Gangs []Gang `json:"gangs"`
}

// Gang is why a gang waits.
type Gang struct {
	core.Details
	// Generation is of the cluster that the rest is about.
	Generation uint64 `json:"generation,omitempty"`
	// Places says how many members would get a place now, if places would be looked for: no members are missing.
	Places *Places `json:"places,omitempty"`
	// Seeking are members without a place; members that are alike are one entry. MoreSeeking counts members that are in
	// none.
	Seeking     []Seeking `json:"seeking,omitempty"`
	MoreSeeking int       `json:"moreSeeking,omitempty"`
}

// Places is how many members of a gang, and of gangs that start together with it, would get a place now.
type Places struct {
	Wanted int `json:"wanted"` // before any starts
	Found  int `json:"found"`
	Short  int `json:"short"`
	// Against counts the nodes by what is against the first member that is short of one, beside the others in their places.
	Against []Objection `json:"against,omitempty"`
	// Lacks says in words what the network lacks for them.
	Lacks string `json:"lacks,omitempty"`
	// Yielding says that plans of lower priority give way for them.
	Yielding bool `json:"yielding,omitempty"`
	// Cut says that not every way to place them was tried.
	Cut bool `json:"cut,omitempty"`
}

// Objection is a reason against a number of nodes. Each node has one.
type Objection struct {
	Reason string `json:"reason"`
	Nodes  int    `json:"nodes"`
}

// Seeking is members that are alike and have no place.
type Seeking struct {
	Pods []string            `json:"pods"` // their names
	Asks corev1.ResourceList `json:"asks,omitempty"`
	// Placed is how many would get a place now, each beside the members before it.
	Placed int `json:"placed"`
	// Alone counts the nodes by what they are for one of them by itself, and Rooms how many have room on the nodes that
	// take one, whatever else speaks against several.
	Alone Nodes `json:"alone"`
	Rooms int64 `json:"rooms"`
	// Refused is why one fits on no others.
	Refused []Refusal `json:"refused,omitempty"`
	// NoProfile says that no profile is for their spec.schedulerName.
	NoProfile string `json:"noProfile,omitempty"`
}

// whyNow returns why a gang waits whose members are all there, after what is said of it in general.
func (p *Places) whyNow(general string) string {
	if p.Short > 0 {
		return p.String()
	}
	return p.String() + "; " + general
}

// add adds members that are alike, and returns where they stand. Members that are told the same are one entry.
func (r *Gang) add(told Seeking) int {
	for i := range r.Seeking {
		known := &r.Seeking[i]
		if known.same(&told) {
			return i
		}
	}
	r.Seeking = append(r.Seeking, told)
	return len(r.Seeking) - 1
}

// same reports whether the same is said of members of two entries.
func (s *Seeking) same(other *Seeking) bool {
	return s.NoProfile == other.NoProfile && s.Rooms == other.Rooms && s.Alone.All == other.Alone.All && s.Alone.Fit == other.Alone.Fit &&
		s.Alone.Full == other.Alone.Full && s.Alone.Yield == other.Alone.Yield && amounts(s.Asks) == amounts(other.Asks) &&
		slices.Equal(s.Refused, other.Refused)
}

// Waits says that one of the gangs does.
func (r *Gangs) Waits() bool {
	return slices.ContainsFunc(r.Gangs, func(g Gang) bool { return g.Why != "" })
}

// Text implements [inspect.Answer].
func (r *Gangs) Text(t *inspect.Table) {
	for i := range r.Gangs {
		if i > 0 {
			t.Gap()
		}
		r.Gangs[i].head(t)
		r.Gangs[i].places(t)
	}
}

// Wide implements [inspect.WideAnswer]: with every member.
func (r *Gangs) Wide(t *inspect.Table) {
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
			t.Row(m.Pod, m.Stage, cmp.Or(m.Node, "-"), inspect.Seconds(m.AgeSeconds))
		}
	}
}

// State says in words whether the gang waits, and why.
func (r *Gang) State() string {
	if r.Why == "" {
		return "gang " + r.Name + " does not wait"
	}
	return "gang " + r.Name + " waits: " + r.Why
}

func (r *Gang) head(t *inspect.Table) {
	if r.Why == "" {
		t.Row(inspect.Good(r.State()))
	} else {
		t.Row(inspect.Doubtful(r.State()))
	}
	if r.Note != "" {
		t.Row(inspect.Doubtful(r.Note))
	}
	t.Gap()
	t.Row("quorum", r.quorum())
	t.Row("members", fmt.Sprintf("%d pending, %d placed, %d held, %d binding, %d bound, %d leaving, %d succeeded, %d failed, by label %s",
		r.Pending, r.Placed, r.Held, r.Binding, r.Bound, r.Leaving, r.Succeeded, r.Failed, r.Label))
	if r.Places != nil {
		t.Row("now", r.Places.String()+r.notBefore())
	}
	t.Row("reserved", r.reserved())
	t.Row("last denied", inspect.Time(r.Denied))
}

// notBefore says until when a gang rests that has places.
func (r *Gang) notBefore() string {
	if r.Again.IsZero() || r.Places.Short > 0 || r.Places.Cut {
		return ""
	}
	return "; they are looked for when kube-scheduler asks, and not before " + inspect.Time(r.Again)
}

func (r *Gang) quorum() string {
	text := fmt.Sprintf("%d members must start together: ", r.MinMember)
	switch {
	case r.MinMember == 0:
		return "not known: what makes it a gang does not say how many must start together"
	case r.Started:
		return text + "they have, and others start one by one"
	case r.Missing > 0:
		return text + fmt.Sprintf("%d more are to be created", r.Missing)
	case r.Short() > 0:
		return text + fmt.Sprintf("that many are there, and %d more have to become ready", r.Short())
	default:
		return text + "that many are there"
	}
}

// String is as in "places for 3 of 4 members that need one: 1 place short".
func (p *Places) String() string {
	text := fmt.Sprintf("places for %d of %d members that need one", p.Found, p.Wanted)
	if p.Short > 0 {
		text += ": " + numbered(p.Short, "place") + " short"
	}
	if p.Yielding {
		text += ", as plans of lower priority give way"
	}
	switch {
	case p.Cut && p.Short == 0:
		text += ", which the last plan did not find, as it did not try every way; the next one is made when nodes change"
	case p.Cut:
		text += "; not every way to place them was tried"
	}
	if p.Lacks != "" {
		text += "; " + p.Lacks
	}
	if len(p.Against) == 0 {
		return text
	}
	var against []string
	for _, o := range p.Against {
		against = append(against, fmt.Sprintf("%s: %s", numbered(o.Nodes, "node"), o.Reason))
	}
	if text += "; "; p.Found > 0 {
		text += "beside the others, "
	}
	return text + strings.Join(against, ", ")
}

// reserved is which nodes have room for members that have not started.
func (r *Gang) reserved() string {
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
func (r *Gang) places(t *inspect.Table) {
	if len(r.Seeking) == 0 {
		return
	}
	t.Gap()
	t.Row("WITHOUT A PLACE", "FITS ALONE ON", "NODES", "REFUSED BY", "BECAUSE")
	for i := range r.Seeking {
		s := &r.Seeking[i]
		who, fits := Names(s.Pods), fmt.Sprintf("%d of %d", s.Alone.Fit, s.Alone.All)
		if s.NoProfile != "" {
			t.Row(who, fits, "-", "-", s.NoProfile)
			continue
		}
		if len(s.Refused) == 0 {
			t.Row(who, fits, "-", "-", "-")
		}
		for _, refusal := range s.Refused {
			t.Row(who, fits, refusal.Nodes, inspect.Bad(refusal.Predicate), refusal.Reason)
			who, fits = "", ""
		}
	}
	if r.MoreSeeking > 0 {
		t.Row(fmt.Sprintf("and %d more, not looked at", r.MoreSeeking))
	}
	t.Gap()
	for i := range r.Seeking {
		if room := r.Seeking[i].room(r.Places != nil); room != "" {
			t.Row(room)
		}
	}
}

// room says what members ask for and how much of it there is.
func (s *Seeking) room(sought bool) string {
	if s.NoProfile != "" {
		return ""
	}
	text := Names(s.Pods) + ": "
	if len(s.Asks) > 0 {
		text += "each asks for " + amounts(s.Asks) + "; "
	}
	switch {
	case s.Alone.Fit > 0:
		text += fmt.Sprintf("the nodes that take one have room for %d", s.Rooms)
	case s.Alone.Nearest != nil:
		text += s.Alone.Nearest.String()
	default:
		text += "no node takes one"
	}
	if sought {
		text += fmt.Sprintf("; %d of %d would get a place now", s.Placed, len(s.Pods))
	}
	return text
}

// Names names one of some pods that are alike.
func Names(names []string) string {
	if len(names) == 1 {
		return names[0]
	}
	return fmt.Sprintf("%s and %d alike", names[0], len(names)-1)
}

package core

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/record"
	"muster.dev/muster/gang/status"
)

// Summary is how far a gang is.
type Summary struct {
	Name      string `json:"gang"`      // namespace/name
	Label     string `json:"label"`     // that makes pods its members
	MinMember int    `json:"minMember"` // 0 when that is not known
	Priority  int32  `json:"priority"`
	// SchedulerName names its profile, and ReserveAfter is how long it asks to wait at least before room is booked for it.
	SchedulerName string        `json:"-"`
	ReserveAfter  time.Duration `json:"-"`
	// Levels are the keys of labels of nodes by which its pods ask to be near each other, the uppermost first.
	Levels []string `json:"levels,omitempty"`
	// Room says how the places of members are kept that go without a bind call; "" when there are none.
	Room record.Room `json:"room,omitempty"`
	// How many members are how far, each counted once, here or as leaving. Held are the members that have come and wait for
	// the others, also while the call of one has ended and is to come again, or their gates are on and their room is kept;
	// binding are the members that are let go.
	Pending int `json:"pending"`
	Placed  int `json:"placed"`
	Held    int `json:"held"`
	Binding int `json:"binding"`
	Bound   int `json:"bound"`
	// How many pods have finished.
	Succeeded int `json:"succeeded"`
	Failed    int `json:"failed"`
	// Account counts them against MinMember.
	Account
	// Found is how many of Lacking the last plan found places for, which are not kept; 0 also when that is not known.
	Found int `json:"found,omitempty"`
	// Since is when the first of its members that are not bound was created, if it waits.
	Since time.Time `json:"since,omitzero"`
	// Why it waits, in words; "" when it does not. Note is a further remark on it.
	Why  string `json:"why,omitempty"`
	Note string `json:"note,omitempty"`
	// Reason is Why without words, and Wrong what makes no sense in what the gang asks for, "" for nothing. Other than Why they
	// name no gang that has places or is to start together with it.
	Reason status.Reason `json:"-"`
	Wrong  string        `json:"-"`
	// Denied is when it was denied last, Planned when its present plan was made, Deadline when
	// that plan ends without quorum. They are zero when there is none.
	Denied   time.Time `json:"denied,omitzero"`
	Planned  time.Time `json:"planned,omitzero"`
	Deadline time.Time `json:"deadline,omitzero"`
	// Again is when places may be looked for again, after a plan in vain; zero when that is so at any time.
	Again time.Time `json:"again,omitzero"`
}

// Moment is when gangs are told of: the time, and the generation of the cluster.
type Moment struct {
	Now        time.Time
	Generation uint64
}

// Details is all about a gang.
type Details struct {
	Summary
	Members []Member `json:"members"` // by name
}

// Member is how far a member is.
type Member struct {
	Pod        string  `json:"pod"` // its name
	Stage      string  `json:"stage"`
	Node       string  `json:"node,omitempty"` // its place, "" when it has none
	AgeSeconds float64 `json:"ageSeconds"`     // of the stage
	// Room says how the member's place is kept free while the member is reserved or has been let go, that is, while no
	// bind call is held for it. It is "" at any other stage.
	Room record.Room `json:"room,omitempty"`
}

// Knows reports whether a pod is a member.
func (s *State) Knows(uid types.UID) bool { return s.groupOf[uid] != nil }

// Planned reports whether a pod counts on its node only since it was planned there: the scheduler
// has not bound it yet, and is not about to.
func (s *State) Planned(uid types.UID) bool {
	p := s.member(uid)
	return p != nil && p.waitsForCall()
}

// PlacesAlone reports whether a pod is placed for itself: it is of no gang, or of one that has started, asks nothing of the network
// and has no place for it.
func (s *State) PlacesAlone(uid types.UID) bool {
	g := s.groupOf[uid]
	return g == nil || g.members[uid].stage == pending && s.hasStarted(g) && !g.spec.AsksNetwork()
}

// Order returns the groups in the order in which they are planned.
func (s *State) Order() []membership.Key {
	groups := s.inOrder()
	keys := make([]membership.Key, 0, len(groups))
	for _, g := range groups {
		keys = append(keys, g.key)
	}
	return keys
}

// Report says how far all gangs are, in the order in which they are planned.
func (s *State) Report(at Moment) []Summary {
	var all []Summary
	for _, g := range s.inOrder() {
		all = append(all, s.summary(g, at))
	}
	return all
}

// About says all about the gangs of a name: there may be one for each label.
func (s *State) About(name types.NamespacedName, at Moment) []Details {
	var all []Details
	for _, g := range s.inOrder() {
		if g.key.NamespacedName != name {
			continue
		}
		about := Details{Summary: s.summary(g, at), Members: []Member{}}
		for _, p := range g.members {
			about.Members = append(about.Members, p.about(at.Now))
		}
		slices.SortFunc(about.Members, func(a, b Member) int { return strings.Compare(a.Pod, b.Pod) })
		all = append(all, about)
	}
	return all
}

// Member says how far a pod is as a member of a gang, and how far that is. It reports false for a pod
// that is of none.
func (s *State) Member(uid types.UID, at Moment) (Summary, Member, bool) {
	g := s.groupOf[uid]
	if g == nil {
		return Summary{}, Member{}, false
	}
	return s.summary(g, at), g.members[uid].about(at.Now), true
}

func (p *member) about(now time.Time) Member {
	stage := p.stage.String()
	if p.stage == pending && p.gated() {
		stage = "gated"
	}
	m := Member{Pod: p.pod.Name, Stage: stage, Node: p.place, AgeSeconds: now.Sub(p.since).Round(time.Millisecond).Seconds()}
	if p.stage == reserved || p.stage == due {
		m.Room = p.room
	}
	return m
}

// summary says how far a group is. What it says of members is of now, whatever was found when they were last planned.
func (s *State) summary(g *group, at Moment) Summary {
	c := g.counts
	told := Summary{
		Name: g.key.String(), Label: g.key.Label, Priority: g.priority, SchedulerName: g.schedulerName, Room: g.room(),
		Pending: c[pending], Placed: c[placed], Held: c.came(), Binding: c[due] + c[binding], Bound: c[bound],
		Succeeded: g.done.succeeded, Failed: g.done.failed,
		Denied: g.failed, Planned: g.planned, Note: s.note(g),
	}
	spec, not := g.asked()
	if not != nil {
		told.Leaving = len(g.those((*member).leaves))
		told.Why, told.Reason, told.Wrong = not.why, not.reason, not.why
	} else {
		told.Account, told.MinMember = part{g, spec}.account(at.Now), spec.MinMember
		told.Levels, told.ReserveAfter = spec.Levels(), spec.Policy.ReserveAfter
		if !g.planned.IsZero() {
			told.Deadline = g.deadline(spec)
		}
		if short := told.Bound+told.Succeeded+c[binding] < told.MinMember; short || g.lackedPlaces {
			waits := s.whyItWaits(g)
			if g.lackedPlaces && waits == g.waiting {
				told.Found = min(g.found, told.Lacking)
			}
			if short {
				told.Why, told.Reason = s.whyNow(g, waits, at), waits.reason
			}
		}
	}
	told.Pending -= told.Leaving - c[leaving]
	if told.Why != "" {
		told.Since = g.waitsSince()
		if spares := g.spares(); spares != "" { // what is found now may stand for Why
			told.Note = strings.TrimPrefix(told.Note+"; "+spares, "; ")
		}
	}
	for _, end := range []time.Time{g.denied, g.tries.next} {
		if end.After(at.Now) && end.After(told.Again) {
			told.Again = end
		}
	}
	return told
}

// waitsSince returns when the first of the members that are not bound was created, zero when there are none.
func (g *group) waitsSince() (since time.Time) {
	for _, p := range g.members {
		if created := p.pod.CreationTimestamp.Time; p.stage < bound && !p.leaves() && (since.IsZero() || created.Before(since)) {
			since = created
		}
	}
	return since.UTC()
}

// Observe returns what the status of a group's PodGroup is to say, except the PodGroup itself. It reports false
// for a group without pods.
func (s *State) Observe(key membership.Key) (status.Observation, bool) {
	g := s.groups[key]
	if g == nil {
		return status.Observation{}, false
	}
	waits := s.whyItWaits(g)
	o := status.Observation{
		SchedulerName: g.schedulerName, Counts: g.statusCounts(), OccupiedBy: status.OccupiedBy(g.pods()), Owners: membership.Owners(g.pods()),
		Reason: waits.reason, Message: waits.why, Note: s.note(g), Dissent: g.dissent(),
	}
	if spec, not := g.asked(); not == nil {
		o.MinMember = spec.MinMember
	}
	if first := g.members[g.first]; first != nil {
		o.Member = first.pod.Pod
	}
	return o, true
}

// note returns further remarks on a group besides why it waits.
func (s *State) note(g *group) string {
	var notes []string
	if free := g.freely(); free > 0 && s.looksAt == math.MaxInt {
		notes = append(notes, fmt.Sprintf("%d of its members have no gate, so that kube-scheduler starts them one by one: is the policy there "+
			"that 'muster gate-policy' prints?", free))
	}
	if g.spec != nil && g.spec.Cut != "" {
		notes = append(notes, g.spec.Cut)
	}
	if dissent := g.dissent(); dissent != "" {
		notes = append(notes, dissent)
	}
	others := g.those(func(p *member) bool { return p.stage < due && p.pod.Spec.SchedulerName != g.schedulerName })
	if len(others) > 0 {
		p := others[0].pod
		notes = append(notes, fmt.Sprintf("its members name several schedulers, as %s does %s: all are planned by %s, which the oldest one names",
			p.Name, p.Spec.SchedulerName, g.schedulerName))
	}
	return strings.Join(notes, "; ")
}

// freely returns how many members nothing keeps from the scheduler though their gang is to start without its calls, and has
// not.
func (g *group) freely() int {
	if g.store == nil || !g.store.Profile.PlacesGated() || g.begun() > 0 {
		return 0
	}
	return len(g.those(func(p *member) bool { return p.stage < due && p.gate == shut && !p.gated() }))
}

// statusCounts returns the pods of a group as its status has them.
func (g *group) statusCounts() status.Counts {
	c := status.Counts{Succeeded: g.done.succeeded, Failed: g.done.failed}
	for _, p := range g.members {
		if p.stage == leaving {
			c.Leaving++
		}
		switch {
		case p.stage >= bound && p.pod.Status.Phase == corev1.PodRunning:
			c.Running++
		case p.stage >= bound:
			c.Bound++
		case p.stage == held || p.stage == kept || p.stage == reserved || p.stage == due || p.stage == binding:
			c.Held++
		default:
			c.Pending++
		}
	}
	return c
}

func (g *group) pods() iter.Seq[*cluster.Pod] {
	return func(yield func(*cluster.Pod) bool) {
		for _, p := range g.members {
			if !yield(p.pod) {
				return
			}
		}
	}
}

// Waiting is a group that waits, and why.
type Waiting struct {
	Group   membership.Key
	Reason  status.Reason
	Why     string
	Members []*cluster.Pod // that have been pending for long enough, in the order of the scheduler
}

// Waits returns the groups that do not merely wait for others, with a bounded number of their members that have
// been pending for a time, and about which something is to be told. Other groups are left out.
func (s *State) Waits(now time.Time, most int, since time.Duration, tells func(*cluster.Pod) bool) []Waiting {
	var all []Waiting
	for _, g := range s.those(func(g *group) bool { return g.reason != status.None && g.reason != status.Waiting }) {
		w := Waiting{Group: g.key}
		members := g.in(pending)
		for _, p := range members[:min(len(members), most)] {
			if now.Sub(p.since) >= since && tells(p.pod) {
				w.Members = append(w.Members, p.pod)
			}
		}
		if len(w.Members) > 0 {
			waits := s.whyItWaits(g)
			w.Reason, w.Why = waits.reason, waits.why
			all = append(all, w)
		}
	}
	return all
}

// Census returns how many gangs are in each phase, and what members that have places or are held ask
// for in all, if their gang has not started.
func (s *State) Census() (map[v1alpha1.PodGroupPhase]int, cluster.Resources) {
	phases := map[v1alpha1.PodGroupPhase]int{}
	for _, phase := range status.Phases() {
		phases[phase] = 0
	}
	var idle cluster.Resources
	for _, g := range s.groups {
		spec, not := g.asked()
		if not != nil {
			phases[v1alpha1.PodGroupPending]++
			continue
		}
		phases[status.Phase(spec.MinMember, g.statusCounts())]++
		if !g.holds() || s.hasStarted(g) {
			continue
		}
		for _, p := range g.members {
			if p.stage == placed || p.stage == held || p.stage == kept || p.stage == reserved {
				idle = idle.Plus(&p.pod.Requests)
			}
		}
	}
	return phases, idle
}

func (ChangesDue) apply(t *turn) {
	for key, g := range t.groups {
		if g.dirty {
			t.changed.Insert(key)
			g.dirty = false
		}
	}
	if t.changed.Len() > 0 {
		t.has(Changed{t.changed.UnsortedList()})
		t.changed.Clear()
	}
}

// Lifting reports whether the gate of a pod is being lifted.
func (s *State) Lifting(uid types.UID) bool {
	p := s.known(uid)
	return p != nil && p.gate == lifting
}

// Completed reports whether all members of the last start of a group that was recorded are bound.
func (s *State) Completed(key membership.Key) bool {
	g := s.groups[key]
	if g == nil {
		return false
	}
	r := g.lastRecord()
	return r != nil && r.Time.Equal(g.completed)
}

// Holding returns how many groups of each namespace have places and have not started.
func (s *State) Holding() map[string]int { return maps.Clone(s.holding) }

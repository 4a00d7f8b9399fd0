package gang

import (
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Summary is how far a gang is.
type Summary struct {
	Name      string // namespace/name
	Label     string // that makes pods its members
	MinMember int    // 0 when that is not known
	Priority  int32
	// How many members are how far.
	Pending, Placed, Held, Binding, Bound int
	// How many pods have finished.
	Succeeded, Failed int
	// Why it waits, in words; "" when it does not.
	Why string
	// Denied is when it was denied last, Planned when its present plan was made, Deadline when
	// that plan ends without quorum. They are zero when there is none.
	Denied, Planned, Deadline time.Time
}

// Details is all about a gang.
type Details struct {
	Summary
	Members []Member // by name
}

// Member is how far a member is.
type Member struct {
	Pod   string // its name
	Stage string
	Node  string        // its place, "" when it has none
	Age   time.Duration // of the stage
}

// Report is how far all gangs are, in the order in which they are planned.
func (m *Manager) Report() []Summary {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.receive()
	var all []Summary
	for _, g := range m.inOrder() {
		all = append(all, m.summary(g))
	}
	return all
}

// About is all about the gangs of a name: there may be one for each label.
func (m *Manager) About(name types.NamespacedName) []Details {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.receive()
	var all []Details
	for _, g := range m.inOrder() {
		if g.key.NamespacedName != name {
			continue
		}
		about := Details{Summary: m.summary(g)}
		for _, p := range g.members {
			about.Members = append(about.Members, m.about(p))
		}
		slices.SortFunc(about.Members, func(a, b Member) int { return strings.Compare(a.Pod, b.Pod) })
		all = append(all, about)
	}
	return all
}

// Member is how far a pod is as a member of a gang, and how far that is. It says false for a pod
// that is of none.
func (m *Manager) Member(uid types.UID) (Summary, Member, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.receive()
	g := m.groupOf[uid]
	if g == nil || g.members[uid] == nil {
		return Summary{}, Member{}, false
	}
	return m.summary(g), m.about(g.members[uid]), true
}

func (m *Manager) about(p *member) Member {
	stage := p.stage.String()
	if p.stage == pending && p.gated() {
		stage = "gated"
	}
	return Member{p.pod.Name, stage, p.place, m.clock.Since(p.since)}
}

func (m *Manager) summary(g *group) Summary {
	c := g.counts
	s := Summary{
		Name: g.key.String(), Label: g.key.Label, Priority: g.priority,
		Pending: c[pending], Placed: c[placed], Held: c[held], Binding: c[binding], Bound: c[bound],
		Succeeded: g.done.succeeded.Len(), Failed: g.done.failed.Len(),
		Denied: g.failed, Planned: g.planned,
	}
	spec, reason := m.spec(g)
	if reason == "" {
		s.MinMember = spec.MinMember
		if !g.planned.IsZero() {
			s.Deadline = g.deadline(spec)
		}
	}
	if g.letGo() < s.MinMember || reason != "" {
		s.Why = g.why
	}
	return s
}

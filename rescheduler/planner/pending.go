package planner

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
)

// Waiting returns the pods that somebody is to place, by name: the pods that kube-scheduler looks at, and
// members of gangs that muster's gate alone keeps from it, maybe until there is a place for them.
func Waiting(c *cluster.Cluster) []*cluster.Pod {
	return slices.DeleteFunc(c.Pending(), func(pod *cluster.Pod) bool {
		return pod.DeletionTimestamp != nil || membership.GatedByOthers(pod.Pod)
	})
}

// Pending makes groups of pending pods: pods that start together are one group, as in a gang or a bundle of
// gangs, and any other pod is one for itself. They are in the order of their names. Package membership says
// what is asked of gangs, and whether they can start. A gang that cannot start becomes a group that cannot be
// placed, and so does a gang with too few pods.
func (p *Problem) Pending(pods []*cluster.Pod) []Group {
	l := newLineup(p.Snapshot, p.Gangs, p.Reserved, pods)
	groups := l.alone
	seen := map[membership.Key]bool{}
	for _, key := range slices.SortedFunc(maps.Keys(l.waiting), byKey) {
		if seen[key] {
			continue
		}
		bundle, not := l.bundle(key)
		if not == nil && slices.ContainsFunc(bundle, func(sibling membership.Key) bool { return seen[sibling] }) {
			not = &membership.Hindrance{Kind: membership.Later, Why: "other gangs of its tree of groups start before it"}
		}
		if not != nil {
			groups = append(groups, Group{
				Name: key.String(), Pods: l.waiting[key], AtLeast: len(l.waiting[key]) + 1, Hindrance: ReasonCannotStart, Why: not.Why,
			})
			continue
		}
		for _, sibling := range bundle {
			seen[sibling] = true
		}
		groups = append(groups, l.groups(bundle)...)
	}
	slices.SortStableFunc(groups, func(a, b Group) int { return cmp.Compare(a.Name, b.Name) })
	return groups
}

func byKey(a, b membership.Key) int {
	return cmp.Or(cmp.Compare(a.String(), b.String()), cmp.Compare(a.Label, b.Label))
}

// lineup is the pods that wait, by their gangs.
type lineup struct {
	snap    *cluster.Snapshot
	bounds  membership.Bounds
	alone   []Group
	waiting map[membership.Key][]*cluster.Pod
	bound   map[membership.Key][]*cluster.Pod
	coming  map[membership.Key][]*cluster.Pod // members that do not wait, as their places are kept for them
	there   map[membership.Key][]int32        // nodes of both
	specs   map[membership.Key]*membership.Spec
	trees   map[membership.Key]sets.Set[membership.Key] // gangs below the same root
}

func newLineup(snap *cluster.Snapshot, bounds membership.Bounds, kept []Reservation, pods []*cluster.Pod) *lineup {
	l := &lineup{
		snap: snap, bounds: bounds, waiting: map[membership.Key][]*cluster.Pod{}, bound: map[membership.Key][]*cluster.Pod{},
		coming: map[membership.Key][]*cluster.Pod{}, there: map[membership.Key][]int32{}, specs: map[membership.Key]*membership.Spec{},
		trees: map[membership.Key]sets.Set[membership.Key]{},
	}
	for _, pod := range pods {
		if key, member := membership.Of(pod); member {
			l.waiting[key] = append(l.waiting[key], pod)
			l.root(key, pod)
		} else {
			l.alone = append(l.alone, single(pod))
		}
	}
	if len(l.waiting) == 0 {
		return l
	}
	for _, place := range kept {
		if key, member := membership.Of(place.Pod); member && !place.Pod.Placeholder {
			l.coming[key], l.there[key] = append(l.coming[key], place.Pod), append(l.there[key], place.Node)
			l.root(key, place.Pod)
		}
	}
	for node := range snap.Nodes() {
		for _, pod := range node.Pods {
			if key, member := membership.Of(pod); member && !pod.Placeholder && pod.DeletionTimestamp == nil {
				l.bound[key], l.there[key] = append(l.bound[key], pod), append(l.there[key], node.Index)
				l.root(key, pod)
			}
		}
	}
	return l
}

// root notes in which tree the gang of a pod is.
func (l *lineup) root(key membership.Key, pod *cluster.Pod) {
	root := membership.Root(pod)
	if root == (membership.Key{}) {
		return
	}
	if l.trees[root] == nil {
		l.trees[root] = sets.New[membership.Key]()
	}
	l.trees[root].Insert(key)
}

// single returns a group of one pod.
func single(pod *cluster.Pod) Group {
	g := Group{Name: pod.FullName(), Pods: []*cluster.Pod{pod}, AtLeast: 1}
	switch {
	case membership.Left(pod):
		g.AtLeast, g.Hindrance = 2, ReasonNativeGroup
	case pod.ClaimProblem != "":
		g.AtLeast, g.Hindrance = 2, ReasonResourceClaims
	}
	return g
}

// asked returns what is asked of a gang, nil when it has no members, or why that is not known.
func (l *lineup) asked(key membership.Key) (*membership.Spec, *membership.Hindrance) {
	spec, known := l.specs[key]
	if !known {
		members := slices.Concat(l.waiting[key], l.bound[key], l.coming[key])
		if len(members) == 0 {
			return nil, nil
		}
		if object := membership.Object(l.snap, key); object != nil {
			spec = l.bounds.Asked(object)
		} else {
			spec = l.bounds.Said(slices.Values(members))
		}
		l.specs[key] = spec
	}
	if not := membership.Unasked(key, spec); not != nil {
		return nil, not
	}
	return spec, nil
}

// bundle returns the gangs that start together with one that waits, and itself, or why it cannot start.
func (l *lineup) bundle(key membership.Key) ([]membership.Key, *membership.Hindrance) {
	spec, not := l.asked(key)
	if not != nil {
		return nil, not
	}
	if len(spec.Above) > 0 {
		return l.inTree(key)
	}
	siblings, not := spec.Siblings(key, l.asked)
	if not != nil {
		return nil, not
	}
	return slices.SortedFunc(slices.Values(append(siblings, key)), byKey), nil
}

// inTree is bundle for a gang that is in a tree of groups.
func (l *lineup) inTree(key membership.Key) (bundle []membership.Key, not *membership.Hindrance) {
	var leaves []membership.Leaf
	root := membership.Root(l.waiting[key][0])
	for other := range l.trees[root] {
		spec, not := l.asked(other)
		if not != nil || len(spec.Above) == 0 || spec.Above[0].Name != root.Name {
			continue
		}
		leaf := membership.Leaf{Key: other, Above: spec.Above, Standing: membership.Whole}
		for _, pod := range l.waiting[other] {
			leaf.Priority = max(leaf.Priority, corev1helpers.PodPriority(pod.Pod))
		}
		switch missing := spec.Missing(len(l.bound[other]) + len(l.coming[other])); {
		case missing == 0, len(l.bound[other]) > 0:
			leaf.Standing = membership.Started
		case missing > len(l.waiting[other]):
			leaf.Standing = membership.Incomplete
		}
		leaves = append(leaves, leaf)
	}
	choices, not := membership.Choices(key, leaves)
	if not != nil {
		return nil, not
	}
	for bundle = range choices {
		break
	}
	return slices.SortedFunc(slices.Values(bundle), byKey), nil
}

// hinders says why no room is made for a gang, "" where some may be.
func (l *lineup) hinders(key membership.Key, missing int) (hindrance, why string) {
	spec := l.specs[key]
	if slices.ContainsFunc(l.waiting[key], func(pod *cluster.Pod) bool { return pod.ClaimProblem != "" }) {
		return ReasonResourceClaims, ""
	}
	if spec.Policy.Topology.Divides() || spec.SharesBinding() {
		return ReasonTopology, ""
	}
	if missing > 0 {
		if why := membership.Lacking(spec.MinResources, l.bound[key], l.snap); why != "" {
			return ReasonMinResources, why
		}
	}
	return "", ""
}

// groups returns the groups of gangs that start together: one group of all members that must have places before
// any starts, or one of each gang if no member has to come first. A bundle gets room for no more than these.
func (l *lineup) groups(bundle []membership.Key) (groups []Group) {
	together, binds := Group{}, false
	var names []string
	for _, key := range bundle {
		spec, waiting := l.specs[key], l.waiting[key]
		missing := spec.Missing(len(l.bound[key]) + len(l.coming[key]))
		group := Group{Name: key.String(), Pods: waiting, AtLeast: max(1, missing)}
		binds = binds || spec.Policy.Topology.Binds()
		if hindrance, why := l.hinders(key, missing); hindrance != "" {
			together.Hindrance, together.Why = hindrance, why
		} else {
			group.Near = l.near(key)
		}
		groups, names = append(groups, group), append(names, group.Name)
		together.AtLeast += missing
		together.Pods = append(together.Pods, waiting[:min(missing, len(waiting))]...)
	}
	groups = slices.DeleteFunc(groups, func(g Group) bool { return len(g.Pods) == 0 })
	if binds && len(bundle) > 1 && together.AtLeast > 0 && together.Hindrance == "" {
		together.Hindrance, together.Why = ReasonTopology, ""
	}
	if together.Hindrance == "" && (len(bundle) == 1 || together.AtLeast == 0) {
		return groups
	}
	together.Name = strings.Join(names, " and ")
	if together.Hindrance != "" {
		together.Pods = nil
		for _, g := range groups {
			together.Pods = append(together.Pods, g.Pods...)
		}
		together.AtLeast = len(together.Pods) + 1
	}
	return []Group{together}
}

package planner

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement/scenario"
	"muster.dev/muster/predicates"
)

// kind is pods that no predicate can tell apart once they have no node.
type kind struct {
	profile *predicates.Profile // nil when there is none for its scheduler name
	pod     *cluster.Pod        // one of them, as it would be placed again

	judgement *scenario.Judge      // once it is needed
	social    bool                 // pods of the kind mind where others of it are
	standings map[int32][]standing // by kind.from, and by node index
}

// judge says what predicates say of pods of a kind in the world.
func (k *kind) judge(world *scenario.Scenario) *scenario.Judge {
	if k.judgement == nil {
		judgement := k.profile.JudgeFit(k.pod, world.Snapshot())
		k.social, k.judgement = judgement.Minds(k.pod), world.Judge(judgement)
	}
	return k.judgement
}

// from returns the node whose pods of the kind hang on an item that leaves it: -1 when it does not
// matter where the item is.
func (k *kind) from(i *item) int32 {
	if k.social {
		return i.origin
	}
	return -1
}

// standing is the objection of the predicates to pods of a kind on a node, besides a lack of room.
type standing uint8

const (
	unasked standing = iota
	open             // nothing
	taken            // pods that are there, or elsewhere
	never            // something that no pod could change by going
)

// standing says it of a node in a state that it may be in.
func (k *kind) standing(world *scenario.Scenario, node *cluster.Node) standing {
	result := open
	k.judge(world).Judgement().Verdicts(node, func(v predicates.Verdict) {
		switch {
		case v.OfRoom() && v.Resolvable():
		case v.Resolvable():
			result = max(result, taken)
		default:
			result = never
		}
	})
	return result
}

// kinds collects the kinds of pods, each made when a pod of it is first asked about.
type kinds struct {
	profiles map[string]*predicates.Profile
	all      []*kind
	byClass  map[classKey]int32
	of       map[*cluster.Pod]int32
}

type classKey struct {
	scheduler string
	class     predicates.Class
}

func newKinds(p *Problem) *kinds {
	k := &kinds{
		profiles: map[string]*predicates.Profile{},
		byClass:  map[classKey]int32{}, of: map[*cluster.Pod]int32{},
	}
	for _, profile := range p.Profiles {
		k.profiles[profile.Name] = profile
	}
	return k
}

// find returns the place in all of a pod's kind.
func (k *kinds) find(pod *cluster.Pod) int32 {
	if at, known := k.of[pod]; known {
		return at
	}
	anew, profile := k.replacement(pod), k.profiles[pod.Spec.SchedulerName]
	key := classKey{pod.Spec.SchedulerName, cmp.Or(profile, new(predicates.Profile)).AloneAs(anew)}
	at, known := k.byClass[key]
	if !known {
		at = int32(len(k.all)) //nolint:gosec // no more than there are pods
		k.all = append(k.all, &kind{profile: profile, pod: anew, standings: map[int32][]standing{}})
		k.byClass[key] = at
	}
	k.of[pod] = at
	return at
}

// replacement returns a pod as its controller would make it again: without a node.
func (k *kinds) replacement(pod *cluster.Pod) *cluster.Pod {
	if pod.Spec.NodeName == "" {
		return pod
	}
	return pod.Anew()
}

// kindOf returns the kind of an item, which is looked up when it first matters.
func (k *kinds) kindOf(i *item) *kind {
	if i.kind < 0 {
		i.kind = k.find(i.pod)
	}
	return k.all[i.kind]
}

// anew returns the pod of an item as it is placed again.
func (k *kinds) anew(i *item) *cluster.Pod {
	if i.anew == nil {
		i.anew = k.replacement(i.pod)
	}
	return i.anew
}

// standings remember what the predicates have against pods on nodes, besides room, as the cluster was before
// the plan, and which pods would have to leave for that.
type standings struct {
	*state

	world    *scenario.Scenario
	kinds    *kinds
	blockers map[opening][]int32

	afterwards map[place]standing // of pending pods, once others have left by themselves
}

func newStandings(s *state, world *scenario.Scenario, kinds *kinds) *standings {
	return &standings{state: s, world: world, kinds: kinds, blockers: map[opening][]int32{}, afterwards: map[place]standing{}}
}

// opening stands for pods of one kind that leave the node from, or are pending (from is negative), and for a node that
// could take them if certain pods there were gone.
type opening struct{ kind, from, node int32 }

// of returns what speaks against a pod on a node, if that pod were not where it is.
func (s *standings) of(i *item, node int32) standing {
	k := s.kinds.kindOf(i)
	if k.profile == nil {
		return never
	}
	k.judge(s.world)
	from := k.from(i)
	row := k.standings[from]
	if row == nil {
		row = make([]standing, len(s.on))
		k.standings[from] = row
		if from >= 0 { // what it says of other nodes hangs on where the pod is
			s.without(i, func() {
				for _, node := range s.nodes {
					row[node] = k.standing(s.world, s.world.Node(node))
				}
			})
		}
	}
	if row[node] == unasked {
		row[node] = k.standing(s.world, s.world.Node(node))
	}
	return row[node]
}

// forbid keeps pods of a kind that leave one node, or are pending, off another node.
func (s *standings) forbid(i *item, node int32) {
	s.of(i, node)
	k := s.kinds.kindOf(i)
	k.standings[k.from(i)][node] = never
	if i.pending() {
		s.afterwards[place{i.kind, node}] = never
	}
}

// without does something while a pod is not where it is.
func (s *standings) without(i *item, do func()) {
	before := s.world.Moves()
	s.world.Take(i.pod, i.origin)
	do()
	s.world.Undo(before)
}

// blocks reports whether an item has to leave its node for another one that came there.
func (s *standings) blocks(at int32, other *item, node int32) bool {
	return slices.Contains(s.blockers[opening{other.kind, other.origin, node}], at)
}

// obstacles returns the items that have to leave a node for another reason than room. It reports false when
// that is not enough.
func (s *standings) obstacles(i *item, node int32) ([]int32, bool) {
	switch s.of(i, node) {
	case open:
		return nil, true
	case taken:
	case never, unasked:
		return nil, false
	}
	key := opening{i.kind, i.origin, node}
	found, known := s.blockers[key]
	if !known {
		if i.origin < 0 {
			found = s.findObstacles(i, node)
		} else {
			s.without(i, func() { found = s.findObstacles(i, node) })
		}
		s.blockers[key] = found
	}
	return found, found != nil
}

// findObstacles takes all pods away that may go, then gives back all it can, the most expensive ones first. The
// result is nil when the pod is not welcome even then.
func (s *standings) findObstacles(i *item, node int32) []int32 {
	k := s.kinds.kindOf(i)
	before := s.world.Moves()
	defer func() { s.world.Undo(before) }()
	var movable []int32
	for at := range s.items {
		if o := &s.items[at]; o.origin == node {
			movable = append(movable, int32(at))
			s.world.Take(o.pod, node)
		}
	}
	if k.standing(s.world, s.world.Node(node)) != open {
		return nil
	}
	slices.SortStableFunc(movable, func(a, b int32) int { return int(s.items[b].cost - s.items[a].cost) })
	var obstacles []int32
	for _, at := range movable {
		s.world.Put(s.items[at].pod, node)
		if k.standing(s.world, s.world.Node(node)) != open {
			s.world.Take(s.items[at].pod, node)
			obstacles = append(obstacles, at)
		}
	}
	return obstacles
}

// Misplacement is a pod on a node that would not take it if it came there now.
type Misplacement struct {
	Pod  *cluster.Pod
	Node *cluster.Node // as in the snapshot
	// Objection is the first that one of the predicates makes that were asked for.
	Objection predicates.Objection
}

// Misplaced returns the pods that their nodes would not take if they came there now, by one of the predicates
// of these names. It leaves out pods that no plan moves under any rules, such as pods of DaemonSets, and pods
// of scheduler names without a profile.
func (p *Problem) Misplaced(by sets.Set[string]) (misplaced []Misplacement) {
	world, kinds := scenario.New(p.Snapshot), newKinds(p)
	for node := range p.Snapshot.Nodes() {
		for _, pod := range node.Pods {
			if p.Rules.byKind(pod) != "" || kinds.profiles[pod.Spec.SchedulerName] == nil {
				continue
			}
			for _, objection := range kinds.all[kinds.find(pod)].judge(world).Against(pod, node.Index) {
				if by.Has(objection.Predicate) {
					misplaced = append(misplaced, Misplacement{pod, node, objection})
					break
				}
			}
		}
	}
	return misplaced
}

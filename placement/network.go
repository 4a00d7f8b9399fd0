package placement

import (
	"slices"
	"time"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement/topology"
	"muster.dev/muster/predicates"
)

// Network has the demands of the pods of one group on the network, see [topology.Ask].
type Network struct {
	// Levels are keys of labels of nodes, the uppermost level first. The nodes are the level below the last one.
	Levels []string
	// Above has more keys for each level, or is nil: the values of these tell its domains apart as well.
	Above [][]string
	// Required is the level of the domain that has all pods of the group, and Balanced the one whose domains share them evenly.
	Required, Balanced int
	Slices             []topology.Slice
	Shares             *topology.Shares // nil for none
	// Beside are indexes of nodes that other pods of the group have already, each as often as it has some.
	Beside []int32
	// within reports whether pods may come to a node, nil for all nodes, and except are as in [topology.Ask]: see [Common].
	within func(node int32) bool
	except []int32
}

// Divides reports whether pods are divided over domains, beyond being in one of them.
func (n *Network) Divides() bool {
	return n.Balanced > 0 || len(n.Slices) > 0 || n.Shares != nil
}

// isSoft reports whether pods may go anywhere if there are no places as they ask.
func (n *Network) isSoft() bool {
	return n.Required == 0 && !n.Divides()
}

// Lack says in which domain of a level most pods of a group have room, and for how many that is.
type Lack struct {
	Key     string // of the label that makes the level, "" for nodes
	Domains int
	Value   string // of the label, or the name of the node
	Pods    int
	// Share is the share that has no room there, 0 if none is lacking.
	Share int
	// Mixed says that slices or shares of pods that are not alike were asked for: these are not looked for yet.
	Mixed bool
	// Kinds is how many kinds the pods are of, if these are too many, 0 else.
	Kinds int
}

// mostTrials bounds the divisions that are tried for pods of one group, and mostNearKinds the kinds of these pods.
const mostTrials, mostNearKinds = 64, 64

// placeNear places a number of pods as their network asks, in a quarter of the time to the deadline. Whether they fit is proven pod
// by pod, as in [Plan.PlaceAll]. It reports whether there may be places that it has not found: any, or nearer ones.
func (p *Plan) placeNear(pods []*cluster.Pod, atLeast int, n *Network, deadline time.Time) (outcome Outcome, cut bool) {
	s := p.near(n, p.quarterTo(deadline))
	if kinds := len(s.kinds(pods)); kinds > mostNearKinds {
		return Outcome{Lack: &Lack{Kinds: kinds}}, false
	}
	pods = s.possible(pods, atLeast)
	before := p.Mark()
	for range mostTrials {
		places, again := s.try(pods, false)
		if places != nil {
			places = s.closer(pods, before, places)
			s.done(places)
			return Outcome{Places: places, Placed: len(places), Kept: true}, s.rough
		}
		p.Return(before)
		if cut = cut || again || s.late(); !again || s.late() {
			break
		}
	}
	outcome.Placed, outcome.Lack, outcome.Late = s.found, s.lack, s.late()
	return outcome, cut
}

// possible returns the first of some pods, in the number that is to be placed. It leaves out a kind that fits on no node while there
// are enough others.
func (s *nearness) possible(pods []*cluster.Pod, atLeast int) []*cluster.Pod {
	if len(pods) == atLeast {
		return pods
	}
	fits := map[predicates.Class]bool{}
	for _, kind := range s.kinds(pods) {
		fits[s.kindOf(kind[0])] = slices.ContainsFunc(s.slots(kind[0]), func(slots int32) bool { return slots > 0 })
	}
	some := slices.DeleteFunc(slices.Clone(pods), func(pod *cluster.Pod) bool { return !fits[s.kindOf(pod)] })
	if len(some) < atLeast {
		some = pods
	}
	return some[:atLeast]
}

// placeSpare places pods as their network asks, all that have room and make whole slices.
func (p *Plan) placeSpare(pods []*cluster.Pod, n *Network, deadline time.Time) (outcome Outcome) {
	s := p.near(n, p.quarterTo(deadline))
	before := p.Mark()
	for range mostTrials {
		places, again := s.try(pods, true)
		if outcome.Places = places; !again {
			s.done(places)
			break
		}
		p.Return(before)
		if s.late() {
			break
		}
	}
	outcome.Placed, outcome.Kept, outcome.Lack, outcome.Late = len(outcome.Places), true, s.lack, p.past(deadline)
	for _, pod := range (&Outcome{Places: outcome.Places}).unreached(pods) {
		outcome.Places = append(outcome.Places, Place{Pod: pod, Node: -1})
	}
	return outcome
}

// nearness is a search for places near each other.
type nearness struct {
	plan    *Plan
	network *Network
	tree    *topology.Tree
	late    func() bool
	alike   map[*cluster.Pod]predicates.Class // see kindOf
	// most bounds the pods of a kind on a node, where fewer were proven to fit than there is room for, and each bounds them on
	// any node, as where they may not stand beside each other.
	most map[predicates.Class]map[int32]int32
	each map[predicates.Class]int32
	// except are nodes of domains that lack room for a kind.
	except []int32
	// open reports whether pods may come to a node, nil for all nodes, and the kind of the first pod comes before the others; see
	// closer.
	open  func(node int32) bool
	first *cluster.Pod
	rough bool  // time was up before all divisions were compared
	lack  *Lack // of the trial with the most room
	found int   // how many pods had room then
}

func (p *Plan) near(n *Network, deadline time.Time) *nearness {
	return &nearness{
		plan: p, network: n, tree: p.tree(n), late: func() bool { return p.past(deadline) },
		alike: map[*cluster.Pod]predicates.Class{}, most: map[predicates.Class]map[int32]int32{},
		each: map[predicates.Class]int32{}, except: slices.Clone(n.except),
	}
}

// try puts pods on nodes, kind by kind. It returns no places if they do not fit, and whether to try again with what it has
// learned. Spare pods are the first ones that have room.
func (s *nearness) try(pods []*cluster.Pod, spare bool) (places []Place, again bool) {
	ask := s.ask()
	places = []Place{}
	kinds := s.kinds(pods)
	switch {
	case len(kinds) > mostNearKinds:
		s.lack = &Lack{Kinds: len(kinds)}
		return nil, false
	case len(kinds) > 1 && (len(ask.Slices) > 0 || ask.Shares != nil):
		s.lack = &Lack{Mixed: true}
		return nil, false
	}
	if len(kinds) > 1 && !spare {
		s.sort(kinds)
		ask.Except = s.except
	}
	for _, kind := range kinds {
		division, lack := s.divide(kind, ask, spare)
		switch {
		case division != nil:
		case spare:
			continue
		case lack != nil && len(places) > 0 && ask.Required > 0: // another domain may have room for all kinds
			s.except = append(s.except, places[0].Node)
			return nil, true
		default:
			return nil, false
		}
		if !s.put(kind, division, &places) {
			return nil, true
		}
		ask.There = append(ask.There, division.Nodes...)
	}
	return places, false
}

// done has the plan forget what it need not know any longer when pods are placed.
func (s *nearness) done(places []Place) {
	for _, place := range places {
		s.plan.done(place.Pod)
	}
}

// ask returns the demands of the pods, not their number, with the ones that are there already.
func (s *nearness) ask() *topology.Ask {
	ask := &topology.Ask{
		Required: s.network.Required, Balanced: s.network.Balanced, Slices: s.network.Slices, Shares: s.network.Shares, Except: s.except,
	}
	for _, node := range s.network.Beside {
		ask.There = append(ask.There, topology.Share{Node: node, Pods: 1})
	}
	return ask
}

// kindOf returns what pods share whose places are divided together: whatever a predicate reads of them but their labels, which
// differ among the pods of an indexed Job. What these forbid is found when the pods are put on their nodes.
func (s *nearness) kindOf(pod *cluster.Pod) predicates.Class {
	kind, known := s.alike[pod]
	if !known {
		bare, unlabelled := *pod.Pod, *pod
		bare.Labels, unlabelled.Pod = nil, &bare
		if kind = s.plan.store.ClassOf(&unlabelled); kind.None() {
			kind = s.plan.store.Profile.AloneAs(&unlabelled)
		}
		s.alike[pod] = kind
	}
	return kind
}

// kinds returns the pods that are alike together, each in their order.
func (s *nearness) kinds(pods []*cluster.Pod) (kinds [][]*cluster.Pod) {
	at := map[predicates.Class]int{}
	for _, pod := range pods {
		kind := s.kindOf(pod)
		i, known := at[kind]
		if !known {
			i = len(kinds)
			at[kind], kinds = i, append(kinds, nil)
		}
		kinds[i] = append(kinds[i], pod)
	}
	return kinds
}

// sort puts the kinds first that fit on the fewest nodes, and leaves out the domains that lack room for one of them.
func (s *nearness) sort(kinds [][]*cluster.Pod) {
	nodes := map[*cluster.Pod]int{}
	for _, kind := range kinds {
		slots := s.slots(kind[0])
		for _, room := range slots {
			if room > 0 {
				nodes[kind[0]]++
			}
		}
		s.except = append(s.except, s.tree.Short(slots, s.network.Required, len(kind))...)
	}
	if s.first != nil {
		nodes[s.first] = -1
	}
	slices.SortStableFunc(kinds, func(a, b []*cluster.Pod) int { return nodes[a[0]] - nodes[b[0]] })
}

// divide divides pods of one kind over nodes.
func (s *nearness) divide(kind []*cluster.Pod, ask *topology.Ask, spare bool) (*topology.Division, *topology.Lack) {
	slots := s.slots(kind[0])
	ask.Pods = len(kind)
	if spare {
		ask.Pods = ask.Whole(len(kind))
	}
	division, lack := s.tree.Pack(slots, ask, s.late)
	s.rough = s.rough || division != nil && division.Late
	if lack != nil {
		s.learn(lack, len(ask.There)-len(s.network.Beside))
	}
	if lack == nil || !spare {
		return division, lack
	}
	if ask.Pods = ask.Whole(min(lack.Pods, len(kind))); ask.Pods == 0 {
		return nil, lack
	}
	return s.tree.Pack(slots, ask, s.late)
}

// slots returns for how many pods like one there is room on each node.
func (s *nearness) slots(pod *cluster.Pod) []int32 {
	p := s.plan
	p.keepPromises(pod)
	trial, most := p.batch(pod).trial, s.most[s.kindOf(pod)]
	each, bounded := s.each[s.kindOf(pod)]
	slots := make([]int32, p.Snapshot().IndexEnd())
	for i := range slots {
		node := int32(i)
		if p.Snapshot().Node(node) == nil || p.avoided[node] || !s.mayHave(node) || trial.Verdict(node) != predicates.Fits {
			continue
		}
		slots[i] = int32(Slots(p.Node(node), pod)) //nolint:gosec // no more than a node may have pods
		if bounded {
			slots[i] = min(slots[i], each)
		}
		if proven, known := most[node]; known {
			slots[i] = min(slots[i], proven)
		}
	}
	return slots
}

// mayHave reports whether pods may come to a node, whatever predicates say.
func (s *nearness) mayHave(node int32) bool {
	return (s.network.within == nil || s.network.within(node)) && (s.open == nil || s.open(node))
}

// put puts pods of one kind on nodes as they are divided. It reports false if some do not fit, and has noted then how many do on
// each of these nodes.
func (s *nearness) put(kind []*cluster.Pod, division *topology.Division, places *[]Place) bool {
	all := true
	for _, share := range division.Nodes {
		for n, pod := range kind[:share.Pods] {
			if s.plan.batch(pod).trial.Verdict(share.Node) != predicates.Fits {
				s.bound(pod, share.Node, n)
				all = false
				break
			}
			s.plan.Put(pod, share.Node)
			*places = append(*places, Place{Pod: pod, Node: share.Node})
		}
		kind = kind[share.Pods:]
	}
	return all
}

// bound notes how many pods like one fit on a node. Where some do and one more does not, though there is room, they keep each
// other out, and do so on all nodes.
func (s *nearness) bound(pod *cluster.Pod, node int32, fit int) {
	kind := s.kindOf(pod)
	if before, bounded := s.each[kind]; fit > 0 && (!bounded || int32(fit) < before) { //nolint:gosec // no more than a gang has
		s.each[kind] = int32(fit) //nolint:gosec // as above
	}
	if s.most[kind] == nil {
		s.most[kind] = map[int32]int32{}
	}
	s.most[kind][node] = int32(fit) //nolint:gosec // no more than a gang has
}

// learn notes what a trial lacked that had room for more pods than the ones before.
func (s *nearness) learn(lack *topology.Lack, before int) {
	if s.lack != nil && before+lack.Pods <= s.found {
		return
	}
	s.found, s.lack = before+lack.Pods, &Lack{Domains: lack.Domains, Pods: lack.Pods, Share: lack.Share}
	required := s.network.Required
	if lack.Share > 0 { // room for a part of a share is none
		s.found, required = before, s.network.Shares.Level
	}
	if required > 0 && required <= len(s.network.Levels) {
		s.lack.Key = s.network.Levels[required-1]
	}
	if node := s.plan.Snapshot().Node(lack.Within); required > 0 && lack.Within >= 0 && node != nil {
		if s.lack.Value = node.Name; s.lack.Key != "" {
			s.lack.Value = node.Labels[s.lack.Key]
		}
	}
}

// network reports whether pods of one of the groups may go nowhere but as they ask.
func network(demands []Demand) bool {
	return slices.ContainsFunc(demands, func(d Demand) bool { return d.Network != nil && !d.Network.isSoft() })
}

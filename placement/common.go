package placement

import (
	"cmp"
	"slices"
	"time"

	"muster.dev/muster/cluster"
)

// Common is a demand of several groups on the network: one domain has the pods of all. The demands of these groups point to the same.
type Common struct {
	// Levels and Above are as in [Network].
	Levels []string
	Above  [][]string
	// Required is the level of the domain, 0 for none. Preferred is the level of a domain that is taken if there is one with room.
	Required, Preferred int
	// Beside are indexes of nodes that pods of the groups have already.
	Beside []int32
}

// mostTurns bounds how often pods are placed within one domain of the outermost level, besides once for each group.
const mostTurns = 64

// tightest is how many domains of a level are tried in the order of their room. The others are shuffled: two plans whose time is up
// before all domains are tried do not try the same ones.
const tightest = 4

// commonSearch is a search for places of groups that share domains. It takes a domain, the domains in it, and places in these, and goes
// back to the next domain where a group has no place. The domains with the least room come first, and the largest groups.
type commonSearch struct {
	plan     *Plan
	demands  []Demand
	deadline time.Time
	steps    []commonStep
	chosen   map[*Common]*commonDomain
	enough   []Outcome // of each demand
	left     int       // turns in the present domain of the outermost level
	cut      bool
	most     int   // pods had places in the best turn
	lack     *Lack // then
	late     bool
}

// commonStep chooses a domain for some demands, or places the pods of one.
type commonStep struct {
	common  *Common // nil to place
	demands []int
}

// commonDomain is a domain that is chosen. Pods beyond the least number may also go to the one around it that is required.
type commonDomain struct {
	within, around func(node int32) bool
	lack           Lack // without the number of pods
}

func anywhere(int32) bool { return true }

// binds reports whether a domain is required of some groups.
func binds(demands []Demand) bool {
	return slices.ContainsFunc(demands, func(d Demand) bool {
		return slices.ContainsFunc(d.Within, func(c *Common) bool { return c.Required > 0 })
	})
}

// placeInCommon is [Plan.PlaceTogether] where groups share domains. It places groups that share none as well.
func (p *Plan) placeInCommon(demands []Demand, deadline time.Time) (result Together) {
	s := &commonSearch{
		plan: p, demands: demands, deadline: p.quarterTo(deadline), chosen: map[*Common]*commonDomain{}, enough: make([]Outcome, len(demands)),
	}
	all := make([]int, len(demands))
	for i := range all {
		all[i] = i
	}
	slices.SortStableFunc(all, func(a, b int) int {
		return cmp.Or(
			cmp.Compare(min(len(demands[b].Within), 1), min(len(demands[a].Within), 1)), // so that the first step chooses a domain
			cmp.Compare(demands[b].required(), demands[a].required()), cmp.Compare(demands[b].AtLeast, demands[a].AtLeast),
		)
	})
	s.plans(all, 0)
	before := p.Mark()
	if !s.from(0) {
		p.Return(before)
		if s.lack != nil && s.lack.Pods == 0 {
			s.lack.Pods = s.most
		}
		return Together{Enough: []Outcome{{Placed: s.most, Lack: s.lack, Late: s.late}}, Shared: true, Cut: s.cut, Late: s.late}
	}
	result = Together{Enough: s.enough, Kept: true, Cut: s.cut}
	for i := range demands {
		d := demands[i]
		d.Network = s.around(&d)
		result.More = append(result.More, p.more(&d, &s.enough[i], deadline))
	}
	return result
}

// plans adds the steps for some demands, whose outer domains are chosen before.
func (s *commonSearch) plans(demands []int, depth int) {
	for len(demands) > 0 {
		within := s.demands[demands[0]].Within
		if depth >= len(within) {
			s.steps, demands = append(s.steps, commonStep{demands: demands[:1]}), demands[1:]
			continue
		}
		var inside, outside []int
		for _, i := range demands {
			if of := s.demands[i].Within; depth < len(of) && of[depth] == within[depth] {
				inside = append(inside, i)
			} else {
				outside = append(outside, i)
			}
		}
		s.steps = append(s.steps, commonStep{within[depth], inside})
		s.plans(inside, depth+1)
		demands = outside
	}
}

// from takes the steps from one on, and reports whether all groups have places.
func (s *commonSearch) from(at int) bool {
	if at == len(s.steps) {
		return true
	}
	step := &s.steps[at]
	if step.common == nil {
		return s.place(at, step.demands[0])
	}
	domains, lack := s.domains(step)
	if len(domains) == 0 {
		s.learn(lack, s.placed(at)+lack.Pods)
	}
	for _, domain := range domains {
		if at == 0 {
			s.left = mostTurns + len(s.demands)
		}
		s.chosen[step.common] = domain
		if s.from(at + 1) {
			return true
		}
		if s.over() && (at > 0 || s.late) {
			break
		}
	}
	delete(s.chosen, step.common)
	return false
}

// over reports whether the search has to leave the present domain of the outermost level.
func (s *commonSearch) over() bool {
	s.late = s.late || s.plan.past(s.deadline)
	s.cut = s.cut || s.late || s.left <= 0
	return s.late || s.left <= 0
}

// place places the pods of a group and takes the steps after it, in one domain of the group's own level after the other.
func (s *commonSearch) place(at, demand int) bool {
	d := &s.demands[demand]
	network, before := s.network(d), s.plan.Mark()
	for !s.over() {
		s.left--
		outcome, cut := Outcome{Kept: true}, false
		switch {
		case d.AtLeast > len(d.Pods):
			outcome.Kept = false
		case d.AtLeast > 0:
			outcome, cut = s.plan.placeNear(d.Pods, d.AtLeast, network, s.deadline)
		}
		s.cut = s.cut || cut
		if !outcome.Kept {
			s.learn(s.lackOf(d, &outcome), outcome.Placed+s.placed(at))
			return false
		}
		if s.enough[demand] = outcome; s.from(at + 1) {
			return true
		}
		s.plan.Return(before)
		if network.Required == 0 || len(outcome.Places) == 0 {
			return false
		}
		network.except = append(network.except, outcome.Places[0].Node)
	}
	return false
}

// network returns the demands of a group on the network, in the domains that are chosen.
func (s *commonSearch) network(d *Demand) *Network {
	network := Network{}
	if d.Network != nil {
		network = *d.Network
	}
	network.within = func(node int32) bool {
		return !slices.ContainsFunc(d.Within, func(c *Common) bool { return s.chosen[c] != nil && !s.chosen[c].within(node) })
	}
	return &network
}

// around returns the demands of pods beyond the least number: they stay in a domain that is required, and near one that is preferred.
func (s *commonSearch) around(d *Demand) *Network {
	network := s.network(d)
	network.within = func(node int32) bool {
		return !slices.ContainsFunc(d.Within, func(c *Common) bool { return !s.chosen[c].around(node) })
	}
	if d.Network == nil && len(d.Within) > 0 {
		c := d.Within[len(d.Within)-1]
		network.Levels, network.Above, network.Beside = c.Levels, c.Above, slices.Clone(c.Beside)
	}
	return network
}

// placed returns how many pods have places by the steps before one.
func (s *commonSearch) placed(at int) (pods int) {
	for _, step := range s.steps[:at] {
		if step.common == nil {
			pods += s.enough[step.demands[0]].Placed
		}
	}
	return pods
}

// learn notes what a turn lacked in which more pods had places than before. No lack is known where a group has too few pods.
func (s *commonSearch) learn(lack *Lack, placed int) {
	if lack != nil && (s.lack == nil || placed > s.most) {
		s.most, s.lack = placed, lack
	}
}

// lackOf returns what a group lacks at the level that it requires for itself, or else what the innermost domain lacks that it shares.
func (s *commonSearch) lackOf(d *Demand, outcome *Outcome) *Lack {
	if d.required() > 0 || len(d.Within) == 0 || outcome.Lack == nil || outcome.Lack.Kinds > 0 || outcome.Lack.Mixed {
		return outcome.Lack
	}
	if lack := s.chosen[d.Within[len(d.Within)-1]].lack; lack.Domains > 0 {
		return &lack
	}
	return outcome.Lack
}

// required returns the level of the one domain that a group requires for itself, 0 for none.
func (d *Demand) required() int {
	if d.Network == nil {
		return 0
	}
	return d.Network.Required
}

// domains returns the domains that may have the pods of some groups: with the least room first, and of the level that is preferred
// before the ones of the level that is required. If there is none, it returns what is lacking.
func (s *commonSearch) domains(step *commonStep) (all []*commonDomain, lack *Lack) {
	c := step.common
	near := s.plan.near(s.network(&Demand{
		Within: s.demands[step.demands[0]].Within, Network: &Network{Levels: c.Levels, Above: c.Above, Required: c.Required, Beside: c.Beside},
	}), s.deadline)
	var pods, least []*cluster.Pod
	for _, i := range step.demands {
		d := &s.demands[i]
		pods, least = append(pods, d.Pods...), append(least, near.possible(d.Pods, min(len(d.Pods), max(d.AtLeast, 0)))...)
	}
	if c.Preferred > c.Required {
		all, _ = near.roomFor(pods, least, c, c.Preferred)
	}
	if c.Required == 0 {
		return append(all, &commonDomain{within: anywhere, around: anywhere}), nil
	}
	required, lack := near.roomFor(pods, least, c, c.Required)
	return append(all, required...), lack
}

// roomFor returns the domains of a level that may have the least number of pods: first the ones that may have all of them, and each time
// the one with the least room first. If there is none, it returns what is lacking.
func (s *nearness) roomFor(pods, least []*cluster.Pod, c *Common, level int) (all []*commonDomain, lack *Lack) {
	lack = &Lack{}
	if level <= len(c.Levels) {
		lack.Key = c.Levels[level-1]
	}
	candidates := slices.DeleteFunc(s.tree.Roomy(nil, level, 0), func(node int32) bool {
		return s.tree.Lacks(node, level) ||
			slices.ContainsFunc(c.Beside, func(other int32) bool { return !s.tree.Near(node, other, level) })
	})
	lack.Domains = len(candidates)
	if candidates = s.roomy(least, level, candidates); len(candidates) == 0 {
		return nil, s.short(least, lack)
	}
	full := candidates
	if len(least) < len(pods) {
		full = s.roomy(pods, level, candidates)
	}
	others := slices.DeleteFunc(slices.Clone(candidates), func(node int32) bool { return slices.Contains(full, node) })
	candidates = append(s.inTurn(full), s.inTurn(others)...)
	for _, node := range candidates {
		domain := &commonDomain{within: s.domain(node, level), around: anywhere, lack: *lack}
		if c.Required > 0 {
			domain.around = s.domain(node, c.Required)
		}
		if at := s.plan.Snapshot().Node(node); lack.Key != "" {
			domain.lack.Value = at.Labels[lack.Key]
		} else {
			domain.lack.Value = at.Name
		}
		all = append(all, domain)
	}
	return all, lack
}

// inTurn shuffles domains beyond the tightest ones.
func (s *nearness) inTurn(domains []int32) []int32 {
	if len(domains) > tightest {
		rest := domains[tightest:]
		s.plan.random.Shuffle(len(rest), func(i, j int) { rest[i], rest[j] = rest[j], rest[i] })
	}
	return domains
}

// domain returns a test for the nodes of one domain of a level, by a node that it has.
func (s *nearness) domain(of int32, level int) func(node int32) bool {
	return func(node int32) bool { return s.tree.Near(of, node, level) }
}

// short returns what is lacking for the first kind of pods that no domain has room for, or else what is known.
func (s *nearness) short(pods []*cluster.Pod, lack *Lack) *Lack {
	for _, kind := range s.kinds(pods) {
		if s.divide(kind, s.ask(), false); s.lack != nil {
			return s.lack
		}
	}
	return lack
}

// roomy returns the nodes of some, each of a domain of a level, whose domains have room for all pods of each kind, taken alone: of the
// most frequent kinds. The domain with the least room for the first kind comes first.
func (s *nearness) roomy(pods []*cluster.Pod, level int, of []int32) []int32 {
	kinds := s.kinds(pods)
	slices.SortStableFunc(kinds, func(a, b []*cluster.Pod) int { return cmp.Compare(len(b), len(a)) })
	for i, kind := range kinds[:min(len(kinds), mostNearKinds)] {
		roomy := s.tree.Roomy(s.slots(kind[0]), level, len(kind))
		if i == 0 {
			of, roomy = roomy, of
		}
		of = slices.DeleteFunc(of, func(node int32) bool { return !slices.Contains(roomy, node) })
	}
	return of
}

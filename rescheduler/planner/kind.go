package planner

import (
	"cmp"

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

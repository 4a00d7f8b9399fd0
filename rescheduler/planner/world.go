package planner

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// world is the cluster as a model: pods come and go for trial. What is judged of it is
// exact.
type world struct {
	snap  *cluster.Snapshot
	nodes map[int32]*cluster.Node // those that are other ones than in the snapshot
	log   []moved
}

// moved is a node that became another one.
type moved struct {
	index  int32
	before *cluster.Node
}

func newWorld(snap *cluster.Snapshot) *world {
	return &world{snap: snap, nodes: map[int32]*cluster.Node{}}
}

func (w *world) node(index int32) *cluster.Node {
	if node := w.nodes[index]; node != nil {
		return node
	}
	return w.snap.Node(index)
}

func (w *world) put(pod *cluster.Pod, index int32) { w.set(index, w.node(index).WithPod(pod)) }

func (w *world) take(pod *cluster.Pod, index int32) { w.set(index, w.node(index).WithoutPod(pod.UID)) }

func (w *world) set(index int32, node *cluster.Node) {
	w.log = append(w.log, moved{index, w.node(index)})
	w.nodes[index] = node
}

// back undoes what happened since the log had a length. The log goes on, since judgements
// follow it.
func (w *world) back(length int) {
	for at := len(w.log) - 1; at >= length; at-- {
		w.set(w.log[at].index, w.log[at].before)
	}
}

// kind is pods that no predicate can tell apart once they have no node.
type kind struct {
	profile *predicates.Profile // nil when there is none for its scheduler name
	pod     *cluster.Pod        // one of them, as it would be placed anew

	judgement *predicates.Judgement // once it is needed
	social    bool                  // pods of the kind mind where others of it are
	seen      int                   // how much of the world's log the judgement knows
	standings map[int32][]standing  // by kind.from, and by node index
}

// judge prepares the judgement of a kind, or tells it what happened in the world.
func (k *kind) judge(w *world) *predicates.Judgement {
	if k.judgement == nil {
		k.judgement = k.profile.JudgeFit(k.pod, w.snap)
		k.social = k.judgement.Minds(k.pod)
	}
	for _, m := range w.log[k.seen:] {
		k.judgement.Suppose(w.node(m.index))
	}
	k.seen = len(w.log)
	return k.judgement
}

// from is the node whose pods of the kind hang on an item that leaves it: -1 when it does not
// matter where the item is.
func (k *kind) from(i *item) int32 {
	if k.social {
		return i.origin
	}
	return -1
}

// verdict is what the predicates say now of one more pod of the kind on a node.
func (k *kind) verdict(w *world, index int32) predicates.Verdict {
	return k.judge(w).Verdict(w.node(index))
}

// against is what a judgement of a pod's kind has against it on the node where it is, if it came
// there now.
func against(judgement *predicates.Judgement, pod *cluster.Pod, node *cluster.Node) []predicates.Objection {
	without := node.WithoutPod(pod.UID)
	judgement.Suppose(without)
	defer judgement.Suppose(node)
	return judgement.Against(without)
}

// standing is what the predicates have against pods of a kind on a node, besides a lack of
// room.
type standing uint8

const (
	unasked standing = iota
	open             // nothing
	taken            // pods that are there, or elsewhere
	never            // something that no pod could change by going
)

// standing says it of a node in a state that it may be in.
func (k *kind) standing(w *world, node *cluster.Node) standing {
	result := open
	k.judge(w).Verdicts(node, func(v predicates.Verdict) {
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

// kinds are those of all pods that it was asked about.
type kinds struct {
	profiles map[string]*predicates.Profile
	names    *cluster.ResourceNames
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
		profiles: map[string]*predicates.Profile{}, names: p.Snapshot.ResourceNames,
		byClass: map[classKey]int32{}, of: map[*cluster.Pod]int32{},
	}
	for _, profile := range p.Profiles {
		k.profiles[profile.Name] = profile
	}
	return k
}

// find is the place in all of a pod's kind.
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

// replacement is a pod as its controller would make it anew: without a node.
func (k *kinds) replacement(pod *cluster.Pod) *cluster.Pod {
	if pod.Spec.NodeName == "" {
		return pod
	}
	object := *pod.Pod
	object.Spec.NodeName, object.Status = "", corev1.PodStatus{}
	return k.names.NewPod(&object)
}

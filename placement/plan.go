// Package placement finds places for several pods at once, as if each were put on its
// node before the next one is looked at. It is the one solver of muster: what picks a
// pod's node ahead of the scheduler, what plans a gang and what proves that evicted
// pods will find a new place ask it the same question.
//
// A [Plan] is about one snapshot, which it never changes:
//
//	plan := placement.New(store, pods, seed)
//	defer plan.Close()
//	plan.Put(other, node)               // a place that is held for somebody else
//	plan.Take(evicted, node)            // what if this pod were gone
//	outcome := plan.PlaceAll(pods, atLeast, deadline)
//
// [Plan.PlaceAll] is for pods that start together or not at all, [Plan.Place] for one, and
// [Evictions] for pods that others have to make room for.
//
// Pods of one equivalence class share what is known of the nodes, and the best node is
// found among the leaders of groups of nodes that are rated alike, so that the cost of
// a pod does not grow with the cluster. Given the same snapshot, pods and seed, a plan
// is the same.
package placement

import (
	"maps"
	"math/rand/v2"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement/scenario"
	"muster.dev/muster/placement/topology"
	"muster.dev/muster/predicates"
)

// Plan is a scenario in which pods are placed. It holds the equivalence
// classes of its pods, so that others who ask about them wait, and so do other plans for
// the same profile: it must be closed soon. It belongs to one goroutine.
type Plan struct {
	*scenario.Scenario
	store   *predicates.VerdictStore
	random  *rand.Rand
	kinds   *kinds
	trials  map[predicates.Class]*predicates.Trial
	batches map[predicates.Class]*batch
	// nominated are pods of others whose room is promised to them, the most important first. The first kept of
	// them are on their nodes.
	nominated []*cluster.Pod
	kept      int
	avoided   map[int32]bool // nodes
	trees     map[string]*topology.Tree
}

// Mark is a state of a plan to which it can return.
type Mark struct {
	moves, kept int
	left        map[predicates.Class]int
}

// Mark returns the state that the plan is in.
func (p *Plan) Mark() *Mark { return &Mark{p.Moves(), p.kept, maps.Clone(p.kinds.left)} }

// Return has the plan be as it was when it was marked, again and again.
func (p *Plan) Return(to *Mark) {
	p.Undo(to.moves)
	to.moves = p.Moves() // to undo is to move
	p.kept, p.kinds.left = to.kept, maps.Clone(to.left)
}

// New begins a plan for pods of one profile on the present snapshot. It places none of
// them yet, and others may be placed too. Of nodes that are equally good it takes the one
// with the least [Misfit], and then one at random by the seed.
//
// Each pod is placed as if pods that are nominated to a node counted there, when their priority
// is not lower than its own: kube-scheduler does the same.
func New(store *predicates.VerdictStore, pods []*cluster.Pod, seed uint64) *Plan {
	p := &Plan{
		store: store, kinds: newKinds(store),
		random: rand.New(rand.NewPCG(seed, 0)),
		trials: map[predicates.Class]*predicates.Trial{}, batches: map[predicates.Class]*batch{},
		trees: map[string]*topology.Tree{},
	}
	store.BeginTrials()
	begun := false
	defer func() {
		if !begun { // a plugin panicked
			p.Close()
		}
	}()
	examples := p.kinds.expect(pods)
	// Classes that are new or far behind are judged one by one before they are held all
	// together.
	for _, pod := range examples {
		store.Refresh(pod)
	}
	snap := store.Snapshot()
	for class, pod := range examples {
		p.trials[class] = store.Try(pod)
		snap = p.trials[class].Snapshot() // never older than the one before
	}
	for class, trial := range p.trials {
		trial.Advance(examples[class], snap)
	}
	p.Scenario = scenario.New(snap)
	p.nominated = nominatedBeside(store, pods)
	begun = true
	return p
}

// Avoid has no pod come to these nodes, and nobody evicted from them. It must be called before any
// pod is placed.
func (p *Plan) Avoid(names sets.Set[string]) {
	p.avoided = map[int32]bool{}
	for name := range names {
		if node := p.Snapshot().NodeByName(name); node != nil {
			p.avoided[node.Index] = true
		}
	}
}

// Close ends the plan and lets others ask about the classes.
func (p *Plan) Close() {
	defer p.store.EndTrials()
	for _, trial := range p.trials {
		trial.Close()
	}
}

// Place puts a pod on the best node that it fits, except the given indexes, and returns the node's index; -1
// when it fits none.
func (p *Plan) Place(pod *cluster.Pod, but ...int32) int32 {
	p.keepPromises(pod)
	b := p.batch(pod)
	best := b.bestBut(but)
	if best >= 0 {
		p.Put(pod, best)
	}
	p.done(pod)
	return best
}

// batch returns the batch of pods of the same kind, as planned so far.
func (p *Plan) batch(pod *cluster.Pod) *batch {
	kind := p.kinds.of(pod)
	b := p.batches[kind]
	if b == nil {
		trial := p.trials[kind]
		if trial == nil {
			trial = p.store.TryAlone(pod, p.Snapshot())
			p.trials[kind] = trial
		}
		b = newBatch(pod, trial, p.avoided, p.random.Uint64())
		p.batches[kind] = b
	}
	b.follow(p)
	return b
}

// done forgets what is known of a pod that has no class once the last pod like it was
// placed: there may be many such pods, each unlike the others.
func (p *Plan) done(pod *cluster.Pod) {
	kind, last := p.kinds.placed(pod)
	if !last {
		return
	}
	p.trials[kind].Close()
	delete(p.trials, kind)
	delete(p.batches, kind)
}

// nominatedBeside returns the nominated pods, except the pods to be placed, the most important first.
func nominatedBeside(store *predicates.VerdictStore, pods []*cluster.Pod) []*cluster.Pod {
	nominated := store.Nominated()
	if len(nominated) == 0 {
		return nil
	}
	own := sets.New[types.UID]()
	for _, pod := range pods {
		own.Insert(pod.UID)
	}
	return slices.DeleteFunc(nominated, func(pod *cluster.Pod) bool { return own.Has(pod.UID) })
}

// keepPromises puts on their nodes the nominated pods whose room the next pod must leave to them. Where pods
// are placed in the order of their priority, these are no more than necessary.
func (p *Plan) keepPromises(next *cluster.Pod) {
	for ; p.kept < len(p.nominated) && !lessImportant(p.nominated[p.kept], next); p.kept++ {
		pod := p.nominated[p.kept]
		if node := p.Snapshot().NodeByName(pod.Status.NominatedNodeName); node != nil {
			p.Put(pod, node.Index)
		}
	}
}

// breakPromises takes the nominated pods off their nodes again that are beyond a number.
func (p *Plan) breakPromises(beyond int) {
	for _, pod := range p.nominated[beyond:p.kept] {
		if node := p.Snapshot().NodeByName(pod.Status.NominatedNodeName); node != nil {
			p.Take(pod, node.Index)
		}
	}
	p.kept = beyond
}

// keptBelow returns the nominated pods that are on their nodes already and less important than a pod: they were put there
// for an earlier pod, which was less important still.
func (p *Plan) keptBelow(pod *cluster.Pod) []*cluster.Pod {
	kept := p.nominated[:p.kept]
	from := slices.IndexFunc(kept, func(other *cluster.Pod) bool { return lessImportant(other, pod) })
	if from < 0 {
		return nil
	}
	return kept[from:]
}

func lessImportant(a, b *cluster.Pod) bool {
	return corev1helpers.PodPriority(a.Pod) < corev1helpers.PodPriority(b.Pod)
}

// StillFits reports whether a pod could come to a node if it were not there. If not, it is taken from it for the rest of
// the plan.
func (p *Plan) StillFits(pod *cluster.Pod, name string) bool {
	node := p.NodeByName(name)
	if node == nil {
		return false
	}
	p.keepPromises(pod)
	p.Take(pod, node.Index)
	fits := p.batch(pod).trial.Verdict(node.Index) == predicates.Fits
	if fits {
		p.Put(pod, node.Index)
	}
	p.done(pod)
	return fits
}

// Stay puts a pod on the node of a name if it fits there, whatever better ones there are: room is kept for it there. Its
// place is none where it does not fit.
func (p *Plan) Stay(pod *cluster.Pod, name string) Place {
	place := Place{Pod: pod, Node: -1}
	node := p.NodeByName(name)
	if node == nil || p.avoided[node.Index] {
		return place
	}
	p.keepPromises(pod)
	if p.batch(pod).trial.Verdict(node.Index) == predicates.Fits {
		p.Put(pod, node.Index)
		p.done(pod)
		place.Node = node.Index
	}
	return place
}

// Stay is [Plan.Stay]. Nobody is evicted.
func (e *Evictions) Stay(pod *cluster.Pod, name string) Place {
	before := e.plan.Moves()
	place := e.plan.Stay(pod, name)
	e.follow(before)
	if place.Node >= 0 {
		e.placed = append(e.placed, place)
	}
	return place
}

// Await is Stay, also for a node that a pod fits once others have gone that are going anyway.
func (e *Evictions) Await(pod *cluster.Pod, name string) Place {
	place, node := e.Stay(pod, name), e.plan.NodeByName(name)
	if place.Node >= 0 || node == nil {
		return place
	}
	offer := e.evictor(pod).offer(e, node.Index)
	if offer.victims != nil && !slices.ContainsFunc(offer.victims, func(v *evictee) bool { return !v.Leaving }) {
		e.evict(offer.victims, pod, node.Index)
		e.plan.done(pod)
		place.Node = node.Index
		e.placed = append(e.placed, place)
	}
	return place
}

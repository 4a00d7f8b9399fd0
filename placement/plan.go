package placement

import (
	"math/rand/v2"

	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement/scenario"
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

package placement

import (
	"math/rand/v2"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// Plan is a cluster in which pods come and go for trial. It holds the equivalence
// classes of its pods, so that others who ask about them wait: it must be closed soon,
// and there must be one at a time in a process. It belongs to one goroutine.
type Plan struct {
	store   *predicates.VerdictStore
	snap    *cluster.Snapshot
	random  *rand.Rand
	trials  map[*predicates.Class]*predicates.Trial
	batches map[*predicates.Class]*batch
	nodes   map[int32]*cluster.Node // those that differ from the snapshot
	log     []int32                 // indexes of nodes, in the order in which they changed
}

// New begins a plan for pods of one profile on the present snapshot. It places none of
// them yet. Ties between nodes are broken at random by the seed.
func New(store *predicates.VerdictStore, pods []*cluster.Pod, seed uint64) *Plan {
	p := &Plan{
		store:  store,
		snap:   store.Snapshot(),
		random: rand.New(rand.NewPCG(seed, 0)), //nolint:gosec // for fairness, not for secrets
		trials: map[*predicates.Class]*predicates.Trial{}, batches: map[*predicates.Class]*batch{},
		nodes: map[int32]*cluster.Node{},
	}
	examples := map[*predicates.Class]*cluster.Pod{}
	for _, pod := range pods {
		class := store.ClassOf(pod)
		if class == nil || p.trials[class] != nil {
			continue
		}
		p.trials[class], examples[class] = store.Try(pod), pod
		p.snap = p.trials[class].Snapshot() // never older than the one before
	}
	for class, trial := range p.trials {
		trial.Advance(examples[class], p.snap)
	}
	return p
}

// Close ends the plan and lets others ask about the classes.
func (p *Plan) Close() {
	for _, trial := range p.trials {
		trial.Close()
	}
}

// Snapshot is the one that the plan is about.
func (p *Plan) Snapshot() *cluster.Snapshot { return p.snap }

// Node is a node as planned so far, nil when there is none of that index.
func (p *Plan) Node(index int32) *cluster.Node {
	if node, ok := p.nodes[index]; ok {
		return node
	}
	return p.snap.Node(index)
}

// Put makes a pod count on a node.
func (p *Plan) Put(pod *cluster.Pod, index int32) { p.set(p.Node(index).WithPod(pod)) }

// Take makes a pod count no more on the node that it is on.
func (p *Plan) Take(pod *cluster.Pod, index int32) { p.set(p.Node(index).WithoutPod(pod.UID)) }

func (p *Plan) set(node *cluster.Node) {
	p.nodes[node.Index] = node
	p.log = append(p.log, node.Index)
}

// Place puts a pod on the best node that it fits, and returns the node's index; -1 when
// it fits none.
func (p *Plan) Place(pod *cluster.Pod) int32 {
	b, done := p.batch(pod)
	defer done()
	b.follow(p)
	best := b.best()
	if best >= 0 {
		p.Put(pod, best)
	}
	return best
}

// batch is that of the pod's class. A pod without one, or of a class that was forgotten
// since the plan began, gets one for itself.
func (p *Plan) batch(pod *cluster.Pod) (b *batch, done func()) {
	class := p.store.ClassOf(pod)
	if b := p.batches[class]; b != nil {
		return b, func() {}
	}
	if trial := p.trials[class]; trial != nil {
		b = newBatch(trial, p.snap, p.random)
		p.batches[class] = b
		return b, func() {}
	}
	trial := p.store.TryAlone(pod, p.snap)
	return newBatch(trial, p.snap, p.random), trial.Close
}

package predicates

import (
	"math/bits"
	"time"
	"unsafe"

	"muster.dev/muster/cluster"
	"muster.dev/muster/cluster/lock"
)

// entry holds a store's knowledge about one class. Its lock is held while it is read.
//
// A node is judged when it is asked about first, with all plugins, and kept up to date from then on. So a class of
// few pods costs the nodes that are asked about, however many there are.
//
// The verdicts are kept as small as the questions about them: which predicates are against a node, and the
// verdict of the first of them. Another predicate is asked again when it comes first.
type entry struct {
	class   Class
	counted int64  // bytes, as the store accounts for them; guarded by the store
	reached uint64 // the generation of the last call, as the store knows it; guarded by it

	mu         lock.Mutex
	judgement  *Judgement // nil until it is made, and after a plugin panicked
	calls      int
	misses     int        // calls on which nothing was remembered
	pods       []namedPod // the last ones that were asked about; see name
	generation uint64
	asked      time.Time        // when it was last brought up to date
	objects    *cluster.Objects // the objects of the generation
	against    []uint32         // by node index: bit i is set when check i is against the node
	first      []Verdict        // by node index: the first verdict against the node, or unjudged; then it has no others
	totals     []int32          // by node index: the weighted sum of the scores of the node alone
	partial    bool             // some node may be unjudged
	prepared   int64            // bytes that the pod takes, and what is prepared from it
	evaluated  []causes         // by check; borrowed from a scratch while somebody holds the entry
}

// causes count the evaluations of a check since they were last reported, by the bit of
// the aspect that changed or by one of the constants below.
type causes [32]int

const (
	// causeOthers stands for another node in its failure domain, or anywhere.
	causeOthers = 30
	// causeNode stands for a node that is judged for the first time.
	causeNode = 31
)

// mostPredicates is how many fit into entry.against.
const mostPredicates = 32

// scratch is memory that updates use one after the other.
type scratch struct {
	changed []cluster.Aspect // by node index; all 0 between two uses
	touched []int32          // the indexes that are not
	objects []cluster.Change // changes that name no node
	some    []int32          // the touched nodes that concern a plugin
	anew    []cluster.Aspect // by check; see renew
	counts  []causes         // by check
	ratings []int64          // of one score
	nodes   []*cluster.Node  // see JudgeAll
	marks   []bool           // by node index

	suppositions []supposition // of a trial
	supposed     []int32       // by node index; all 0 between two trials
}

// fresh prepares all plugins for the class, by one of its pods, and forgets what they said of nodes.
func (e *entry) fresh(p *Profile, pod *cluster.Pod, snap *cluster.Snapshot, h helpers) {
	e.misses++
	e.judgement = p.judge(pod, snap, h)
	e.judgement.snap = nil // a class that is asked for no more must not keep it
	e.against, e.first, e.totals = nil, nil, nil
	e.grow(snap.IndexEnd())
	e.prepared = e.judgement.prepared()
}

// update brings the entry to a snapshot that is not older than its own. The entry is
// prepared by the pod if it has to be.
func (e *entry) update(p *Profile, pod *cluster.Pod, snap *cluster.Snapshot, s *scratch, h helpers, now time.Time) {
	changes, replayable := snap.Since(e.generation)
	s.counts = append(s.counts[:0], make([]causes, len(p.predicates))...)
	e.evaluated = s.counts
	if e.judgement == nil || !replayable {
		e.fresh(p, pod, snap, h)
	} else if len(changes) > 0 {
		e.grow(snap.IndexEnd())
		s.gather(changes, snap.IndexEnd())
		e.replay(snap, s)
		s.clear()
	}
	e.retry(now)
	e.generation, e.objects, e.asked = snap.Generation, snap.Objects, now
}

// replay evaluates what the changes may have turned. Digests come first, since a verdict
// on one node may hang on any other.
func (e *entry) replay(snap *cluster.Snapshot, s *scratch) {
	j := e.judgement
	e.renew(snap, s)
	for i, check := range j.checks {
		if digest, ok := check.(Digest); ok && s.anew[i] == 0 {
			s.feed(digest, j.profile.predicates[i].Aspects(), snap)
		}
	}
	for i, rating := range j.ratings {
		if rating.Among != nil {
			s.feed(rating.Among, j.profile.scores[i].Aspects(), snap)
		}
	}
	for _, index := range s.touched {
		if node := snap.Node(index); node != nil {
			e.evaluate(node, s.changed[index])
		} else {
			e.first[index] = unjudged
		}
	}
	for i, check := range j.checks {
		if kind := s.anew[i]; kind != 0 {
			for node := range snap.Nodes() {
				e.ask(i, node, bits.TrailingZeros32(uint32(kind)))
			}
		} else if spanning, ok := check.(Spanning); ok {
			spanning.Turned(func(index int32) {
				if node := snap.Node(index); node != nil {
					e.ask(i, node, causeOthers)
				}
			})
		}
	}
}

// retry forgets the verdicts on nodes that a check has given up, once it is time to ask about them again.
func (e *entry) retry(now time.Time) {
	for _, check := range e.judgement.checks {
		undecided, is := check.(Undecided)
		if !is {
			continue
		}
		for _, index := range undecided.Retry(now) {
			e.first[index], e.partial = unjudged, true
		}
	}
}

// renew prepares again the checks that depend on an object that changed. It notes in s, by check, the kind of
// object, 0 for a check that stays as it is.
func (e *entry) renew(snap *cluster.Snapshot, s *scratch) {
	j, all := e.judgement, indexesOf(snap)
	s.anew = append(s.anew[:0], make([]cluster.Aspect, len(j.checks))...)
	depends := func(prepared any, aspects cluster.Aspect, change cluster.Change) bool {
		if aspects&change.Aspects == 0 {
			return false
		}
		selective, ok := prepared.(Selective)
		return !ok || selective.DependsOn(change.Aspects, change.Object, e.objects, snap.Objects)
	}
	for i, predicate := range j.profile.predicates {
		for _, change := range s.objects {
			if !depends(j.checks[i], predicate.Aspects(), change) {
				continue
			}
			concerned := j.checks[i] != nil
			if j.prepareCheck(i, snap, all); concerned || j.checks[i] != nil {
				s.anew[i] = change.Aspects
			}
			break
		}
	}
	for i, score := range j.profile.scores {
		for _, change := range s.objects {
			if !depends(j.ratings[i].Among, score.Aspects(), change) {
				continue
			}
			alone := j.ratings[i].Alone != nil
			if j.prepareRating(i, snap, all); alone || j.ratings[i].Alone != nil {
				for node := range snap.Nodes() {
					e.rate(node)
				}
			}
			break
		}
	}
}

// verdict returns the first verdict against the node of an index in a snapshot, the one that the entry was brought to;
// UnknownNode when there is none.
func (e *entry) verdict(index int32, snap *cluster.Snapshot) Verdict {
	if verdict := e.first[index]; verdict != unjudged {
		return verdict
	}
	node := snap.Node(index)
	if node == nil {
		return UnknownNode
	}
	e.judge(node)
	return e.first[index]
}

// total returns the weighted sum of the scores that rate a node for itself; it judges the node as verdict does.
func (e *entry) total(index int32, snap *cluster.Snapshot) int32 {
	e.verdict(index, snap)
	return e.totals[index]
}

// complete judges the nodes that are unjudged.
func (e *entry) complete(snap *cluster.Snapshot, h helpers) {
	if !e.partial {
		return
	}
	var nodes []*cluster.Node
	for node := range snap.Nodes() {
		if e.first[node.Index] == unjudged {
			nodes = append(nodes, node)
		}
	}
	e.judgeAll(nodes, h)
	e.partial = false
}

// judge asks all plugins about a node that is unjudged. If one panics, the next call prepares the class from
// scratch.
func (e *entry) judge(node *cluster.Node) {
	j, done := e.judgement, false
	defer func() {
		if !done {
			e.judgement, e.evaluated = nil, nil
		}
	}()
	against, first := uint32(0), Fits
	for i, check := range j.checks {
		if check == nil {
			continue
		}
		e.evaluated[i][causeNode]++
		if verdict := check.Verdict(node); verdict != Fits {
			if against == 0 {
				first = verdict
			}
			against |= 1 << i
		}
	}
	e.against[node.Index], e.first[node.Index], e.totals[node.Index] = against, first, j.alone(node)
	done = true
}

// evaluate asks the plugins that read one of the aspects about a node. A new one is unjudged.
func (e *entry) evaluate(node *cluster.Node, aspects cluster.Aspect) {
	if aspects&cluster.AspectNode == cluster.AspectNode {
		e.first[node.Index], e.partial = unjudged, true
		return
	}
	j := e.judgement
	for i, predicate := range j.profile.predicates {
		if cause := predicate.Aspects() & aspects; cause != 0 && j.checks[i] != nil {
			e.ask(i, node, bits.TrailingZeros32(uint32(cause)))
		}
	}
	if j.profile.rated&aspects != 0 {
		e.rate(node)
	}
}

// rate asks the scores about a node that is judged.
func (e *entry) rate(node *cluster.Node) {
	if e.first[node.Index] != unjudged {
		e.totals[node.Index] = e.judgement.alone(node)
	}
}

// ask asks one check about a node that is judged and keeps the answer.
func (e *entry) ask(i int, node *cluster.Node, cause int) {
	if e.first[node.Index] == unjudged {
		return
	}
	verdict := Fits
	if check := e.judgement.checks[i]; check != nil {
		verdict = check.Verdict(node)
		e.evaluated[i][cause]++
	}
	bit := uint32(1) << i
	before := e.against[node.Index]
	now := before &^ bit
	if verdict != Fits {
		now |= bit
	}
	e.against[node.Index] = now
	switch first := bits.TrailingZeros32(now); {
	case now == 0:
		e.first[node.Index] = Fits
	case first == i:
		e.first[node.Index] = verdict
	case first != bits.TrailingZeros32(before):
		// A check that has just gone has its turn yet to come, and then another one is first.
		if check := e.judgement.checks[first]; check != nil {
			e.first[node.Index] = check.Verdict(node)
		}
	}
}

// grow makes room for node indexes below end; new ones are unjudged.
func (e *entry) grow(end int) {
	known := len(e.first)
	e.against, e.first, e.totals = atLeast(e.against, end), atLeast(e.first, end), atLeast(e.totals, end)
	for index := known; index < len(e.first); index++ {
		e.first[index], e.partial = unjudged, true
	}
}

// size returns the bytes that the entry takes.
func (e *entry) size() int64 {
	const perNode = int64(unsafe.Sizeof(uint32(0)) + unsafe.Sizeof(Fits) + unsafe.Sizeof(int32(0)))
	// The form is kept as a text of its own, and looked up in a table; so is the entry.
	const looksUp = 256
	const perName = int64(unsafe.Sizeof(namedPod{}))
	size := int64(len(e.class.form.Value())) + int64(unsafe.Sizeof(*e)) + int64(cap(e.first))*perNode + looksUp
	for _, pod := range e.pods {
		size += int64(len(pod.Namespace) + len(pod.Name) + len(pod.uid))
	}
	size += int64(cap(e.pods)) * perName
	if e.judgement != nil {
		size += e.prepared + e.judgement.size()
	}
	return size
}

// gather unites the changes of each node, and lists the changes that name none.
func (s *scratch) gather(changes []cluster.Change, end int) {
	s.changed = atLeast(s.changed, end)
	for _, change := range changes {
		if change.Node < 0 {
			s.objects = append(s.objects, change)
			continue
		}
		if s.changed[change.Node] == 0 && change.Aspects != 0 {
			s.touched = append(s.touched, change.Node)
		}
		s.changed[change.Node] |= change.Aspects
	}
}

// feed tells a digest of the nodes that changed in aspects that it reads, and of the objects as they are: by these it
// judges nodes that it was not asked about before.
func (s *scratch) feed(digest Digest, aspects cluster.Aspect, snap *cluster.Snapshot) {
	s.some = s.some[:0]
	for _, index := range s.touched {
		if s.changed[index]&aspects != 0 {
			s.some = append(s.some, index)
		}
	}
	if len(s.some) > 0 || len(s.objects) > 0 {
		digest.Update(snap, s.some)
	}
}

func (s *scratch) clear() {
	for _, index := range s.touched {
		s.changed[index] = 0
	}
	s.touched, s.objects = s.touched[:0], s.objects[:0]
}

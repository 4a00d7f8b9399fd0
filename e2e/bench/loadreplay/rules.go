package loadreplay

import (
	"time"
)

// books are what a formula goes by: the pods that it put on nodes, and what nodes reported.
type books struct {
	queue  *queue
	cores  int64 // of a node, in thousandths
	placed []map[*Pod]time.Time
	last   []Report
	where  map[*Pod]int
}

func newBooks(w *Workload, q *queue) *books {
	b := &books{
		queue:  q,
		cores:  1000 * w.Cores,
		placed: make([]map[*Pod]time.Time, w.Nodes),
		last:   make([]Report, w.Nodes),
		where:  map[*Pod]int{},
	}
	for i := range b.placed {
		b.placed[i] = map[*Pod]time.Time{}
	}
	return b
}

func (b *books) enter(pod *Pod, node int) {
	if _, known := b.where[pod]; !known {
		b.placed[node][pod], b.where[pod] = b.queue.now, node
	}
}

// formula is a Rule that judges each node for itself.
type formula struct {
	*books
	// fits and score are of a node if the pod goes there. fits is nil for every node.
	fits  func(b *books, pod *Pod, node int) bool
	score func(b *books, pod *Pod, node int) int64
	// blind says that a pod is not known until its bind call.
	blind bool

	fitting []int
	scores  []int64
}

// Created implements Rule.
func (*formula) Created(*Pod) {}

// Ask implements Rule.
func (f *formula) Ask(pod *Pod, candidates []int) ([]int, []int64, error) {
	f.fitting, f.scores = f.fitting[:0], f.scores[:0]
	for _, node := range candidates {
		if f.fits == nil || f.fits(f.books, pod, node) {
			f.fitting, f.scores = append(f.fitting, node), append(f.scores, f.score(f.books, pod, node))
		}
	}
	return f.fitting, f.scores, nil
}

// Picked implements Rule.
func (f *formula) Picked(pod *Pod, node int) {
	if !f.blind {
		f.enter(pod, node)
	}
}

// Bind implements Rule.
func (f *formula) Bind(pod *Pod, node int) error {
	f.enter(pod, node)
	f.placed[node][pod] = f.queue.now.Truncate(time.Second) // as the API has it, from now on
	return nil
}

// Seen implements Rule.
func (*formula) Seen(*Pod, int) {}

// Ended implements Rule.
func (f *formula) Ended(pod *Pod) {
	delete(f.placed[f.where[pod]], pod)
	delete(f.where, pod)
}

// Reported implements Rule.
func (f *formula) Reported(node int, r Report) { f.last[node] = r }

// left returns the unused part of a node, 0 to 100.
func (b *books) left(used int64) int64 { return max(0, (b.cores-used)*100/b.cores) }

// LeastAllocated goes by what pods ask for.
func LeastAllocated(w *Workload, q *queue) (Rule, error) {
	return &formula{books: newBooks(w, q), score: func(b *books, pod *Pod, node int) int64 {
		requested := pod.Request
		for other := range b.placed[node] {
			requested += other.Request
		}
		return b.left(requested)
	}}, nil
}

// UsageOnly goes by what was reported, and knows of no pod until that shows it.
func UsageOnly(w *Workload, q *queue) (Rule, error) {
	return &formula{
		books: newBooks(w, q),
		fits:  func(b *books, _ *Pod, node int) bool { return 100*b.last[node].Used < threshold*b.cores },
		score: func(b *books, _ *Pod, node int) int64 { return b.left(b.last[node].Used) },
	}, nil
}

// TargetLoadPacking is Trimaran's score of that name, with its default target of 40 %: the best node
// is the one that comes closest to the target from below. Pods count for their limits until the
// next report.
func TargetLoadPacking(w *Workload, q *queue) (Rule, error) {
	const target = 40
	return &formula{books: newBooks(w, q), score: func(b *books, pod *Pod, node int) int64 {
		used := b.last[node].Used + pod.Limit
		for other, since := range b.placed[node] {
			if since.After(b.last[node].At) || b.last[node].At.Sub(since) < reportInterval {
				used += other.Limit
			}
		}
		switch percent := 100 * float64(used) / float64(b.cores); {
		case percent > 100:
			return 0
		case percent > target:
			return int64(target * (100 - percent) / (100 - target))
		default:
			return int64((100-target)*percent/target + target)
		}
	}}, nil
}

// estimate returns the amount that a pod counts for in the reference: 85 % of its limit.
func estimate(pod *Pod) int64 { return (85*max(pod.Request, pod.Limit) + 50) / 100 }

// estimated returns the future usage of a node with one more pod, by the reference.
func (b *books) estimated(pod *Pod, node int) int64 {
	last := &b.last[node]
	sum := last.Used + estimate(pod)
	for other, since := range b.placed[node] {
		used, reported := last.Pods[other]
		if !reported || last.At.Add(-reportInterval).Before(since) {
			sum += max(0, estimate(other)-used)
		}
	}
	return sum
}

func reference(w *Workload, q *queue, blind bool) (Rule, error) {
	return &formula{
		books: newBooks(w, q), blind: blind,
		fits: func(b *books, pod *Pod, node int) bool {
			return b.last[node].At.IsZero() || 100*b.estimated(pod, node) < threshold*b.cores
		},
		score: func(b *books, pod *Pod, node int) int64 {
			if b.last[node].At.IsZero() { // a node that was never measured is taken last
				return 0
			}
			return b.left(b.estimated(pod, node))
		},
	}, nil
}

// Reference is load-aware scheduling in the scheduler itself, which knows of each pod from the
// moment that it picked the node.
func Reference(w *Workload, q *queue) (Rule, error) { return reference(w, q, false) }

// BlindReference is the same when it knows of a pod from the bind call on, as an extender that
// does nothing about it.
func BlindReference(w *Workload, q *queue) (Rule, error) { return reference(w, q, true) }

package nomination

import (
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// book says how far each pending pod is, and how nominations ended.
type book struct {
	clock    clock.PassiveClock
	metrics  *metrics
	nominees map[types.UID]*nominee
	arrivals uint64
	backlog  backlog
	counts   [stages]int
	history  history
}

// begin enters a pod that was not known, in the stage aside.
func (b *book) begin(pod *cluster.Pod, store *predicates.VerdictStore) *nominee {
	p := &nominee{pod: pod, store: store, arrived: b.arrivals, stage: aside, since: b.clock.Now(), gate: gate{met: b.clock.Now()}}
	b.arrivals++
	b.nominees[pod.UID] = p
	b.count(p, 1)
	return p
}

// forget strikes a pod out.
func (b *book) forget(p *nominee) {
	if p.stage == waiting {
		b.backlog.remove(p)
	}
	b.count(p, -1)
	delete(b.nominees, p.pod.UID)
}

// ahead returns how many pods have a place and are not taken up yet.
func (b *book) ahead() int { return b.counts[held] + b.counts[writing] + b.counts[standing] }

// enter moves a pod to a stage.
func (b *book) enter(p *nominee, to stage) {
	if p.stage == to {
		return
	}
	if p.stage == waiting {
		b.backlog.remove(p)
	}
	b.count(p, -1)
	p.stage, p.since = to, b.clock.Now()
	b.count(p, 1)
	if to == waiting {
		b.backlog.add(p)
	}
}

func (b *book) count(p *nominee, by int) {
	b.counts[p.stage] += by
	b.metrics.pods.WithLabelValues(p.stage.String()).Set(float64(b.counts[p.stage]))
}

// end notes the outcome of a nomination, if there is one that has not ended.
func (b *book) end(p *nominee, outcome Outcome) {
	if !p.open {
		return
	}
	p.open = false
	b.metrics.ended.WithLabelValues(string(outcome)).Inc()
	b.history.add(Ended{Pod: p.pod.FullName(), Node: p.node, Outcome: outcome, At: b.clock.Now().UTC(), Attempt: p.attempts})
}

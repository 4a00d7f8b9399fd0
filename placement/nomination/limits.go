package nomination

import "time"

// Limits bound what is done ahead of the scheduler.
type Limits struct {
	// MinBacklog is how many pods must wait for the scheduler, nominated ones included,
	// for more to be nominated: a scheduler that keeps up gains nothing by it.
	MinBacklog int
	// MinSaving is how much sooner the scheduler must come to its next pod by a nomination for pods to be nominated that
	// it would find a place for as well. 0 nominates all of them, however few wait.
	MinSaving time.Duration
	// MaxAhead is how many pods are ahead of the scheduler at most: counted on a node
	// and not taken up yet.
	MaxAhead int
	// BatchPods and BatchTime bound a plan, which filter calls about the same classes of pods wait for. The
	// first pod of a batch is always placed.
	BatchPods int
	BatchTime time.Duration
	// Gather is how long to wait for more pods after one came: a plan costs something for each
	// class, however few pods it has. While at least Enough pods are ahead of the scheduler,
	// there is time for LongGather.
	Gather, LongGather time.Duration
	Enough             int

	// Attempts is how often a pod is nominated before it is left to the scheduler.
	Attempts int
	// Backoff is how long a pod rests after a nomination failed or no node was found for
	// it. It doubles each time, up to MaxBackoff.
	Backoff, MaxBackoff time.Duration
	// Probe is how often one pod of each equivalence class is tried, of the pods that no plan found a node for.
	// Probes is how many classes are tried at once.
	Probe  time.Duration
	Probes int
	// Lifetime is how long the nomination of a pod stands that the scheduler has tried
	// before, if it does not take the pod up again.
	Lifetime time.Duration

	// NoPlace is how long a pod stays gated without a place: after the first plan that found none, or while
	// writing is slow. MaxGated is how long it stays gated at most.
	NoPlace, MaxGated time.Duration

	// Tick is how often what hangs on time is looked after, and Renew how often
	// assumptions are renewed: well within their time to live.
	Tick, Renew time.Duration
}

// DefaultLimits returns the limits for assumptions of that time to live.
func DefaultLimits(assumeTTL time.Duration) Limits {
	return Limits{
		// The room of 2000 pods is kept for some seconds of a fast scheduler, or a minute of a slow one: more would keep it
		// from pods that come later and may not wait.
		MinBacklog: 20, MinSaving: 4 * time.Millisecond, MaxAhead: 2000,
		BatchPods: 200, BatchTime: 50 * time.Millisecond,
		Gather: 20 * time.Millisecond, LongGather: 150 * time.Millisecond, Enough: 100,
		Attempts: 3, Backoff: time.Second, MaxBackoff: time.Minute, Probe: time.Second, Probes: 50, Lifetime: 20 * time.Second,
		NoPlace: 3 * time.Second, MaxGated: 2 * time.Minute,
		Tick: min(time.Second, assumeTTL/4), Renew: assumeTTL / 4,
	}
}

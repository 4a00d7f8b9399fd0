package runtimes

import (
	"time"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

// Ages tell at one moment for how long pods have run: for how much longer they are to be left alone, and what is lost when they end. A
// pod without the stamp of its binding, as one that was created on its node, runs since its creation.
type Ages struct {
	now time.Time // of the API server
	all cluster.Resources
}

// Ages returns the ages of the pods of a cluster whose nodes offer all of some resources.
func (c *Clock) Ages(all cluster.Resources) Ages { return Ages{c.Now(), all} }

// Owed returns for how much longer a pod is to run before it may be evicted for others, by its annotation muster.dev/min-runtime; 0 for
// no longer. An annotation that makes no sense asks for nothing.
func (a *Ages) Owed(pod *cluster.Pod) time.Duration {
	if pod.Annotations[v1alpha1.AnnotationMinRuntime] == "" {
		return 0
	}
	least, err := v1alpha1.DecodeMinRuntime(pod.Annotations)
	if err != nil {
		return 0
	}
	return max(0, least-a.since(a.start(pod)))
}

// Loss returns what is lost when a pod is evicted: for how many seconds it has run, or since its last checkpoint, times the share that it
// holds of what all nodes offer. A checkpoint is a stamp of the pod's own clock: one that is yet to come counts as made now, and one
// before the start not at all. So nobody makes a pod dearer by it.
func (a *Ages) Loss(pod *cluster.Pod) float64 {
	start := a.start(pod)
	if checkpoint, err := v1alpha1.DecodeCheckpoint(pod.Annotations); err == nil && checkpoint.After(start) {
		start = checkpoint
	}
	return a.since(start).Seconds() * pod.Requests.ShareOf(&a.all)
}

// start returns since when a pod runs. A start that is yet to come is of another clock than the API server's: the creation counts then.
func (a *Ages) start(pod *cluster.Pod) time.Time {
	if start, runs := startOf(pod); runs && !start.IsZero() && !start.After(a.now) {
		return start
	}
	return pod.CreationTimestamp.Time
}

func (a *Ages) since(start time.Time) time.Duration { return max(0, a.now.Sub(start)) }

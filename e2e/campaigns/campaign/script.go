package campaign

import (
	"time"

	corev1 "k8s.io/api/core/v1"
)

// script is what is done to the cluster of a run, whatever comes of it.
type script struct {
	nodes  []*corev1.Node    // that are there before
	events []event           // in the order of time
	pods   map[string]origin // by name
}

// origin is what a script says of a pod that may matter for how long it waits.
type origin struct {
	season    season // in which it comes
	scheduler string
}

// event is something that is done to the cluster.
type event struct {
	at   time.Duration // since the run began
	kind kind
	pod  *corev1.Pod  // of podCreated
	node *corev1.Node // of nodeAdded
	name string       // of what is deleted or finishes
	down time.Duration
}

type kind int

const (
	podCreated   kind = iota
	podDeleted        // by its owner, pending or not
	podFinished       // if it is bound, else nothing
	nodeAdded         // a new one, or one that was lost
	nodeLost          // with the pods on it
	musterKilled      // and started again after it was down for a time
)

// season is a part of a run.
type season int

const (
	calm season = iota
	crowded
	outage
	seasons
)

func (s season) String() string { return [seasons]string{"calm", "crowded", "outage"}[s] }

// seasonAt is the season at a moment of a cycle of all of them.
func seasonAt(within, cycle time.Duration) season {
	switch {
	case within < cycle*40/100:
		return calm
	case within < cycle*75/100:
		return crowded
	}
	return outage
}

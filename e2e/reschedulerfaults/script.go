package reschedulerfaults

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/e2e/faultcampaign"
)

// window is how long things happen in a run. What waits for a moment that does not come
// happens at its end.
const window = 14 * time.Second

// script is what is done in a run, whatever comes of it.
type script struct {
	seed      uint64
	settings  settings
	nodes     []*corev1.Node
	workloads []*replicas // that are placed before anything happens
	events    []event
	trouble   faultcampaign.Trouble
	// approvedAfter is how long after it was made somebody approves of a plan that asks for that.
	approvedAfter time.Duration
}

// workload is the one of a name, nil when there is none.
func (s *script) workload(name string) *replicas {
	for _, w := range s.workloads {
		if w.name == name {
			return w
		}
	}
	return nil
}

// event is something that is done to the cluster, not before a time since the run began, and
// some time after a moment.
type event struct {
	at     time.Duration
	moment moment
	after  time.Duration
	what   string              // for people
	fault  faultcampaign.Fault // "" for what is none
	do     func(context.Context, *run) error
}

// moment is one in the life of a plan, of any.
type moment string

// The moments.
const (
	anyTime   moment = ""
	planMade  moment = "a plan is made"
	planRuns  moment = "a plan is carried out"
	podLeaves moment = "a pod is evicted"
)

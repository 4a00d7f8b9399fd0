package faultcampaign

import (
	"context"
	"sync/atomic"
	"time"

	"k8s.io/client-go/kubernetes"
)

// Lag is how slow the machine was in a run: the longest that a question to the API server took, which has nothing to look
// up for it, beside how late this process was to ask. What is judged by the clock allows for it. Its methods are safe for
// concurrent use.
type Lag struct{ worst atomic.Int64 }

// Measure asks again and again until the context ends.
func (l *Lag) Measure(ctx context.Context, client kubernetes.Interface) error {
	due := time.Now()
	for ctx.Err() == nil {
		_, _ = client.Discovery().ServerVersion() // what it says does not matter
		due = due.Add(2 * Look)
		if late := time.Since(due); late > 0 {
			l.worst.Store(max(l.worst.Load(), int64(late)))
			due = time.Now()
		}
		Pause(ctx, time.Until(due))
	}
	return nil
}

// Allowance returns how much longer than on an idle machine something may take when each of its parts is equally late.
func (l *Lag) Allowance() time.Duration { return 4 * time.Duration(l.worst.Load()) }

// Package await polls for what takes a moment on an idle machine and may take minutes on a busy one.
package await

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Patience bounds how long a poll goes on without coming nearer. It only limits how long a failure takes: nothing that works comes near
// it, even on a machine ten times slower than the one that this was written on.
const Patience = 5 * time.Minute

// most bounds a poll whose answer goes on changing, as one that counts pods: a machine may be slow at thousands of them.
const most = 3 * Patience

// every is the time between two looks.
const every = 50 * time.Millisecond

// Until calls check until it returns nil. It fails when ctx ends, or when check has given one answer for as long as Patience, with the last
// answer of check.
func Until(ctx context.Context, what string, check func(context.Context) error) error {
	return until(ctx, what, Patience, most, check)
}

func until(ctx context.Context, what string, patience, most time.Duration, check func(context.Context) error) error {
	last, changed := fmt.Errorf("nothing was looked at"), time.Now()
	err := wait.PollUntilContextTimeout(ctx, every, most, true, func(ctx context.Context) (bool, error) {
		before := last.Error()
		if last = check(ctx); last == nil {
			return true, nil
		}
		switch now := time.Now(); {
		case last.Error() != before:
			changed = now
		case now.Sub(changed) > patience:
			return false, fmt.Errorf("it is the same since %s", patience)
		}
		return false, nil
	})
	if err != nil {
		return fmt.Errorf("wait until %s: %w: %w", what, err, last)
	}
	return nil
}

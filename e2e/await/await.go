// Package await polls for what takes a moment on an idle machine and may take minutes on a busy one.
package await

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// Patience bounds how long a poll goes on. It only limits how long a failure takes: nothing that works comes near it, even on a
// machine ten times slower than the one that this was written on.
const Patience = 5 * time.Minute

// every is the time between two looks.
const every = 50 * time.Millisecond

// Until calls check until it returns nil. It fails when ctx ends, or Patience does, with the last answer of check.
func Until(ctx context.Context, what string, check func(context.Context) error) error {
	last := fmt.Errorf("nothing was looked at")
	err := wait.PollUntilContextTimeout(ctx, every, Patience, true, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait until %s: %w: %w", what, err, last)
	}
	return nil
}

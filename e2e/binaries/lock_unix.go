//go:build unix

package binaries

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"
)

// lock takes the lock file, waiting for another process that builds. The kernel
// releases it when its holder ends, however that ends.
func lock(ctx context.Context, path string, progress io.Writer) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock the binaries: %w", err)
	}
	for waiting := false; ; waiting = true {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			f.Close()
			return nil, fmt.Errorf("lock the binaries: %w", err)
		}
		if !waiting {
			fmt.Fprintln(progress, "waiting for another process that builds the same programs")
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("lock the binaries: %w", context.Cause(ctx))
		case <-time.After(200 * time.Millisecond):
		}
	}
}

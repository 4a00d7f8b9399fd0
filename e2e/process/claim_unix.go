//go:build unix

package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// claim claims a port for this process, unless somebody has claimed it already. The claim is a lock on a file that stays
// open: the kernel ends it with the process, however that ends.
func claim(port int) error {
	dir := filepath.Join(os.TempDir(), fmt.Sprintf("muster-e2e-ports-%d", os.Getuid()))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("claim port %d: %w", port, err)
	}
	// An os.File would be closed once nobody refers to it.
	file, err := syscall.Open(filepath.Join(dir, strconv.Itoa(port)), syscall.O_CREAT|syscall.O_RDWR|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return fmt.Errorf("claim port %d: open its file: %w", port, err)
	}
	if err := syscall.Flock(file, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = syscall.Close(file)
		return fmt.Errorf("claim port %d: lock its file: %w", port, err)
	}
	return nil
}

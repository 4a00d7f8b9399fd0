package lab

import (
	"context"
	"os"
	"sync"
	"testing"

	"muster.dev/muster/e2e/binaries"
)

// program is the muster of this checkout, once a test has asked for it.
var program struct {
	once      sync.Once
	dir, path string
	err       error
}

// Program builds the muster of this checkout, once for all tests of the process, and returns its path.
func Program(t testing.TB) string {
	t.Helper()
	program.once.Do(func() {
		if program.dir, program.err = os.MkdirTemp("", "muster-e2e-"); program.err == nil {
			program.path, program.err = binaries.BuildMuster(context.Background(), program.dir, os.Stderr)
		}
	})
	if program.err != nil {
		t.Fatal(program.err)
	}
	return program.path
}

package lab

import (
	"context"
	"os"
	"sync"
	"testing"

	"muster.dev/muster/e2e/binaries"
)

// built is the muster of this checkout, which a process builds once.
var built = sync.OnceValues(func() (string, error) { return binaries.BuildMuster(context.Background(), os.Stderr) })

// Program is the path of the muster of this checkout.
func Program(t testing.TB) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

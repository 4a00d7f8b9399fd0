//go:build unix

package process

import (
	"errors"
	"syscall"
	"testing"
)

func TestAPortIsGivenToOneProcessOnly(t *testing.T) {
	port, err := FreePort()
	if err != nil {
		t.Fatal(err)
	}
	if err := claim(port); !errors.Is(err, syscall.EWOULDBLOCK) {
		t.Errorf("port %d is claimed once more: %v", port, err)
	}
}

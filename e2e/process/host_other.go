//go:build !linux

package process

import (
	"errors"
	"os/exec"
)

func onHost(string, *exec.Cmd) (*exec.Cmd, error) { return nil, Hosts() }

// Hosts is why this process cannot start others on hosts of other names.
func Hosts() error { return errors.New("only Linux has namespaces of host names") }

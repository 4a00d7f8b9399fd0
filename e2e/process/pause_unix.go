//go:build unix

package process

import (
	"fmt"
	"syscall"
)

// Pause stops the child where it is, until Resume: it answers nothing, and does not know.
func (p *Process) Pause() error { return p.signal(syscall.SIGSTOP) }

// Resume has a paused child go on.
func (p *Process) Resume() error { return p.signal(syscall.SIGCONT) }

func (p *Process) signal(signal syscall.Signal) error {
	if err := p.cmd.Process.Signal(signal); err != nil {
		return fmt.Errorf("signal %s to %s: %w", signal, p.spec.Name, err)
	}
	return nil
}

//go:build unix

package process

import (
	"errors"
	"fmt"
	"syscall"
)

// Pause stops the child where it is, until Resume: it answers nothing, and does not know. It returns once all threads of
// the child have stopped, which takes them a moment on a busy machine.
func (p *Process) Pause() error {
	if err := p.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	for {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(p.Pid(), &status, syscall.WUNTRACED, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return fmt.Errorf("wait until %s stands still: %w", p.spec.Name, err)
		case !status.Stopped():
			return fmt.Errorf("%s has ended", p.spec.Name)
		default:
			return nil
		}
	}
}

// Resume has a paused child go on.
func (p *Process) Resume() error { return p.signal(syscall.SIGCONT) }

func (p *Process) signal(signal syscall.Signal) error {
	if err := p.cmd.Process.Signal(signal); err != nil {
		return fmt.Errorf("signal %s to %s: %w", signal, p.spec.Name, err)
	}
	return nil
}

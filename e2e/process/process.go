// Package process runs the programs that an end-to-end cluster is made of.
//
// A [Process] is one child with its output in a log file. Three promises hold for
// every child:
//
//   - It is in a process group of its own, so that Ctrl-C in a terminal reaches only
//     the parent, which then stops its children in the order it wants.
//   - It does not outlive its parent, however the parent ends (Linux; elsewhere the
//     parent has to call [Process.Stop]).
//   - When it ends before it was told to, the error carries the end of its log.
package process

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"sync/atomic"
	"time"
)

// Spec says what to run.
type Spec struct {
	// Name is how errors call the process.
	Name string
	// Path is the executable, Args its arguments without the program name.
	Path string
	Args []string
	// Env is added to the parent's environment, as KEY=VALUE.
	Env []string
	// Log is the file that stdout and stderr are appended to.
	Log string
	// Host is the name of the host that it takes itself to run on, this machine's when empty. Another one needs [Hosts].
	Host string
}

// Process is a running child. All methods may be called from any goroutine.
type Process struct {
	spec     Spec
	cmd      *exec.Cmd
	stopping atomic.Bool
	done     chan struct{}
	exit     error
}

// Start starts the child and returns at once; see [Process.Await] for readiness.
func Start(spec Spec) (*Process, error) {
	log, err := os.OpenFile(spec.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open log of %s: %w", spec.Name, err)
	}
	defer log.Close()

	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.SysProcAttr = attributes()
	if spec.Host != "" {
		if cmd, err = onHost(spec.Host, cmd); err != nil {
			return nil, fmt.Errorf("run %s on host %s: %w", spec.Name, spec.Host, err)
		}
	}
	cmd.Env = append(os.Environ(), spec.Env...)
	cmd.Stdout, cmd.Stderr = log, log

	p := &Process{spec: spec, cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go p.run(started)
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}
	return p, nil
}

// run keeps one thread for the child's whole life: the kernel ends a child when the
// thread that started it ends, not when the whole parent does.
func (p *Process) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	err := p.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	p.exit = p.cmd.Wait()
	close(p.done)
}

// Pid is the operating system's number of the child.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done is closed when the child has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err says why a child ended that nobody had told to end. It is nil while the child
// runs and after Stop or Kill.
func (p *Process) Err() error {
	select {
	case <-p.done:
	default:
		return nil
	}
	if p.stopping.Load() {
		return nil
	}
	return fmt.Errorf("%s ended by itself: %s; its log %s ends with:\n%s",
		p.spec.Name, p.cmd.ProcessState, p.spec.Log, Tail(p.spec.Log))
}

// Await polls probe until it returns nil. It fails when the child ends or ctx does,
// with the last answer of probe and the end of the log.
func (p *Process) Await(ctx context.Context, probe func(context.Context) error) error {
	tick := time.NewTicker(25 * time.Millisecond)
	defer tick.Stop()
	for {
		err := probe(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-p.done:
			if err := p.Err(); err != nil {
				return err
			}
			return fmt.Errorf("%s was stopped before it was ready", p.spec.Name)
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready (%w): %w; its log %s ends with:\n%s",
				p.spec.Name, context.Cause(ctx), err, p.spec.Log, Tail(p.spec.Log))
		case <-tick.C:
		}
	}
}

// Stop asks the child to end, kills it when it has not ended after grace, and returns
// when it is gone. Stopping an ended child does nothing.
func (p *Process) Stop(grace time.Duration) {
	p.stopping.Store(true)
	if err := p.cmd.Process.Signal(os.Interrupt); errors.Is(err, os.ErrProcessDone) {
		<-p.done
		return
	}
	select {
	case <-p.done:
	case <-time.After(grace):
		p.Kill()
	}
}

// Kill ends the child at once and returns when it is gone.
func (p *Process) Kill() {
	p.stopping.Store(true)
	_ = p.cmd.Process.Kill()
	<-p.done
}

package contender

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/process"
)

const startTimeout = time.Minute

// emptyExtender is the process of an extender that has nothing to say.
type emptyExtender struct {
	process *process.Process
	address string
}

func (p Programs) launchEmpty(cp *controlplane.ControlPlane, flags ...string) (*emptyExtender, error) {
	port, err := process.FreePort()
	if err != nil {
		return nil, err
	}
	e := &emptyExtender{address: net.JoinHostPort("127.0.0.1", strconv.Itoa(port))}
	e.process, err = process.Start(process.Spec{
		Name: "emptyextender", Path: p.emptyExtender, Log: filepath.Join(cp.Dir(), "emptyextender.log"),
		Args: append(flags, "--listen="+e.address, "--kubeconfig="+cp.Kubeconfig()),
	})
	if err != nil {
		return nil, err
	}
	return e, nil
}

// AwaitReady returns when the extender accepts connections.
func (e *emptyExtender) AwaitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("gave up after %s", startTimeout))
	defer cancel()
	return e.process.Await(ctx, func(ctx context.Context) error {
		connection, err := new(net.Dialer).DialContext(ctx, "tcp", e.address)
		if err == nil {
			err = connection.Close()
		}
		return err
	})
}

// Pid is the operating system's number of the process.
func (e *emptyExtender) Pid() int { return e.process.Pid() }

// Stop ends the extender at once.
func (e *emptyExtender) Stop() { e.process.Kill() }

// Package contender runs a stock scheduler alone, or with one extender or another, so
// that they can be compared on the same cluster.
//
// All contenders run the same kube-scheduler without rate limits. Extenders are
// processes of their own and registered in the same way: by what `muster
// scheduler-config` prints.
package contender

import (
	"context"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strconv"
	"time"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/process"
)

// Contender is a way to schedule. Its value is its name in figures.
type Contender string

// The contenders.
const (
	// Stock is kube-scheduler without an extender.
	Stock Contender = "stock"
	// Empty has an extender that returns what it got.
	Empty Contender = "empty"
	// Scheduler has muster, and chooses the node itself.
	Scheduler Contender = "scheduler"
	// Extender has muster, which chooses the node.
	Extender Contender = "extender"
	// Nominate has muster, which chooses the node ahead of it.
	Nominate Contender = "nominate"
	// Offload has muster, which chooses the node, and leaves to it the plugins that it
	// runs.
	Offload Contender = "offload"
	// OffloadAll leaves NodeResourcesFit to muster as well, and preempts nothing.
	OffloadAll Contender = "offload_no_preemption"
	// NominateOffload is Nominate with the plugins off that Offload has off.
	NominateOffload Contender = "nominate_offload"
	// EmptyOffload has the plugins off that OffloadAll has off, and an extender that answers
	// with one of the nodes, whichever it is.
	EmptyOffload Contender = "empty_offload"
)

const startTimeout = time.Minute

// Programs are the executables of the contenders.
type Programs struct{ muster, emptyExtender string }

// Build builds the programs of this checkout into dir.
func Build(ctx context.Context, dir string, progress io.Writer) (p Programs, err error) {
	if p.muster, err = binaries.BuildMuster(ctx, dir, progress); err != nil {
		return p, err
	}
	p.emptyExtender, err = binaries.BuildEmptyExtender(ctx, dir, progress)
	return p, err
}

// Start starts a contender on a control plane and returns when it schedules, and a
// function that ends it. percentage is the scheduler's percentageOfNodesToScore, 0 for
// its own choice.
func (p Programs) Start(ctx context.Context, cp *controlplane.ControlPlane, c Contender, percentage int) (stop func(), err error) {
	stopExtender := func() {}
	var config string
	switch c {
	case Stock:
		config = stockConfig(percentage)
	case Empty:
		stopExtender, config, err = p.startEmpty(ctx, cp, nil, percentageFlag(percentage))
	case EmptyOffload:
		stopExtender, config, err = p.startEmpty(ctx, cp, []string{"--any-node"}, append(percentageFlag(percentage), "--offload", "--no-preemption"))
	case Scheduler:
		stopExtender, config, err = p.startMuster(ctx, muster.Options{ControlPlane: cp, Selection: muster.Scheduler}, percentage)
	case Extender:
		stopExtender, config, err = p.startMuster(ctx, muster.Options{ControlPlane: cp, Selection: muster.Extender}, percentage)
	case Offload:
		stopExtender, config, err = p.startMuster(ctx, muster.Options{ControlPlane: cp, Selection: muster.Extender, Offload: true}, percentage)
	case Nominate:
		stopExtender, config, err = p.startMuster(ctx, muster.Options{ControlPlane: cp, Selection: muster.Nominate}, percentage)
	case NominateOffload:
		stopExtender, config, err = p.startMuster(ctx, muster.Options{ControlPlane: cp, Selection: muster.Nominate, Offload: true}, percentage)
	case OffloadAll:
		stopExtender, config, err = p.startMuster(ctx, muster.Options{ControlPlane: cp, Selection: muster.Extender, Offload: true}, percentage, "--no-preemption")
	default:
		return nil, fmt.Errorf("unknown contender %q", c)
	}
	if err != nil {
		return nil, err
	}
	if err := cp.StartScheduler(ctx, controlplane.SchedulerOptions{Config: config}); err != nil {
		stopExtender()
		return nil, err
	}
	return func() { cp.StopScheduler(); stopExtender() }, nil
}

func stockConfig(percentage int) string {
	return fmt.Sprintf("apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\npercentageOfNodesToScore: %d\n", percentage)
}

func percentageFlag(percentage int) []string {
	if percentage == 0 {
		return nil
	}
	return []string{fmt.Sprintf("--percentage-of-nodes-to-score=%d", percentage)}
}

func (p Programs) startMuster(ctx context.Context, o muster.Options, percentage int, configFlags ...string) (stop func(), config string, err error) {
	o.Binary = p.muster
	server, err := muster.Start(ctx, o)
	if err != nil {
		return nil, "", err
	}
	if config, err = server.SchedulerConfig(ctx, append(percentageFlag(percentage), configFlags...)...); err != nil {
		server.Stop()
		return nil, "", err
	}
	return server.Stop, config, nil
}

// startEmpty starts the empty extender and prints the scheduler's configuration, each with
// flags of its own.
func (p Programs) startEmpty(ctx context.Context, cp *controlplane.ControlPlane, extenderFlags, configFlags []string) (stop func(), config string, err error) {
	port, err := process.FreePort()
	if err != nil {
		return nil, "", err
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	if config, err = muster.SchedulerConfig(ctx, p.muster, "http://"+address, configFlags...); err != nil {
		return nil, "", err
	}
	server, err := process.Start(process.Spec{
		Name: "emptyextender", Path: p.emptyExtender, Log: filepath.Join(cp.Dir(), "emptyextender.log"),
		Args: append(extenderFlags, "--listen="+address, "--kubeconfig="+cp.Kubeconfig()),
	})
	if err != nil {
		return nil, "", err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, startTimeout, fmt.Errorf("gave up after %s", startTimeout))
	defer cancel()
	err = server.Await(ctx, func(ctx context.Context) error {
		connection, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err == nil {
			err = connection.Close()
		}
		return err
	})
	if err != nil {
		server.Kill()
		return nil, "", err
	}
	return server.Kill, config, nil
}

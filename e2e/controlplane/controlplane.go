// Package controlplane runs a real Kubernetes control plane on 127.0.0.1: etcd
// and kube-apiserver from the start, kube-controller-manager, kube-scheduler and KWOK
// when asked for.
//
// Nothing is simulated but the machines: KWOK stands in for kubelets. RBAC is on,
// certificates are issued by an authority made for this one cluster, service account
// tokens work. Clients are never the limit: every component runs without client-side
// rate limits, and the API server without a limit on requests in flight.
//
// A cluster is a throw-away. It lives in one directory with one log per component,
// etcd does not sync to disk, and Stop kills instead of asking.
//
//	cp, err := controlplane.Start(ctx, controlplane.Options{Progress: os.Stderr})
//	defer cp.Stop()
//	err = cp.StartKWOK(ctx)
//	err = cp.StartScheduler(ctx, controlplane.SchedulerOptions{})
//	client, err := kubernetes.NewForConfig(cp.RESTConfig())
//
// Tests use [ForTest], which stops the cluster with the test.
package controlplane

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/e2e/await"
	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/process"
)

// Options of a control plane. The zero value is usable.
type Options struct {
	// Dir holds all files of the cluster. When empty, a temporary directory is made,
	// and removed by Stop.
	Dir string
	// Release that the programs are of, the one that the environment asks for when empty; see Use.
	Release binaries.Release
	// Controllers that kube-controller-manager runs, beside the ones that pods of any namespace need. Without any,
	// kube-controller-manager does not run, and pods can be created only in the namespaces that the API server creates.
	// Without the node lifecycle controller nodes are not tainted when they are created, because nobody would remove
	// the taint.
	Controllers []string
	// Programs that are started later, to be built at once with the programs that are started first.
	Programs []binaries.Binary
	// FeatureGates is set on all Kubernetes components.
	FeatureGates map[string]bool
	// APIServerFlags are added to kube-apiserver's own flags, as --flag=value.
	APIServerFlags []string
	// KubeletMetrics has KWOK serve what nodes and pods use, as kubelets do under
	// /metrics/resource. A pod's annotations kwok.x-k8s.io/usage-cpu and usage-memory say what
	// it uses.
	KubeletMetrics bool
	// PodPorts are the addresses of this machine, host:port, at which ports of pods are, whichever pod: KWOK forwards to
	// them what is forwarded to a pod.
	PodPorts map[int]string
	// Progress hears about builds and starts. Nil is silence.
	Progress io.Writer
}

// ControlPlane is a running control plane. Its methods may be called from any goroutine.
type ControlPlane struct {
	options   Options
	dir       string
	temporary bool
	authority *authority
	ports     ports
	client    kubernetes.Interface

	mu       sync.Mutex
	release  binaries.Release           // of what is started from now on
	paths    map[binaries.Binary]string // of its programs that are built
	hosts    map[binaries.Binary]string // names of programs that do not run on this machine's
	extras   map[binaries.Binary]string // paths of programs that are not among the binaries
	running  map[binaries.Binary]*process.Process
	revive   map[binaries.Binary]func(error) bool // starts again what ended by itself, and says whether it did
	failed   chan error
	watchers sync.WaitGroup
}

// Start builds what is missing, starts etcd, kube-apiserver and, with controllers, kube-controller-manager,
// and returns when pods can be created. The caller must call Stop. Ending ctx aborts a
// start, but does not stop a started control plane.
func Start(ctx context.Context, o Options) (_ *ControlPlane, err error) {
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	cp := &ControlPlane{
		options: o, hosts: map[binaries.Binary]string{}, extras: map[binaries.Binary]string{}, running: map[binaries.Binary]*process.Process{},
		revive: map[binaries.Binary]func(error) bool{}, failed: make(chan error, 1),
	}
	if o.Release == "" {
		if o.Release, err = binaries.Chosen(); err != nil {
			return nil, err
		}
	}
	if err := cp.Use(ctx, o.Release); err != nil {
		return nil, err
	}
	if err := cp.prepare(); err != nil {
		return nil, errors.Join(err, cp.removeTemporary())
	}
	steps := []func(context.Context) error{cp.startEtcd, cp.StartAPIServer, cp.createAccounts}
	if len(o.Controllers) > 0 {
		steps[2] = func(ctx context.Context) error { return cp.StartControllerManager(ctx, o.Controllers) }
	}
	for _, start := range steps {
		if err := start(ctx); err != nil {
			cp.Stop()
			return nil, err
		}
	}
	return cp, nil
}

func (cp *ControlPlane) prepare() (err error) {
	cp.dir = cp.options.Dir
	if cp.dir == "" {
		if cp.dir, err = os.MkdirTemp("", "muster-e2e-"); err != nil {
			return fmt.Errorf("make a directory for the control plane: %w", err)
		}
		cp.temporary = true
	} else if err = os.MkdirAll(cp.dir, 0o755); err != nil {
		return fmt.Errorf("make a directory for the control plane: %w", err)
	}
	if cp.ports, err = freePorts(); err != nil {
		return err
	}
	if cp.authority, err = newAuthority(); err != nil {
		return err
	}
	if err := cp.writeIdentities(); err != nil {
		return err
	}
	cp.client, err = kubernetes.NewForConfig(cp.RESTConfig())
	return err
}

// Dir is where the files of the cluster are.
func (cp *ControlPlane) Dir() string { return cp.dir }

// Log is the log file of a component.
func (cp *ControlPlane) Log(b binaries.Binary) string { return cp.file(string(b) + ".log") }

// Kubectl is the path of a kubectl of the release in use, which is built if it is missing.
func (cp *ControlPlane) Kubectl(ctx context.Context) (string, error) {
	return cp.program(ctx, binaries.Kubectl)
}

// Use has whatever is started from now on be of a release, whose programs it builds if they are missing. What runs
// stays as it is until it is stopped and started again.
func (cp *ControlPlane) Use(ctx context.Context, release binaries.Release) error {
	which := append([]binaries.Binary{binaries.Etcd, binaries.APIServer}, cp.options.Programs...)
	if len(cp.options.Controllers) > 0 {
		which = append(which, binaries.ControllerManager)
	}
	return cp.ensure(ctx, release, which...)
}

// ensure has programs of a release be there, and be what is started from now on.
func (cp *ControlPlane) ensure(ctx context.Context, release binaries.Release, which ...binaries.Binary) error {
	set, err := binaries.Ensure(ctx, release, cp.options.Progress, which...)
	if err != nil {
		return err
	}
	cp.mu.Lock()
	defer cp.mu.Unlock()
	if cp.release != release {
		cp.release, cp.paths = release, map[binaries.Binary]string{}
	}
	for _, b := range which {
		cp.paths[b] = set.Path(b)
	}
	return nil
}

// program is the path of a program of the release in use, which is built if it is missing.
func (cp *ControlPlane) program(ctx context.Context, b binaries.Binary) (string, error) {
	cp.mu.Lock()
	release, path := cp.release, cp.paths[b]
	cp.mu.Unlock()
	if path != "" {
		return path, nil
	}
	if err := cp.ensure(ctx, release, b); err != nil {
		return "", err
	}
	cp.mu.Lock()
	defer cp.mu.Unlock()
	return cp.paths[b], nil
}

func (cp *ControlPlane) file(name string) string { return filepath.Join(cp.dir, name) }

// Failed delivers the error of the first component that ended without being told to.
func (cp *ControlPlane) Failed() <-chan error { return cp.failed }

// Stop ends all components and returns when none is left. It may be called twice.
func (cp *ControlPlane) Stop() {
	for b := range cp.Pids() {
		if !slices.Contains(startOrder, b) {
			cp.kill(b)
		}
	}
	for _, b := range slices.Backward(startOrder) {
		cp.kill(b)
	}
	cp.watchers.Wait()
	if err := cp.removeTemporary(); err != nil {
		fmt.Fprintf(cp.options.Progress, "%v\n", err)
	}
}

// Pids of the components that run.
func (cp *ControlPlane) Pids() map[binaries.Binary]int {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	pids := map[binaries.Binary]int{}
	for b, p := range cp.running {
		pids[b] = p.Pid()
	}
	return pids
}

// Process returns a component that runs, nil for none.
func (cp *ControlPlane) Process(b binaries.Binary) *process.Process {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	return cp.running[b]
}

var startOrder = []binaries.Binary{
	binaries.Etcd, binaries.APIServer, binaries.ControllerManager, binaries.KWOK, binaries.Scheduler,
	binaries.MetricsServer, binaries.Prometheus,
}

// start runs a component, waits until probe is content with it and watches over it.
func (cp *ControlPlane) start(ctx context.Context, b binaries.Binary, args, env []string, probe func(context.Context) error) error {
	path, err := cp.executable(ctx, b)
	if err != nil {
		return err
	}
	began := time.Now()
	p, err := cp.launch(b, path, args, env)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, await.Patience, fmt.Errorf("gave up after %s", await.Patience))
	defer cancel()
	if err := p.Await(ctx, probe); err != nil {
		cp.kill(b)
		return err
	}
	fmt.Fprintf(cp.options.Progress, "%s is ready (%.1fs)\n", b, time.Since(began).Seconds())
	cp.watchers.Go(func() {
		<-p.Done()
		if err := p.Err(); err != nil && !cp.revives(b, err) {
			select {
			case cp.failed <- err:
			default:
			}
		}
	})
	return nil
}

// revives has a component that ended by itself start again, if somebody knows how.
func (cp *ControlPlane) revives(b binaries.Binary, err error) bool {
	cp.mu.Lock()
	revive := cp.revive[b]
	cp.mu.Unlock()
	return revive != nil && revive(err)
}

// executable is the path of a component's program.
func (cp *ControlPlane) executable(ctx context.Context, b binaries.Binary) (string, error) {
	cp.mu.Lock()
	path, extra := cp.extras[b]
	cp.mu.Unlock()
	if extra {
		return path, nil
	}
	return cp.program(ctx, b)
}

func (cp *ControlPlane) launch(b binaries.Binary, path string, args, env []string) (*process.Process, error) {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	if cp.running[b] != nil {
		return nil, fmt.Errorf("%s is running already", b)
	}
	p, err := process.Start(process.Spec{Name: string(b), Path: path, Args: args, Env: env, Log: cp.Log(b), Host: cp.hosts[b]})
	if err != nil {
		return nil, err
	}
	cp.running[b] = p
	return p, nil
}

func (cp *ControlPlane) kill(b binaries.Binary) { cp.end(b, (*process.Process).Kill) }

// end ends a component that runs.
func (cp *ControlPlane) end(b binaries.Binary, by func(*process.Process)) {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	if p := cp.running[b]; p != nil {
		by(p)
		delete(cp.running, b)
	}
}

func (cp *ControlPlane) removeTemporary() error {
	if !cp.temporary {
		return nil
	}
	if err := os.RemoveAll(cp.dir); err != nil {
		return fmt.Errorf("remove the control plane's directory: %w", err)
	}
	return nil
}

// Package playground is a control plane for people: it runs until it is told to stop, says how to
// use it, and its stock kube-scheduler restarts when its configuration changes, as a static pod's
// would that is taken away and put back. docs/getting-started.md walks through it.
package playground

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/controlplane"
)

// DirVariable is the environment variable that says where the playground's files are;
// build/controlplane of the checkout when it is empty.
const DirVariable = "CONTROLPLANE_DIR"

// lookEvery is the time between two looks at the scheduler's configuration.
const lookEvery = 250 * time.Millisecond

// Options of a playground.
type Options struct {
	// Dir has the files that people use: env to source, bin/kubectl, and scheduler.yaml, which they
	// write. It is created.
	Dir string
	// Out is told how things go.
	Out io.Writer
}

// OptionsFromEnv reads the options of the environment that getenv has.
func OptionsFromEnv(ctx context.Context, getenv func(string) string, out io.Writer) (Options, error) {
	if dir := getenv(DirVariable); dir != "" {
		dir, err := filepath.Abs(dir)
		return Options{Dir: dir, Out: out}, err
	}
	repository, err := binaries.RepositoryDir(ctx)
	return Options{Dir: filepath.Join(repository, "build", "controlplane"), Out: out}, err
}

// Run runs the playground until ctx ends, which is no error, or a component of it does.
func Run(ctx context.Context, o Options) error {
	cp, err := controlplane.Start(ctx, controlplane.Options{
		Controllers: controlplane.DefaultControllers(),
		Programs:    []binaries.Binary{binaries.KWOK, binaries.Scheduler, binaries.Kubectl},
		Progress:    o.Out,
	})
	if err != nil {
		return err
	}
	defer cp.Stop()
	if err := cp.StartKWOK(ctx); err != nil {
		return err
	}
	if err := cp.StartScheduler(ctx, controlplane.SchedulerOptions{}); err != nil {
		return err
	}
	if err := o.furnish(ctx, cp); err != nil {
		return err
	}
	defer os.Remove(o.file("env"))
	o.welcome(cp)
	return o.attend(ctx, cp)
}

func (o Options) file(name string) string { return filepath.Join(o.Dir, name) }

// furnish writes what people use. A scheduler.yaml of an earlier playground names an extender that
// may not run any more, so it goes.
func (o Options) furnish(ctx context.Context, cp *controlplane.ControlPlane) error {
	programs := o.file("bin")
	if err := os.MkdirAll(programs, 0o755); err != nil {
		return fmt.Errorf("make the playground's directory: %w", err)
	}
	for _, old := range []string{filepath.Join(programs, "kubectl"), o.file("scheduler.yaml")} {
		if err := os.RemoveAll(old); err != nil {
			return fmt.Errorf("remove what an earlier playground left: %w", err)
		}
	}
	kubectl, err := cp.Kubectl(ctx)
	if err != nil {
		return err
	}
	if err := os.Symlink(kubectl, filepath.Join(programs, "kubectl")); err != nil {
		return fmt.Errorf("put kubectl into the playground: %w", err)
	}
	env := fmt.Sprintf("export KUBECONFIG='%s'\nexport PATH='%s':\"$PATH\"\n", cp.Kubeconfig(), programs)
	if err := os.WriteFile(o.file("env"), []byte(env), 0o644); err != nil {
		return fmt.Errorf("write the playground's environment: %w", err)
	}
	return nil
}

func (o Options) welcome(cp *controlplane.ControlPlane) {
	fmt.Fprintf(o.Out, `
The control plane is ready. In another terminal:

  . %s    # KUBECONFIG, and kubectl

Nodes become ready and pods run as soon as they are created; a pod annotated
%s=30s succeeds after that time.
kube-scheduler restarts when %s changes.
Logs and certificates: %s
Ctrl-C stops everything. docs/getting-started.md says what to try.

`, o.shown("env"), controlplane.RunsForAnnotation, o.shown("scheduler.yaml"), cp.Dir())
}

// shown is a file's path as somebody in the checkout would write it, if it is in there.
func (o Options) shown(name string) string {
	file := o.file(name)
	if build := filepath.Dir(o.Dir); filepath.Base(build) == "build" {
		return filepath.Join("build", filepath.Base(o.Dir), name)
	}
	return file
}

// attend restarts the scheduler whenever its configuration is another one, until ctx or a component
// ends.
func (o Options) attend(ctx context.Context, cp *controlplane.ControlPlane) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var config watched
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-cp.Failed():
			return err
		case <-tick.C:
		}
		text, err := os.ReadFile(o.file("scheduler.yaml"))
		if err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("read the scheduler's configuration: %w", err)
		}
		if !config.changed(string(text)) {
			continue
		}
		cp.StopScheduler()
		if err := cp.StartScheduler(ctx, controlplane.SchedulerOptions{Config: config.current}); err != nil {
			fmt.Fprintf(o.Out, "kube-scheduler does not run with %s: %v\n", o.shown("scheduler.yaml"), err)
			continue
		}
		fmt.Fprintf(o.Out, "kube-scheduler runs with %s\n", o.with(config.current))
	}
}

// with says what the scheduler runs with.
func (o Options) with(config string) string {
	if config == "" {
		return "its defaults"
	}
	return o.shown("scheduler.yaml")
}

// watched is a file's text that counts once two looks in a row have found the same, as its writer
// may not be done.
type watched struct{ current, last string }

// changed says that the text is another one from this look on.
func (w *watched) changed(text string) bool {
	settled := text == w.last
	w.last = text
	if !settled || text == w.current {
		return false
	}
	w.current = text
	return true
}

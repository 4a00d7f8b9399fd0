// Package contender runs a stock scheduler alone, or with one extender or another, so
// that they can be compared on the same cluster.
//
// All contenders run the same kube-scheduler without rate limits. Extenders are
// processes of their own and registered in the same way: by what `muster
// scheduler-config` prints.
package contender

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/muster"
)

// Contender is a way to schedule. Its value is its name in figures.
type Contender string

// The contenders.
const (
	// Stock is kube-scheduler without an extender.
	Stock Contender = "stock"
	// SameSample is Stock that looks at as few nodes as it does beside muster by default: 100, or 1 % of more than 10,000.
	SameSample Contender = "same_sample"
	// Batching is Stock without default spread constraints, so that it can use what it found for a pod for the next one
	// of its kind (KEP-5598), and NoBatching the same without that.
	Batching   Contender = "batching"
	NoBatching Contender = "no_batching"
	// Native is kube-scheduler without an extender, with its own gang scheduling. The API
	// server must know its PodGroups; see [controlplane.NativeGangs].
	Native Contender = "native"
	// Assisted is Native with muster, which plans its groups whole, and Served has muster, which starts these groups where
	// the scheduler's own gang scheduling is off.
	Assisted Contender = "native_assisted"
	Served   Contender = "native_served"
	// Empty has an extender that returns what it got.
	Empty Contender = "empty"
	// Scheduler has muster, and chooses the node itself.
	Scheduler Contender = "scheduler"
	// Extender has muster, which chooses the node and nominates nobody.
	Extender Contender = "extender"
	// Near is Extender, with gangs that ask for nodes near each other.
	Near Contender = "near"
	// Managed has muster, and asks it about none of the pods: they do not ask for its resources.
	Managed Contender = "managed"
	// Before is Extender with another build of muster.
	Before Contender = "before"
	// Ahead has muster beside it, without knowing: members of gangs are gated, and let go by muster when they have
	// places.
	Ahead Contender = "ahead"
	// AheadExtender is Ahead with muster as its extender as well.
	AheadExtender Contender = "ahead_extender"
	// Nominate has muster, which chooses the node and nominates pods while that saves enough.
	Nominate Contender = "nominate"
	// Offload is Extender, and leaves to muster the plugins that muster runs.
	Offload Contender = "offload"
	// OffloadAll leaves NodeResourcesFit to muster as well, and preempts nothing.
	OffloadAll Contender = "offload_no_preemption"
	// NominateOffload is Nominate with the plugins off that Offload has off.
	NominateOffload Contender = "nominate_offload"
	// EmptyOffload has the plugins off that OffloadAll has off, and an extender that answers
	// with one of the nodes, whichever it is.
	EmptyOffload Contender = "empty_offload"
)

// Programs are the executables of the contenders.
type Programs struct {
	muster, emptyExtender, before string
	profile                       map[string]any // fields of muster's profile
	eager                         bool           // every pod is nominated
	trees                         bool           // native gangs have groups of groups
}

// BeforeEnv is the environment variable that names the executable of [Before].
const BeforeEnv = "BENCH_BEFORE"

// WithBefore returns the programs with an executable of another build of muster, which is printed side by side.
func (p Programs) WithBefore(path string) Programs {
	p.before = path
	return p
}

// WithProfile returns the programs with more fields for muster's profile, by their names in its configuration.
func (p Programs) WithProfile(fields map[string]any) Programs {
	p.profile = fields
	return p
}

// WithEager returns the programs with a muster that nominates every pod, whatever that saves, or what saves enough.
func (p Programs) WithEager(eager bool) Programs {
	p.eager = eager
	return p
}

// WithTrees returns the programs with native gangs that have groups of groups as well, or without.
func (p Programs) WithTrees(trees bool) Programs {
	p.trees = trees
	return p
}

// Build builds the programs of this checkout into a directory, which remove removes.
func Build(ctx context.Context, progress io.Writer) (p Programs, remove func(), err error) {
	dir, err := os.MkdirTemp("", "muster-bench-")
	if err != nil {
		return p, nil, fmt.Errorf("make a directory for programs: %w", err)
	}
	remove = func() { _ = os.RemoveAll(dir) }
	if p.muster, err = binaries.BuildMuster(ctx, progress); err == nil {
		p.emptyExtender, err = binaries.BuildCommand(ctx, "bench", "emptyextender", dir, progress)
	}
	if err != nil {
		remove()
		return p, nil, err
	}
	return p, remove, nil
}

// Entry is a contender on a control plane, at work or about to be.
type Entry struct {
	controlPlane *controlplane.ControlPlane
	extender     extender // nil when there is none
	scheduler    controlplane.SchedulerOptions
}

type extender interface {
	AwaitReady(ctx context.Context) error
	Pid() int
	Stop()
}

// Start starts a contender on a control plane and returns when it schedules, and a
// function that ends it. percentage is the scheduler's percentageOfNodesToScore, 0 for
// its own choice.
func (p Programs) Start(ctx context.Context, cp *controlplane.ControlPlane, c Contender, percentage int) (stop func(), err error) {
	e, err := p.Launch(ctx, cp, c, percentage)
	if err != nil {
		return nil, err
	}
	if err := e.Begin(ctx); err != nil {
		e.Stop()
		return nil, err
	}
	return e.Stop, nil
}

// Begin returns when the extender is ready and the scheduler schedules.
func (e *Entry) Begin(ctx context.Context) error {
	if err := e.AwaitExtender(ctx); err != nil {
		return err
	}
	return e.StartScheduler(ctx)
}

// Launch launches the extender of a contender, if it has one, and does not wait until it
// is ready. What Start does besides is then the caller's, who must call Stop.
func (p Programs) Launch(ctx context.Context, cp *controlplane.ControlPlane, c Contender, percentage int) (*Entry, error) {
	flags := percentageFlag(percentage)
	if o, is := beside()[c]; is {
		o.ControlPlane = cp
		return p.enterMuster(ctx, o, flags)
	}
	switch c {
	case Stock:
		return &Entry{controlPlane: cp, scheduler: stock(percentage)}, nil
	case SameSample:
		return &Entry{controlPlane: cp, scheduler: stock(1)}, nil
	case Batching, NoBatching:
		return &Entry{controlPlane: cp, scheduler: batching(percentage, c == Batching)}, nil
	case Native:
		return p.withNativeGangs(&Entry{controlPlane: cp, scheduler: stock(percentage)}, nil)
	case Assisted:
		return p.withNativeGangs(p.enterMuster(ctx, muster.Options{ControlPlane: cp, Selection: muster.Scheduler}, flags))
	case Managed:
		return p.enterMuster(ctx, muster.Options{ControlPlane: cp}, append(flags, "--managed"))
	case Empty:
		return p.enterEmpty(ctx, cp, nil, flags)
	case EmptyOffload:
		return p.enterEmpty(ctx, cp, []string{"--any-node"}, append(flags, "--offload", "--no-preemption"))
	case Before:
		p.muster = p.before
		o := beside()[Extender]
		o.ControlPlane = cp
		return p.enterMuster(ctx, o, flags)
	case Ahead:
		return p.enterBeside(ctx, muster.Options{ControlPlane: cp, Selection: muster.Muster, Gates: muster.UntilPlace}, percentage)
	case OffloadAll:
		o := beside()[Offload]
		o.ControlPlane = cp
		return p.enterMuster(ctx, o, append(flags, "--no-preemption"))
	default:
		return nil, fmt.Errorf("unknown contender %q", c)
	}
}

// withNativeGangs returns an entry whose scheduler has gang scheduling of its own.
func (p Programs) withNativeGangs(e *Entry, err error) (*Entry, error) {
	if err != nil {
		return nil, err
	}
	release, err := binaries.Chosen()
	if err != nil {
		e.Stop()
		return nil, err
	}
	native := controlplane.NativeGangsOf(release)
	if p.trees {
		native = native.WithTrees()
	}
	e.scheduler.FeatureGates = native.Gates
	return e, nil
}

// beside are the contenders with nothing but muster as an extender, and how it runs.
func beside() map[Contender]muster.Options {
	return map[Contender]muster.Options{
		Scheduler:       {Selection: muster.Scheduler},
		Served:          {Selection: muster.Scheduler},
		Extender:        {Selection: muster.Muster, MinSaving: "1h"},
		Near:            {Selection: muster.Muster, MinSaving: "1h"},
		AheadExtender:   {Selection: muster.Muster, Gates: muster.UntilPlace},
		Offload:         {Selection: muster.Muster, Offload: true, MinSaving: "1h"},
		Nominate:        {Selection: muster.Muster},
		NominateOffload: {Selection: muster.Muster, Offload: true},
	}
}

// AwaitExtender returns when the extender is ready.
func (e *Entry) AwaitExtender(ctx context.Context) error {
	if e.extender == nil {
		return nil
	}
	return e.extender.AwaitReady(ctx)
}

// StartScheduler starts the scheduler and returns when it schedules.
func (e *Entry) StartScheduler(ctx context.Context) error {
	return e.controlPlane.StartScheduler(ctx, e.scheduler)
}

// Muster is the contender's muster, nil when it has none.
func (e *Entry) Muster() *muster.Server {
	server, _ := e.extender.(*muster.Server)
	return server
}

// Pids of the scheduler and the extender, as far as they have started.
func (e *Entry) Pids() []int {
	var pids []int
	if pid, runs := e.controlPlane.Pids()[binaries.Scheduler]; runs {
		pids = append(pids, pid)
	}
	if e.extender != nil {
		pids = append(pids, e.extender.Pid())
	}
	return pids
}

// ExtenderPid returns the process id of the extender, false when there is none.
func (e *Entry) ExtenderPid() (pid int, runs bool) {
	if e.extender == nil {
		return 0, false
	}
	return e.extender.Pid(), true
}

// Stop ends the scheduler and the extender, as far as they have started. It may be called
// twice.
func (e *Entry) Stop() {
	e.controlPlane.StopScheduler()
	if e.extender != nil {
		e.extender.Stop()
	}
}

func stock(percentage int) controlplane.SchedulerOptions {
	return controlplane.SchedulerOptions{
		Config: fmt.Sprintf(
			"apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\npercentageOfNodesToScore: %d\n", percentage,
		),
	}
}

// batching is the stock scheduler without default spread constraints, which rule batching out.
func batching(percentage int, on bool) controlplane.SchedulerOptions {
	o := stock(percentage)
	o.Config += `profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: PodTopologySpread
    args:
      apiVersion: kubescheduler.config.k8s.io/v1
      kind: PodTopologySpreadArgs
      defaultingType: List
`
	o.FeatureGates = map[string]bool{"OpportunisticBatching": on}
	return o
}

func percentageFlag(percentage int) []string {
	if percentage == 0 {
		return nil
	}
	return []string{fmt.Sprintf("--percentage-of-nodes-to-score=%d", percentage)}
}

// enterMuster launches muster and prints the scheduler's configuration with flags.
func (p Programs) enterMuster(ctx context.Context, o muster.Options, configFlags []string) (*Entry, error) {
	o.Binary, o.Profile = p.muster, p.profile
	if p.eager {
		o.MinSaving = cmp.Or(o.MinSaving, "0s")
	}
	server, err := muster.Launch(ctx, o)
	if err != nil {
		return nil, err
	}
	config, err := server.SchedulerConfig(ctx, configFlags...)
	if err != nil {
		server.Stop()
		return nil, err
	}
	return &Entry{controlPlane: o.ControlPlane, extender: server, scheduler: controlplane.SchedulerOptions{Config: config}}, nil
}

// enterBeside launches muster beside a scheduler that does not know it.
func (p Programs) enterBeside(ctx context.Context, o muster.Options, percentage int) (*Entry, error) {
	e, err := p.enterMuster(ctx, o, nil)
	if err != nil {
		return nil, err
	}
	e.scheduler = stock(percentage)
	return e, nil
}

// enterEmpty launches the empty extender and prints the scheduler's configuration, each
// with flags of its own.
func (p Programs) enterEmpty(ctx context.Context, cp *controlplane.ControlPlane, extenderFlags, configFlags []string) (*Entry, error) {
	server, err := p.launchEmpty(cp, extenderFlags...)
	if err != nil {
		return nil, err
	}
	config, err := muster.SchedulerConfig(ctx, p.muster, "http://"+server.address, configFlags...)
	if err != nil {
		server.Stop()
		return nil, err
	}
	return &Entry{controlPlane: cp, extender: server, scheduler: controlplane.SchedulerOptions{Config: config}}, nil
}

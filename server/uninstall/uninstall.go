package uninstall

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"muster.dev/muster/server/install"
)

// Leftover is something of muster's in a cluster.
type Leftover struct {
	// What it is, as in 'pod default/web: gate muster.dev/gang'.
	What string
	// Kept says why it stays, and who can take it away; "" for what Remove takes away.
	Kept string

	stage  stage
	remove func(context.Context) error
}

// stage is when a leftover is taken away: what makes more of it goes first, and what tells who made it goes last.
type stage int

const (
	policies stage = iota
	workloads
	marks
	definitions
	rights
	records
)

// Cluster is one that muster leaves.
type Cluster struct {
	Client  kubernetes.Interface
	Dynamic dynamic.Interface
	Clock   clock.Clock
	// WithObjects has definitions go with the objects of them that people have made.
	WithObjects bool
}

// Find returns what there is of muster's, in the order in which it is taken away.
func (c *Cluster) Find(ctx context.Context) ([]Leftover, error) {
	f := &finder{Cluster: c, ctx: ctx}
	for _, look := range []func() error{
		f.policies, f.webhooks, f.installed, f.boundRoles, f.kubeadm, f.gates, f.pods, f.namespaces, f.nodes, f.groups, f.nodeMetrics,
		f.definitions, f.records,
	} {
		if err := look(); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(f.found, func(a, b Leftover) int { return int(a.stage) - int(b.stage) })
	return f.found, nil
}

// finder looks for leftovers.
type finder struct {
	*Cluster
	ctx   context.Context //nolint:containedctx // it lives for one call
	found []Leftover

	roles []string // ClusterRoles and Roles that were found
	made  int      // NodeMetrics that muster has made
}

func (f *finder) add(stage stage, remove func(context.Context) error, format string, args ...any) {
	f.found = append(f.found, Leftover{What: fmt.Sprintf(format, args...), stage: stage, remove: remove})
}

func (f *finder) keep(stage stage, why, format string, args ...any) {
	f.found = append(f.found, Leftover{What: fmt.Sprintf(format, args...), Kept: why, stage: stage})
}

// kubeadm has kube-scheduler's configuration in its own.
func (f *finder) kubeadm() error {
	applier := install.Applier{Client: f.Dynamic, Clock: f.Clock}
	there, err := applier.ForgetKubeadm(f.ctx, true)
	if there {
		f.add(policies, func(ctx context.Context) error { _, err := applier.ForgetKubeadm(ctx, false); return err },
			"ConfigMap kube-system/kubeadm-config: scheduler.extraArgs: config")
	}
	return err
}

// errRuns says that a muster goes on.
var errRuns = errors.New("it still runs")

// Remove takes leftovers away that are not kept. Told hears of each. When what runs is gone, it waits until no muster is left that could
// write anything again. It goes on after an error, and returns all of them.
func (c *Cluster) Remove(ctx context.Context, all []Leftover, told func(string)) error {
	var failed []error
	waited := false
	for _, leftover := range all {
		if leftover.stage > workloads && !waited {
			if err := c.end(ctx, told); err != nil {
				return errors.Join(append(failed, err)...)
			}
			waited = true
		}
		if leftover.Kept != "" {
			continue
		}
		switch err := leftover.remove(ctx); {
		case ctx.Err() != nil:
			return errors.Join(append(failed, ctx.Err())...)
		case err != nil && !apierrors.IsNotFound(err):
			failed = append(failed, fmt.Errorf("%s: %w", leftover.What, err))
		default:
			told("removed " + leftover.What)
		}
	}
	return errors.Join(failed...)
}

// patience is how long a muster may take to end, and look is the time between two looks at its Leases.
const (
	patience = 2 * time.Minute
	look     = 500 * time.Millisecond
)

// end waits until nobody holds a Lease of muster's. A holder that writes nothing for as long as its Lease is good is gone, by the
// clock of this process.
func (c *Cluster) end(ctx context.Context, told func(string)) error {
	began := c.Clock.Now()
	last := map[string]held{}
	said := false
	for {
		leases, err := leasesOf(ctx, c.Client)
		if err != nil {
			return err
		}
		running := ""
		for i := range leases {
			lease := &leases[i]
			name, now := lease.Namespace+"/"+lease.Name, c.Clock.Now()
			if before, known := last[name]; !known || before.version != lease.ResourceVersion {
				last[name] = held{lease.ResourceVersion, now}
			}
			if holder := holderOf(lease); holder != "" && now.Sub(last[name].since) <= goodFor(lease) {
				running = fmt.Sprintf("Lease %s is held by %s", name, holder)
			}
		}
		switch {
		case running == "":
			return nil
		case c.Clock.Since(began) > patience:
			return fmt.Errorf("%s: %w: stop it, as by 'muster uninstall --remove-from /' on each control-plane node, and repeat the command: "+
				"what it wrote is left", running, errRuns)
		case !said:
			told("waiting for the muster that runs: " + running)
			said = true
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.Clock.After(look):
		}
	}
}

// held is a state of a lease, and since when it is so.
type held struct {
	version string
	since   time.Time
}

func holderOf(lease *coordinationv1.Lease) string {
	if lease.Spec.HolderIdentity == nil {
		return ""
	}
	return *lease.Spec.HolderIdentity
}

func goodFor(lease *coordinationv1.Lease) time.Duration {
	if lease.Spec.LeaseDurationSeconds == nil {
		return 0
	}
	return time.Duration(*lease.Spec.LeaseDurationSeconds) * time.Second
}

package placeable

import (
	"context"
	"log/slog"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/utils/clock"

	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// Options of a Controller. All are required, but the seed may be 0.
type Options struct {
	Logger   *slog.Logger
	Clock    clock.WithTicker
	Cluster  *cluster.Cluster
	Profiles *predicates.Profiles
	Keeper   Keeper
	// Seed breaks ties between nodes.
	Seed uint64
}

// Controller answers Kueue's admission check.
type Controller struct {
	log   *slog.Logger
	clock clock.WithTicker
	board *board
	rooms *rooms
	clerk *clerk
}

const (
	// lookEvery is how often it is looked whether something of Kueue has changed, and lookAgain how often at the cluster.
	lookEvery, lookAgain = 100 * time.Millisecond, time.Second
)

// New returns a Controller that answers nothing until it is run.
func New(o Options) *Controller {
	r := &rooms{clock: o.Clock, cluster: o.Cluster, profiles: o.Profiles, keeper: o.Keeper, seed: o.Seed}
	return &Controller{log: o.Logger, clock: o.Clock, board: newBoard(o.Logger), rooms: r, clerk: newClerk(r)}
}

// Handled returns the resources of Kueue to follow, and who takes their objects.
func (c *Controller) Handled() map[schema.GroupVersionResource]cluster.CustomHandler {
	return c.board.handled()
}

// Run answers until the context ends.
func (c *Controller) Run(ctx context.Context, client dynamic.Interface) {
	ticker := c.clock.NewTicker(lookEvery)
	defer ticker.Stop()
	var last time.Time
	for {
		if c.board.isNews() || c.clock.Since(last) >= lookAgain {
			last = c.clock.Now()
			c.look(ctx, client)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
		}
	}
}

// look answers what is to be answered now.
func (c *Controller) look(ctx context.Context, client dynamic.Interface) {
	now, shown := c.clock.Now(), c.board.read()
	for _, object := range shown.inactive {
		c.told("admissionchecks/"+object.GetName(), activate(ctx, client, object, now))
	}
	c.rooms.begin(shown.workloads, shown.flavors)
	for _, s := range c.clerk.look(now, shown.workloads, shown.checks) {
		written, err := say(ctx, client, s, shown.checks, now)
		if err == nil {
			c.board.wrote(written)
		}
		c.told("workloads/"+s.of.String(), err)
	}
}

// told logs why something was not written, unless the watch will show that: somebody has changed the object.
func (c *Controller) told(resource string, err error) {
	if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		c.log.Warn("cannot write about an admission check", slog.String("resource", resource), slog.Any("err", err))
	}
}

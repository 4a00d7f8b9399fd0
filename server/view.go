package server

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	explanationv1alpha1 "muster.dev/muster/api/explanation/v1alpha1"
	reschedulingv1alpha1 "muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster/watch"
	"muster.dev/muster/gang"
	"muster.dev/muster/loadaware/usage"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/placeholder"
	"muster.dev/muster/rescheduler/reservation"
	"muster.dev/muster/server/app"
	"muster.dev/muster/server/placeable"
	"muster.dev/muster/server/questions"
)

// view is where the view of the cluster comes from: an API server, or dumps, which are read at once.
type view struct {
	reservations *reservation.Keeper // nil without an API server
	placeholders *placeholder.Placeholders
	questions    *questions.Queue // nil without an API server
	components   []app.Component
	synced       func() bool
	// wait returns when the view is complete.
	wait func(ctx context.Context) error
	// catchUp returns when the view has what the leader before has bound.
	catchUp func(ctx context.Context) error
}

func newView(b *base, a *api, u *app.Usage, profiles *predicates.Profiles) (*view, error) {
	if !a.live() {
		return newDump(b)
	}
	v := &view{}
	keeper := reservation.New(reservation.Options{
		Logger: b.Logger, Clock: clock.RealClock{}, Cluster: b.Cluster, Profiles: profiles,
		Changed: func() { v.placeholders.PlansChanged() },
	})
	u.Handled[reschedulingv1alpha1.ReschedulingPlans()] = keeper.Handler()
	asked := questions.NewQueue(clock.RealClock{})
	u.Handled[explanationv1alpha1.Questions()] = asked.Handler()
	maps.Copy(u.Handled, b.Owners.Handled(b.Cluster))
	maps.Copy(u.Handled, b.Cluster.HandledTopologies())
	answering := answerKueue(b, a, u, profiles, keeper)
	watcher, err := watch.New(b.Cluster, watch.Options{
		Logger: b.Logger, Registerer: b.Registry,
		Client: a.Core, Jobs: b.Owners.ReadsJobs(), Optional: v1alpha1.Resources(), Handled: u.Handled, Dynamic: a.Leader.Dynamic,
		Metadata: a.Metadata, FindOwner: b.Owners.Finder(a.Metadata),
	})
	if err != nil {
		return nil, err
	}
	namespace := b.Config.LeaderElection.ResourceNamespace
	shown := placeholder.NewWatch(a.Core, namespace)
	*v = *newWatched(watcher)
	kept := make(chan struct{}) // closed once room is kept also for pods that the watch showed after their plan
	v.synced = func() bool { return watcher.Synced() && shown.Synced() && isClosed(kept) }
	v.wait = func(ctx context.Context) error {
		if err := watcher.WaitForSync(ctx); err != nil {
			return err
		}
		if err := shown.WaitForSync(ctx); err != nil {
			return err
		}
		select {
		case <-kept:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	v.reservations, v.questions = keeper, asked
	v.placeholders = placeholder.New(placeholder.Options{
		Logger: b.Logger, Clock: clock.RealClock{}, Cluster: b.Cluster, Profiles: profiles, Keeper: keeper,
		Client: placeholder.NewClient(a.quick.Core), Pods: shown, Namespace: namespace, Margin: gang.Margin,
	})
	v.components = append(append(v.components, answering...),
		app.Part("ReschedulingPlans", app.Always, func(ctx context.Context) {
			if watcher.WaitForSync(ctx) != nil {
				return // it was asked to stop
			}
			keeper.Refresh()
			close(kept)
			keeper.Run(ctx)
		}),
		app.Part("confirmation of ReschedulingPlans", app.Leading, func(ctx context.Context) {
			keeper.Confirm(ctx, reservation.NewWriter(a.Leader.Dynamic), v.placeholders)
		}),
		app.Part("watch on placeholder pods", app.Always, shown.Run),
		app.Part("placeholder pods", app.Leading, v.placeholders.Run),
	)
	return v, nil
}

func isClosed(done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	default:
		return false
	}
}

// answerKueue has the objects of Kueue followed where its pods are known at all, and its admission check answered.
func answerKueue(b *base, a *api, u *app.Usage, profiles *predicates.Profiles, keeper *reservation.Keeper) []app.Component {
	if !slices.Contains(b.Config.Gangs.Kinds, config.GangKindKueue) {
		return nil
	}
	answers := placeable.New(placeable.Options{
		Logger: b.Logger, Clock: clock.RealClock{}, Cluster: b.Cluster, Profiles: profiles, Keeper: keeper, Seed: rand.Uint64(),
	})
	maps.Copy(u.Handled, answers.Handled())
	run := func(ctx context.Context) { answers.Run(ctx, a.Leader.Dynamic) }
	return []app.Component{app.Part("admission checks of Kueue", app.Leading, run)}
}

// newDump is the view of dumps.
func newDump(b *base) (*view, error) {
	custom := append(b.Owners.Dumped(b.Cluster), b.Cluster.DumpedTopologies()...)
	loaded, err := usage.Load(b.Cluster, b.Logger, b.options.SnapshotFiles, b.options.Stdin, custom...)
	if err != nil {
		return nil, err
	}
	b.Logger.Info("answering from a snapshot, not from an API server", "summary", loaded.String())
	if b.around.watched == nil {
		nothing := func(context.Context) error { return nil }
		return &view{synced: func() bool { return true }, wait: nothing, catchUp: nothing}, nil
	}
	watcher, err := watch.New(b.Cluster, watch.Options{Logger: b.Logger, Registerer: b.Registry, Client: b.around.watched})
	if err != nil {
		return nil, err
	}
	return newWatched(watcher), nil
}

// newWatched is the view that a watch keeps up to date.
func newWatched(watcher *watch.Watcher) *view {
	return &view{
		components: []app.Component{app.Part("watch", app.Always, watcher.Run)}, synced: watcher.Synced, wait: watcher.WaitForSync,
		catchUp: func(leading context.Context) error { return catchUp(leading, watcher) },
	}
}

// catchUpTimeout is how long the watch may lag behind what the leader before has bound. A watch that lags
// for longer is broken, and a new process starts it again.
const catchUpTimeout = 30 * time.Second

// catchUp waits until the view has what the leader before has bound: a watch may be late, above all in a
// process that was frozen until a moment ago.
func catchUp(leading context.Context, watcher *watch.Watcher) error {
	if watcher.WaitForSync(leading) != nil {
		return nil // it was asked to stop
	}
	ctx, cancel := context.WithTimeout(leading, catchUpTimeout)
	defer cancel()
	if err := watcher.CatchUp(ctx); err != nil && leading.Err() == nil {
		return err
	}
	return nil
}

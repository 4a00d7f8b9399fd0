package server

import (
	"context"
	"math/rand/v2"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang"
	"muster.dev/muster/gang/deallocation"
	"muster.dev/muster/gang/finished"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/record"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/placement/requeue"
	"muster.dev/muster/placement/runtimes"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/placeholder"
	"muster.dev/muster/rescheduler/reservation"
	"muster.dev/muster/server/app"
	"muster.dev/muster/server/backfill"
	"muster.dev/muster/server/schedulerlease"
)

// ahead holds the parts that place pods before kube-scheduler asks about them. Without an API server there is
// nothing to tell the scheduler by, and no bind call to hold: then gangs are only shown, and nominator and requeuer
// are nil.
type ahead struct {
	gangs      *gang.Manager
	nominator  *nomination.Nominator
	requeuer   *requeue.Requeuer
	booker     *backfill.Booker
	components []app.Component
	// synced and wait report on the view, and on the parts that place pods.
	synced func() bool
	wait   func(ctx context.Context) error
}

func newAhead(b *base, a *api, v *view, profiles *predicates.Profiles) (*ahead, error) {
	if !a.live() {
		writer := nomination.NewWriter(b.Logger, b.Registry, clock.RealClock{}, nomination.DefaultWriteLimits(b.Config.ClientConnection.QPS))
		keeper := reservation.New(reservation.Options{Logger: b.Logger, Clock: clock.RealClock{}, Cluster: b.Cluster, Profiles: profiles})
		gangs := newGangs(b, a, keeper, nil, profiles, nil, writer)
		booker := newBooker(b, gangs, keeper, profiles, runtimes.NewHistory(b.Registry))
		return &ahead{gangs: gangs, booker: booker, synced: v.synced, wait: v.wait}, nil // none of them runs
	}
	client := nomination.NewClient(a.quick.Core.CoreV1().RESTClient(), clock.RealClock{})
	writer := nomination.NewWriter(b.Logger, b.Registry, clock.RealClock{}, nomination.DefaultWriteLimits(b.Config.ClientConnection.QPS))
	gangs := newGangs(b, a, v.reservations, v.placeholders.Blocks, profiles, client, writer)
	nominator := newNominator(b, v.reservations, v.placeholders, profiles, client, writer, gangs.Verbs.Complete)
	requeuer := requeue.New(requeue.Options{
		Registerer: b.Registry, Clock: clock.RealClock{}, Cluster: b.Cluster, Profiles: profiles,
		Alone:  func(pod *cluster.Pod) bool { return !membership.Left(pod) && gangs.Verbs.PlacesAlone(pod.UID) },
		Client: client, Writer: writer, Seed: rand.Uint64(),
	})
	history := runtimes.NewHistory(b.Registry)
	booker := newBooker(b, gangs, v.reservations, profiles, history)
	former, err := backfill.NewFormer(a.Core, history)
	if err != nil {
		return nil, err
	}
	devices := deallocation.New(deallocation.Options{
		Logger: b.Logger, Registerer: b.Registry, Clock: clock.RealClock{}, Cluster: b.Cluster, Client: a.Core.ResourceV1(),
	})
	pods, err := finished.Follow(a.Metadata, clock.RealClock{}, finishedOf(b), gangs.Finished)
	if err != nil {
		return nil, err
	}
	return &ahead{
		gangs: gangs, nominator: nominator, requeuer: requeuer, booker: booker,
		components: []app.Component{
			app.Part("finished pods", app.Always, func(ctx context.Context) {
				if v.wait(ctx) == nil { // who owns them is known
					pods.Run(ctx)
				}
			}),
			app.Part("pods that have succeeded", app.Always, func(ctx context.Context) {
				if booker.Enabled(ctx) {
					former.Run(ctx)
				}
			}),
			app.Part("writes ahead of calls", app.Leading, writer.Run),
			app.Part("gangs", app.Leading, gangs.Run),
			app.Part("devices of gangs that wait", app.Leading, devices.Run),
			app.Part("pods that are tried again", app.Leading, requeuer.Run),
			app.Part("status of gangs", app.Leading, func(ctx context.Context) { publish(ctx, b, a, gangs) }),
			app.Part("nominations", app.Leading, nominator.Run),
			app.Part("room in time", app.Leading, booker.Run),
			app.Part("the lease of kube-scheduler", app.Leading, func(ctx context.Context) {
				followScheduler(ctx, b, a, func() { gangs.SchedulerChanged(); v.placeholders.SchedulerChanged() })
			}),
		},
		synced: func() bool { return v.synced() && pods.Synced() },
		wait: func(ctx context.Context) error {
			if err := v.wait(ctx); err != nil {
				return err
			}
			return pods.WaitForSync(ctx)
		},
	}, nil
}

// finishedOf says which pods that have finished were members by who owns them.
func finishedOf(b *base) finished.Owned {
	return finished.Owned{
		Labels: b.Owners.Labels(),
		Of: func(pod *metav1.PartialObjectMetadata) (label string, group types.NamespacedName, member bool) {
			key, member := membership.Of(b.Cluster.Owners.Affiliated(&corev1.Pod{ObjectMeta: pod.ObjectMeta}))
			_, marked := membership.Marked(&corev1.Pod{ObjectMeta: pod.ObjectMeta})
			return key.Label, key.NamespacedName, member && !marked
		},
	}
}

// follow begins to follow pods, once the term of this process is known.
func (a *ahead) follow() {
	a.gangs.Follow()
	if a.nominator != nil {
		a.nominator.Follow()
	}
}

func newGangs(
	b *base, a *api, keeper *reservation.Keeper, blocked func(types.UID) bool, profiles *predicates.Profiles, client gang.Client,
	writer *nomination.Writer,
) *gang.Manager {
	options := gang.Options{
		Logger:     b.Logger,
		Registerer: b.Registry,
		Clock:      clock.RealClock{},
		Cluster:    b.Cluster,
		Profiles:   profiles,
		Client:     client,
		Writer:     writer,
		Recorder:   record.NewWriter(a.quick.Dynamic, clock.RealClock{}),
		Epoch: func() record.Epoch {
			term := a.Election.Term()
			return record.Epoch{Lease: term.Lease, Transitions: term.Transitions}
		},
		Reservations: keeper,
		Blocked:      blocked,
		Limits:       gang.LimitsOf(b.Config),
		Seed:         rand.Uint64(),
	}
	return gang.New(options)
}

func newBooker(
	b *base, gangs *gang.Manager, keeper *reservation.Keeper, profiles *predicates.Profiles, history *runtimes.History,
) *backfill.Booker {
	return backfill.New(backfill.Options{
		Logger: b.Logger, Registerer: b.Registry, Clock: clock.RealClock{}, Cluster: b.Cluster, Gangs: gangs.Observer, Room: keeper,
		History: history, After: b.Config.Gangs.ReserveAfter.Duration, Profiles: profiles,
		MaxIdle: float64(b.Config.Gangs.ReserveMaxIdlePercent) / 100, Tell: gangs.Publisher.Book,
	})
}

// followScheduler tells of each kube-scheduler that begins to lead, where room is kept by what the API has.
func followScheduler(ctx context.Context, b *base, a *api, changed func()) {
	if b.Config.PlacesGated() {
		schedulerlease.Follow(ctx, a.Core, b.Config.LeaderElection.Scheduler(), changed)
	}
}

// publish tells people about gangs until the context ends. Without the rights to it,
// gangs are started all the same.
func publish(ctx context.Context, b *base, a *api, gangs *gang.Manager) {
	if err := gangs.Publisher.Run(ctx, gang.Clients{Core: a.Leader.Core, Dynamic: a.Leader.Dynamic}); err != nil {
		b.Logger.Warn("the status of PodGroups is not written", "err", err)
	}
}

func newNominator(
	b *base, keeper *reservation.Keeper, placeholders *placeholder.Placeholders, profiles *predicates.Profiles,
	client *nomination.RESTClient, writer *nomination.Writer, before func(priority int32),
) *nomination.Nominator {
	limits := nomination.DefaultLimits(b.Config.Timeouts.Assume())
	limits.MinSaving = b.Config.Nomination.MinSaving.Duration
	return nomination.New(nomination.Options{
		Registerer: b.Registry, Clock: clock.RealClock{}, Cluster: b.Cluster, Profiles: profiles,
		Skip:         notAlone,
		Before:       before,
		Reservations: kept{keeper, b.Cluster, placeholders},
		Client:       client, Gates: client, Writer: writer, Limits: limits, Seed: rand.Uint64(),
	})
}

// notAlone reports whether a pod is of a gang, or of a group that kube-scheduler plans as one: neither is for the Nominator.
func notAlone(pod *cluster.Pod) bool {
	_, member := membership.Of(pod)
	return member || membership.Left(pod)
}

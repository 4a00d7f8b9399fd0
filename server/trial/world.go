package trial

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/operators"
	"muster.dev/muster/gang/operators/kinds"
	"muster.dev/muster/gang/record"
	"muster.dev/muster/loadaware"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/placement/runtimes"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/once"
	"muster.dev/muster/rescheduler/planner"
	"muster.dev/muster/rescheduler/policy"
	"muster.dev/muster/rescheduler/reservation"
	"muster.dev/muster/server/app"
	"muster.dev/muster/server/backfill"
)

// World is a private view of a cluster, for one trial by one goroutine.
type World struct {
	cluster  *cluster.Cluster
	owners   *operators.Set
	profiles *predicates.Profiles
	gangs    *gang.Observer
	booker   *backfill.Booker
	stamps   *runtimes.Clock
	history  *runtimes.History
	classes  *priorities
	evicts   config.Evict    // for a gang
	problem  planner.Problem // without a snapshot
}

// planTime bounds each search for pods to move.
const planTime = 10 * time.Second

// New returns the world of a cluster by a valid configuration. It reads an API server, or dumps, once.
func New(ctx context.Context, cfg *config.Configuration, from once.Source) (*World, error) {
	w := &World{
		owners: kinds.Set(cfg.Gangs.Kinds), history: runtimes.NewHistory(from.Registerer), stamps: runtimes.NewClock(clock.RealClock{}),
		classes: newPriorities(), evicts: cfg.Gangs.Evict,
	}
	from.Kinds = append(from.Kinds, w.classes.dumped())
	w.cluster = cluster.New(cluster.Options{
		Logger: from.Logger, Registerer: from.Registerer, AssumeTTL: time.Hour, Affiliator: w.owners,
	})
	if err := from.Fill(ctx, cfg, w.cluster, w.owners); err != nil {
		return nil, err
	}
	if err := w.learn(ctx, &from); err != nil {
		return nil, err
	}
	profiles, err := app.NewProfiles(app.ProfileOptions{
		Registerer: from.Registerer, Cluster: w.cluster, Config: cfg,
		Load: loadaware.Options{Logger: from.Logger, Metrics: loadaware.NewMetrics(from.Registerer)},
	})
	if err != nil {
		return nil, err
	}
	w.profiles = profiles.InForce()
	w.join(cfg, from.Logger, from.Registerer)
	w.booker.Once()
	return w, nil
}

// learn learns of priority classes, and how long former pods ran that the API server has still.
func (w *World) learn(ctx context.Context, from *once.Source) error {
	if from.RESTConfig == nil {
		return nil
	}
	client, err := kubernetes.NewForConfig(cluster.ClientConfig(from.RESTConfig))
	if err != nil {
		return fmt.Errorf("connect to the API server: %w", err)
	}
	if err := w.classes.learn(ctx, client, from.Logger); err != nil {
		return err
	}
	former, err := backfill.NewFormer(client, w.history)
	if err != nil {
		return err
	}
	return former.Once(ctx)
}

// join makes the parts that decide. None of them runs.
func (w *World) join(cfg *config.Configuration, log *slog.Logger, registry prometheus.Registerer) {
	now := clock.RealClock{}
	keeper := reservation.New(reservation.Options{Logger: log, Clock: now, Cluster: w.cluster, Profiles: w.profiles})
	gangs := gang.New(gang.Options{
		Logger: log, Registerer: registry, Clock: now, Cluster: w.cluster, Profiles: w.profiles, Reservations: keeper,
		Writer:   nomination.NewWriter(log, registry, now, nomination.DefaultWriteLimits(1)),
		Recorder: record.NewWriter(nil, now), Epoch: func() record.Epoch { return record.Epoch{} },
		Limits: gang.LimitsOf(cfg), Seed: 1,
	})
	gangs.Follow()
	w.gangs = gangs.Observer
	w.booker = backfill.New(backfill.Options{
		Logger: log, Registerer: registry, Clock: now, Cluster: w.cluster, Gangs: gangs.Observer, Room: keeper,
		History: w.history, After: cfg.Gangs.ReserveAfter.Duration, Profiles: w.profiles,
	})
	w.problem = planner.Problem{
		Gangs: membership.BoundsOf(&cfg.Gangs), Rules: policy.RulesOf(&cfg.Rescheduler), Limits: planner.Limits{Time: planTime}, Clock: now,
	}
	for _, store := range w.profiles.Stores() {
		w.problem.Profiles = append(w.problem.Profiles, store.Profile)
	}
}

// ends returns the ends that are expected of pods that run.
func (w *World) ends() runtimes.Ends { return runtimes.See(w.cluster.Snapshot(), w.stamps, w.history) }

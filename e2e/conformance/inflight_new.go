package conformance

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/inspect"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/predicates"
	"muster.dev/muster/server/extender"
)

// assumeTTL is how long a pod counts on a node that muster has found for it.
const assumeTTL = time.Minute

// NewInterleaving makes one whose cluster has nodes, objects and pods, all shown to muster by its watch. What it
// starts ends with the context.
func NewInterleaving(ctx context.Context, seed uint64) (*Interleaving, error) {
	s, modes := newSource(seed), Modes()
	registry := prometheus.NewRegistry()
	c := newCluster(registry, assumeTTL)
	i := &Interleaving{
		Mode: modes[seed%uint64(len(modes))], source: s, cluster: c, api: newAPIServer(c),
		during: map[string]func(){}, offers: map[types.UID]*offered{}, doubts: map[types.UID]*offered{},
	}
	i.draw()
	if err := i.open(ctx, registry, seed); err != nil {
		return nil, err
	}
	for n := range 1 + s.upTo(mostRivalled-1) {
		i.api.setNode(i.drawNode(nodeName(n)))
	}
	for range s.upTo(mostRivalled) {
		i.create()
	}
	if err := set(c, i.scenario.Objects.all()...); err != nil {
		return nil, err
	}
	if err := i.showNodes(all); err != nil {
		return nil, err
	}
	return i, i.showPods(all)
}

// open opens the verbs of muster over the cluster, and places pods ahead if the mode says so.
func (i *Interleaving) open(ctx context.Context, registry *prometheus.Registry, seed uint64) error {
	profiles, err := i.profiles(registry)
	if err != nil {
		return err
	}
	client := &apiClient{
		api: i.api, taken: i.taken, doubted: i.doubted, known: func(pod *corev1.Pod) { delete(i.doubts, pod.UID) },
		answer: func() bindingAnswer {
			if i.source.chance(60) {
				return bindingMade
			}
			return one(i.source, bindingDenied, bindingLost, bindingLost, bindingMadeUnheard)
		},
		cuts: func() bool { return i.source.chance(60) },
	}
	options := verbOptions(registry, i.cluster, profiles)
	options.Client, options.BindTime = client, assumeTTL/2
	options.Pick = func(n int) int { return i.source.upTo(n - 1) }
	if i.Mode.Nominates {
		limits := nomination.DefaultLimits(assumeTTL)
		limits.MinBacklog, limits.MinSaving = 1, 0
		writer := nomination.NewWriter(options.Logger, registry, clock.RealClock{}, nomination.DefaultWriteLimits(500))
		nominator := nomination.New(nomination.Options{
			Registerer: registry, Clock: clock.RealClock{}, Cluster: i.cluster, Profiles: profiles, Client: client, Writer: writer,
			Limits: limits, Seed: seed, Skip: func(*cluster.Pod) bool { return false },
		})
		nominator.Follow()
		options.Nominations = nominator
		go writer.Run(ctx)
		go nominator.Run(ctx)
	}
	i.verbs = inspect.Router(extender.New(options).Endpoints()...)
	return nil
}

// profiles are the one of the scenario, whose pods let others in while they are judged.
func (i *Interleaving) profiles(registry *prometheus.Registry) (*predicates.Profiles, error) {
	cfg, err := i.scenario.Profile.config()
	if err != nil {
		return nil, err
	}
	cfg.NodeSelection, cfg.Offload = i.Mode.Selection, i.Mode.Offload
	cfg.Plugins.Filter.Enabled = append(cfg.Plugins.Filter.Enabled, config.Plugin{Name: config.LoadAware})
	store, err := newStore(cfg, i.cluster, 1<<20, registry, predicates.Plugin{
		Name: config.LoadAware, Filter: func(predicates.Verdict) predicates.Predicate { return &pause{of: i} },
		Reads: func(*cluster.Pod) string { return "" },
	})
	if err != nil {
		return nil, err
	}
	return predicates.NewProfiles(store), nil
}

// pause is a predicate that is for every node. While a pod is judged it lets happen what was drawn to. Of the pods of a
// class only the first one is judged.
type pause struct{ of *Interleaving }

// Name implements predicates.Predicate.
func (p *pause) Name() string { return config.LoadAware }

// Aspects implements predicates.Predicate.
func (p *pause) Aspects() cluster.Aspect { return 0 }

// For implements predicates.Predicate.
func (p *pause) For(pod *cluster.Pod, _ *cluster.Snapshot) predicates.Check {
	if happens := p.of.during[pod.Name]; happens != nil {
		happens()
	}
	return nil
}

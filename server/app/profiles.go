package app

import (
	"fmt"
	"math"
	"reflect"
	"runtime/debug"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/loadaware"
	"muster.dev/muster/predicates"
)

// ProfileOptions make profiles. Options are required unless they say otherwise.
type ProfileOptions struct {
	Registerer prometheus.Registerer
	Cluster    *cluster.Cluster
	// Config has the profiles that are in force first.
	Config *config.Configuration
	// Load makes the plugin LoadAware.
	Load loadaware.Options
	// SchedulerScores has each profile give kube-scheduler's scores, too. They tell where it would rather
	// have a pod.
	SchedulerScores bool
	// Follow is told of the profiles that are put in force. It may be nil.
	Follow func(profiles []config.Profile)
}

// Profiles makes the verdict stores of the profiles of a configuration, and puts them in force.
type Profiles struct {
	inForce *predicates.Profiles
	options ProfileOptions
	metrics *predicates.StoreMetrics
	bytes   int64                     // that the verdicts of each may take
	configs map[string]config.Profile // in force, by scheduler name
}

// NewProfiles returns the profiles of the options' configuration, in force.
func NewProfiles(o ProfileOptions) (*Profiles, error) {
	if o.Follow == nil {
		o.Follow = func([]config.Profile) {}
	}
	p := &Profiles{
		inForce: predicates.NewProfiles(), options: o, metrics: predicates.NewStoreMetrics(o.Registerer),
		bytes: verdictBytes(debug.SetMemoryLimit(-1), len(o.Config.Profiles)),
	}
	return p, p.Put(o.Config.Profiles)
}

// InForce is the registry of the profiles in force. It is the same one whatever is put.
func (p *Profiles) InForce() *predicates.Profiles { return p.inForce }

// Put puts profiles in force, all of them or, with an error, none. A profile that has not
// changed keeps what is remembered of its pods. It is not for concurrent use.
func (p *Profiles) Put(profiles []config.Profile) error {
	configs := map[string]config.Profile{}
	var all []*predicates.VerdictStore
	for i := range profiles {
		cfg := profiles[i]
		configs[cfg.SchedulerName] = cfg
		if before, known := p.configs[cfg.SchedulerName]; known && reflect.DeepEqual(before, cfg) {
			all = append(all, p.inForce.Of(cfg.SchedulerName))
			continue
		}
		store, err := p.store(&cfg)
		if err != nil {
			return fmt.Errorf("profile %q: %w", cfg.SchedulerName, err)
		}
		all = append(all, store)
	}
	before := p.inForce.Stores()
	p.inForce.Replace(all...)
	p.configs = configs
	p.options.Follow(profiles)
	for _, store := range before {
		if !slices.Contains(all, store) {
			store.Retire()
		}
	}
	return nil
}

// store makes the verdict store of a profile.
func (p *Profiles) store(cfg *config.Profile) (*predicates.VerdictStore, error) {
	if p.options.SchedulerScores {
		cfg = cfg.WithSchedulerScores()
	}
	var plugins []predicates.Plugin
	if loadaware.Runs(cfg) { // it is not of the package predicates
		plugins = append(plugins, loadaware.New(cfg, p.options.Load).Plugin())
	}
	profile, err := predicates.NewProfile(cfg, plugins...)
	if err != nil {
		return nil, err
	}
	return predicates.NewVerdictStore(profile, p.options.Cluster, p.bytes, p.metrics, clock.RealClock{}), nil
}

// verdictBytes returns how much memory the verdicts of each of some profiles may take: a quarter of what the Go runtime
// keeps to (GOMEMLIMIT) for all of them, as the view of the cluster takes most of the rest, and 256 MiB for each where it
// keeps to nothing.
func verdictBytes(limit int64, profiles int) int64 {
	if limit == math.MaxInt64 {
		return 256 << 20
	}
	return limit / 4 / int64(max(profiles, 1))
}

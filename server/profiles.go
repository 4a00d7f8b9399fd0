package server

import (
	"fmt"
	"log/slog"
	"reflect"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config/v1alpha2"
	"muster.dev/muster/cluster"
	"muster.dev/muster/loadaware"
	"muster.dev/muster/loadaware/source"
	"muster.dev/muster/predicates"
)

// stores makes the verdict stores of the profiles of a configuration.
type stores struct {
	profiles *predicates.Profiles
	cluster  *cluster.Cluster
	metrics  *predicates.StoreMetrics
	load     loadaware.Options
	keeper   *source.Keeper // of usage; nil without a source
	maxBytes int64
	configs  map[string]v1alpha2.Profile // in force, by scheduler name
}

func newStores(log *slog.Logger, c *cluster.Cluster, r prometheus.Registerer, config *v1alpha2.MusterConfiguration) (*stores, error) {
	s := &stores{
		profiles: predicates.NewProfiles(), cluster: c,
		metrics:  predicates.NewStoreMetrics(r),
		load:     loadaware.Options{Logger: log, Metrics: loadaware.NewMetrics(r)},
		maxBytes: config.VerdictStore.MaxBytes,
	}
	return s, s.put(config.Profiles)
}

// put puts profiles in force, all of them or, with an error, none. A profile that has not
// changed keeps what is remembered of its pods. It is not for concurrent use.
func (s *stores) put(profiles []v1alpha2.Profile) error {
	configs := map[string]v1alpha2.Profile{}
	var all []*predicates.VerdictStore
	for i := range profiles {
		config := profiles[i]
		configs[config.SchedulerName] = config
		if before, known := s.configs[config.SchedulerName]; known && reflect.DeepEqual(before, config) {
			all = append(all, s.profiles.Of(config.SchedulerName))
			continue
		}
		profile, err := predicates.NewProfile(&config, s.plugins(&config)...)
		if err != nil {
			return fmt.Errorf("profile %q: %w", config.SchedulerName, err)
		}
		all = append(all, predicates.NewVerdictStore(profile, s.cluster, s.maxBytes, s.metrics, clock.RealClock{}))
	}
	before := s.profiles.Stores()
	s.profiles.Replace(all...)
	s.configs = configs
	if s.keeper != nil {
		s.keeper.Expire(loadaware.Expirations(profiles))
	}
	for _, store := range before {
		if !slices.Contains(all, store) {
			store.Retire()
		}
	}
	return nil
}

// plugins are those of a profile that are not of the package predicates.
func (s *stores) plugins(config *v1alpha2.Profile) []predicates.Plugin {
	if !loadaware.Runs(config) {
		return nil
	}
	return []predicates.Plugin{loadaware.New(config, s.load).Plugin()}
}

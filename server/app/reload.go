package app

import (
	"context"
	"log/slog"
	"reflect"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/config/v1alpha2"
)

// Reloader puts the profiles of the configuration file in force when the file changes, and has the log follow it. What
// is not valid, or changes what needs a restart, is refused as a whole, and the profiles in
// force stay. What the process does not use may change as it likes.
type Reloader struct {
	log      *slog.Logger
	clock    clock.WithTicker
	file     fileLook
	profiles *Profiles
	unused   []string
	metrics  *reloadMetrics

	mu      sync.Mutex
	inForce *config.Configuration
	since   time.Time
	refused *Refusal // nil while the file is in force
}

// Refusal is a content of the configuration file that is not in force.
type Refusal struct {
	At       time.Time `json:"at"`
	Errors   []string  `json:"errors"`
	Document string    `json:"document"`
}

// ReloadOptions are what a Reloader is made with. All are required but Unused.
type ReloadOptions struct {
	Logger     *slog.Logger
	Clock      clock.WithTicker
	Registerer prometheus.Registerer
	File       ConfigFile
	// Config is in force, with its Profiles.
	Config   *config.Configuration
	Profiles *Profiles
	// Unused are the sections of the configuration that are for other processes, as rescheduler is.
	Unused []string
}

// NewReloader returns a Reloader that does nothing until it is run.
func NewReloader(o ReloadOptions) *Reloader {
	return &Reloader{
		log: o.Logger, clock: o.Clock, file: fileLook{ConfigFile: o.File}, profiles: o.Profiles, unused: o.Unused,
		metrics: newReloadMetrics(o.Registerer), inForce: o.Config, since: o.Clock.Now(),
	}
}

// Run follows the file until the context ends.
func (r *Reloader) Run(ctx context.Context) {
	if r.file.Path == "" {
		return
	}
	tick := r.clock.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C():
			r.look()
		}
	}
}

// look reads the file, and decides if it has changed since the last look.
func (r *Reloader) look() {
	content, changed, err := r.file.changed()
	if !changed {
		return
	}
	if err == nil {
		err = r.apply(content)
	}
	if err != nil {
		r.refuse(err, content)
	}
}

// apply puts a content of the file in force.
func (r *Reloader) apply(content []byte) error {
	cfg, warnings, err := r.file.Decode(content)
	if err != nil {
		return err
	}
	fixed, err := differences(r.inForce, cfg, append([]string{"profiles", "logging"}, r.unused...))
	if err != nil {
		return err
	}
	if len(fixed) > 0 {
		return config.InSource(r.file.Path, utilerrors.NewAggregate(fixed))
	}
	replaced, err := r.replaceProfiles(cfg.Profiles, warnings)
	if err != nil {
		return err
	}
	changed := r.file.followLevel(r.log, cfg.Logging.Level) || replaced
	if changed {
		r.metrics.reloads.WithLabelValues(reloadApplied).Inc()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.inForce = cfg; changed {
		r.since = r.clock.Now()
	} else if r.refused != nil {
		r.log.Info("the configuration file is again what is in force", "file", r.file.Path)
	}
	r.refused = nil
	r.metrics.refused.Set(0)
	return nil
}

// replaceProfiles puts profiles in force, and says whether they are others than before.
func (r *Reloader) replaceProfiles(profiles []config.Profile, warnings []string) (replaced bool, err error) {
	before := r.inForce.Profiles
	if reflect.DeepEqual(before, profiles) {
		return false, nil
	}
	if err := r.profiles.Put(profiles); err != nil {
		return false, err
	}
	for _, warning := range warnings {
		r.log.Warn("configuration", "warning", warning)
	}
	r.log.Info("profiles of the changed configuration are in force", "file", r.file.Path, "before", names(before), "now", names(profiles))
	return true, nil
}

// refuse keeps a content of the file out of force.
func (r *Reloader) refuse(err error, content []byte) {
	refused := &Refusal{At: r.clock.Now(), Errors: r.file.logRefused(r.log, err), Document: string(content)}
	r.metrics.reloads.WithLabelValues(reloadRefused).Inc()
	r.metrics.refused.Set(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused = refused
}

// Configz shows people the configuration.
type Configz struct {
	Config v1alpha2.MusterConfiguration `json:"config"`
	// Since is when it was put in force.
	Since   time.Time `json:"since"`
	Refused *Refusal  `json:"refused,omitempty"`
}

// Show tells which configuration is in force, and what of its file is refused.
func (r *Reloader) Show() Configz {
	r.mu.Lock()
	defer r.mu.Unlock()
	return Configz{Config: v1alpha2.Of(r.inForce), Since: r.since, Refused: r.refused}
}

// File is the path of the configuration file, "" when there is none.
func (r *Reloader) File() string { return r.file.Path }

func names(profiles []config.Profile) []string {
	var all []string
	for _, profile := range profiles {
		all = append(all, profile.SchedulerName)
	}
	return all
}

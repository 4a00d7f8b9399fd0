package server

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"reflect"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config/v1alpha2"
)

// lookEvery is how often the configuration file is read. It is small, and its content says
// whether it changed, whatever the ways in which it is replaced: a ConfigMap is by moving
// symbolic links.
const lookEvery = time.Second

// ConfigFile is the file of which the configuration was read.
type ConfigFile struct {
	// Path of the file, "" when there is none.
	Path string
	// Decode returns the valid configuration that its content stands for, with what flags
	// change of it.
	Decode func(content []byte) (config *v1alpha2.MusterConfiguration, warnings []string, err error)
}

// reloader puts the profiles of the configuration file in force when the file changes. What
// is not valid, or changes what needs a restart, is refused as a whole, and the profiles in
// force stay.
type reloader struct {
	log     *slog.Logger
	clock   clock.WithTicker
	file    ConfigFile
	stores  *stores
	metrics *reloadMetrics
	content []byte // at the last look
	failure string // to read it, at the last look

	mu      sync.Mutex
	inForce *v1alpha2.MusterConfiguration
	since   time.Time
	refused *refusal // nil while the file is what is in force
}

// refusal is a content of the configuration file that is not in force.
type refusal struct {
	At       time.Time `json:"at"`
	Errors   []string  `json:"errors"`
	Document string    `json:"document"`
}

func newReloader(
	log *slog.Logger, now clock.WithTicker, r prometheus.Registerer, file ConfigFile, config *v1alpha2.MusterConfiguration, s *stores,
) *reloader {
	return &reloader{log: log, clock: now, file: file, stores: s, metrics: newReloadMetrics(r), inForce: config, since: now.Now()}
}

// run follows the file until the context ends.
func (r *reloader) run(ctx context.Context) {
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
func (r *reloader) look() {
	content, err := os.ReadFile(r.file.Path)
	failure := ""
	if err != nil {
		failure = err.Error()
	}
	if failure == r.failure && bytes.Equal(content, r.content) && r.content != nil {
		return
	}
	r.failure, r.content = failure, append([]byte{}, content...)
	if err == nil {
		err = r.apply(content)
	}
	if err != nil {
		r.refuse(err, content)
	}
}

// apply puts the profiles of a content of the file in force.
func (r *reloader) apply(content []byte) error {
	config, warnings, err := r.file.Decode(content)
	if err != nil {
		return err
	}
	fixed, err := needRestart(r.inForce, config)
	if err != nil {
		return err
	}
	if len(fixed) > 0 {
		return v1alpha2.InSource(r.file.Path, utilerrors.NewAggregate(fixed))
	}
	before := r.inForce
	if changed := !reflect.DeepEqual(before.Profiles, config.Profiles); changed {
		if err := r.stores.put(config.Profiles); err != nil {
			return err
		}
		for _, warning := range warnings {
			r.log.Warn("configuration", "warning", warning)
		}
		r.metrics.reloads.WithLabelValues(reloadApplied).Inc()
		r.log.Info(
			"profiles of the changed configuration are in force",
			"file",
			r.file.Path,
			"before",
			names(before.Profiles),
			"now",
			names(config.Profiles),
		)
	} else {
		config = before
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if config != before {
		r.inForce, r.since = config, r.clock.Now()
	} else if r.refused != nil {
		r.log.Info("the configuration file is again what is in force", "file", r.file.Path)
	}
	r.refused = nil
	r.metrics.refused.Set(0)
	return nil
}

func (r *reloader) refuse(err error, content []byte) {
	refused := &refusal{At: r.clock.Now(), Document: string(content)}
	if all, ok := errors.AsType[utilerrors.Aggregate](err); ok {
		for _, e := range all.Errors() {
			refused.Errors = append(refused.Errors, e.Error())
		}
	} else {
		refused.Errors = []string{err.Error()}
	}
	for _, e := range refused.Errors {
		r.log.Error("changed configuration refused, the one before stays in force", "file", r.file.Path, "err", e)
	}
	r.metrics.reloads.WithLabelValues(reloadRefused).Inc()
	r.metrics.refused.Set(1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.refused = refused
}

// configz is what people are shown of the configuration.
type configz struct {
	Config *v1alpha2.MusterConfiguration `json:"config"`
	// Since is when it was put in force.
	Since   time.Time `json:"since"`
	Refused *refusal  `json:"refused,omitempty"`
}

func (r *reloader) show() configz {
	r.mu.Lock()
	defer r.mu.Unlock()
	return configz{Config: r.inForce, Since: r.since, Refused: r.refused}
}

func names(profiles []v1alpha2.Profile) []string {
	var all []string
	for _, profile := range profiles {
		all = append(all, profile.SchedulerName)
	}
	return all
}

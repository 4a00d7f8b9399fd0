package app

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"

	"muster.dev/muster/api/config"
)

// lookEvery is how often the configuration file is read. It is small, and its content says
// whether it changed, whatever the ways in which it is replaced: a ConfigMap is by moving
// symbolic links.
const lookEvery = time.Second

// ConfigFile is the file that holds the configuration.
type ConfigFile struct {
	// Path of the file, "" when there is none.
	Path string
	// Decode returns the valid configuration that its content stands for, with what flags
	// change of it.
	Decode func(content []byte) (cfg *config.Configuration, warnings []string, err error)
	// LogLevel is the level of the process's log, which follows logging.level; nil for none.
	LogLevel *slog.LevelVar
}

// fileLook is a configuration file as it was at the last look.
type fileLook struct {
	ConfigFile

	content []byte
	failure string // to read it
}

// changed reads the file. It reports whether that has another result than the last time, which is the content or an error.
func (f *fileLook) changed() (content []byte, changed bool, err error) {
	content, err = os.ReadFile(f.Path)
	failure := ""
	if err != nil {
		failure = err.Error()
	}
	if failure == f.failure && bytes.Equal(content, f.content) && f.content != nil {
		return nil, false, nil
	}
	f.failure, f.content = failure, append([]byte{}, content...)
	return content, true, err
}

// followLevel sets the log level to that of a configuration just put in force, and reports whether the level changed. The
// change is logged, after the switch, if either level lets info lines through.
func (f *fileLook) followLevel(log *slog.Logger, now config.LogLevel) bool {
	if f.LogLevel == nil || f.LogLevel.Level() == now.Level() {
		return false
	}
	before := f.LogLevel.Level()
	f.LogLevel.Set(now.Level())
	if min(before, now.Level()) <= slog.LevelInfo {
		slog.New(anyLevel{log.Handler()}).Info("another level is logged", "file", f.Path, "before", before, "now", now.Level())
	}
	return true
}

// anyLevel writes lines of every level.
type anyLevel struct{ slog.Handler }

// Enabled implements [slog.Handler].
func (anyLevel) Enabled(context.Context, slog.Level) bool { return true }

// logRefused says why a content of the file is not put in force, a line for each reason, and returns these.
func (f *fileLook) logRefused(log *slog.Logger, err error) (why []string) {
	why = []string{err.Error()}
	if all, ok := errors.AsType[utilerrors.Aggregate](err); ok {
		why = nil
		for _, e := range all.Errors() {
			why = append(why, e.Error())
		}
	}
	for _, reason := range why {
		log.Error("changed configuration refused, the one before stays in force", "file", f.Path, "err", reason)
	}
	return why
}

// Results of a change of the configuration file, as they stand in metrics.
const (
	reloadApplied = "applied"
	reloadRefused = "refused"
)

type reloadMetrics struct {
	reloads *prometheus.CounterVec
	refused prometheus.Gauge
}

func newReloadMetrics(r prometheus.Registerer) *reloadMetrics {
	m := &reloadMetrics{
		reloads: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_config_reloads_total",
			Help: "Changes of the configuration file, by result: applied, or refused as not valid or in need of a restart.",
		}, []string{"result"}),
		refused: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "muster_config_refused",
			Help: "1 while the configuration file is refused and another configuration is in force, else 0.",
		}),
	}
	for _, result := range []string{reloadApplied, reloadRefused} {
		m.reloads.WithLabelValues(result)
	}
	r.MustRegister(m.reloads, m.refused)
	return m
}

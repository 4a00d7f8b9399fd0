package app

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
)

// Restarter runs a process by the configuration in a file, and starts another one for each later valid content: the old
// process stops in good order and gives its lease back before the next one starts. So no part of the process has to
// know how to change. A content that is invalid, or that no process can start with, is refused, and the one before
// stays in force. A change of the log level alone restarts nothing.
type Restarter struct {
	Logger     *slog.Logger
	Clock      clock.WithTicker
	Registerer prometheus.Registerer
	File       ConfigFile
	// Config is the first content of the file.
	Config *config.Configuration
	// Unused are the sections of the configuration that are for other processes: they may change as they like.
	Unused []string
	// New makes a process by a configuration, to be run.
	New func(*config.Configuration) (*Process, error)
}

// Run runs processes until the context ends or one of them fails.
func (a *Restarter) Run(ctx context.Context) error {
	l := &lives{Restarter: a, metrics: newReloadMetrics(a.Registerer), file: fileLook{ConfigFile: a.File}, inForce: a.Config}
	process, err := a.New(a.Config)
	for err == nil {
		var next *config.Configuration
		if next, err = l.live(ctx, process); next == nil || err != nil {
			return err
		}
		if process, err = a.New(next); err != nil {
			l.refuse(err)
			l.again = a.Clock.Now().Add(tryAgain)
			process, err = a.New(l.inForce)
			continue
		}
		l.inForce = next
		l.file.followLevel(l.Logger, next.Logging.Level)
		l.metrics.reloads.WithLabelValues(reloadApplied).Inc()
	}
	return err
}

// lives are the processes of a Restarter, one after the other.
type lives struct {
	*Restarter

	metrics *reloadMetrics
	file    fileLook
	inForce *config.Configuration
	again   time.Time // when a configuration is tried once more by which no process could begin; zero for none
}

// tryAgain is how long after a process could not begin it is tried again: a port may have been taken for a moment. The
// one that runs has to stop for that.
const tryAgain = 5 * time.Minute

// live runs a process until the context ends, it fails, or there is another configuration, which it returns.
func (l *lives) live(ctx context.Context, process *Process) (next *config.Configuration, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	found := make(chan *config.Configuration, 1)
	go func() {
		defer stop()
		found <- l.await(ctx)
	}()
	err = process.Run(ctx)
	stop()
	return <-found, err
}

// await returns the next configuration of the file by which a process would be another one; nil when the context ends.
func (l *lives) await(ctx context.Context) *config.Configuration {
	if l.file.Path == "" {
		<-ctx.Done()
		return nil
	}
	tick := l.Clock.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C():
			if next := l.look(); next != nil {
				return next
			}
		}
	}
}

// look reads the file. It returns its configuration if by that a process would be another one.
func (l *lives) look() *config.Configuration {
	if !l.again.IsZero() && !l.Clock.Now().Before(l.again) {
		l.file.content = nil
	}
	content, changed, err := l.file.changed()
	if !changed {
		return nil
	}
	l.again = time.Time{}
	var next *config.Configuration
	var warnings []string
	var others []error
	if err == nil {
		next, warnings, err = l.file.Decode(content)
	}
	if err == nil {
		others, err = differences(l.inForce, next, append([]string{"logging"}, l.Unused...))
	}
	if err != nil {
		l.refuse(err)
		return nil
	}
	l.metrics.refused.Set(0)
	if len(others) == 0 {
		l.inForce = next
		if l.file.followLevel(l.Logger, next.Logging.Level) {
			l.metrics.reloads.WithLabelValues(reloadApplied).Inc()
		}
		return nil
	}
	for _, warning := range warnings {
		l.Logger.Warn("configuration", "warning", warning)
	}
	l.Logger.Info("the configuration has changed: the process restarts", "file", l.file.Path)
	return next
}

func (l *lives) refuse(err error) {
	l.file.logRefused(l.Logger, err)
	l.metrics.reloads.WithLabelValues(reloadRefused).Inc()
	l.metrics.refused.Set(1)
}

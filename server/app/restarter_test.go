package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/config/document"
)

// living is a process that restarts by a file, and its outcome.
type living struct {
	*testing.T

	path     string
	diary    diary
	fails    atomic.Pointer[string] // the mode by which no process can begin
	level    slog.LevelVar          // that is logged
	registry *prometheus.Registry
	stop     context.CancelFunc
	ended    chan error
}

// live runs it. Each process notes its rescheduler.mode.
func live(t *testing.T, content string) *living {
	l := &living{T: t, path: filepath.Join(t.TempDir(), "muster.yaml"), registry: prometheus.NewRegistry(), ended: make(chan error, 1)}
	l.write(content)
	cfg, _, err := document.Load(l.path)
	if err != nil {
		t.Fatal(err)
	}
	synced := make(chan struct{})
	close(synced)
	restarter := Restarter{
		Logger: slog.New(slog.DiscardHandler), Clock: clock.RealClock{}, Registerer: l.registry, Config: cfg, Unused: []string{"serving"},
		File: ConfigFile{Path: l.path, Decode: func(content []byte) (*config.Configuration, []string, error) {
			return document.DecodeFrom("muster.yaml", content)
		}, LogLevel: &l.level},
		New: func(cfg *config.Configuration) (*Process, error) {
			mode := string(cfg.Rescheduler.Mode)
			if fails := l.fails.Load(); fails != nil && mode == *fails {
				return nil, errors.New("the port is taken")
			}
			process := newAlone(t, &l.diary, synced)
			process.Components, process.Stops, process.Begin = []Component{l.diary.part(mode, Leading)}, nil, nil
			if cfg.Rescheduler.MakeRoom.PendingFor.Duration == time.Hour {
				broken := func(context.Context) error { return errors.New("broken") }
				process.Components = append(process.Components, Component{Name: "broken", Run: broken})
			}
			return process, nil
		},
	}
	ctx, stop := context.WithCancel(t.Context())
	l.stop = stop
	go func() { l.ended <- restarter.Run(ctx) }()
	l.passes()
	return l
}

func (l *living) write(content string) {
	l.Helper()
	if err := os.WriteFile(l.path, []byte(header+content), 0o600); err != nil {
		l.Fatal(err)
	}
}

// passes is when the file has been looked at and all is quiet.
func (l *living) passes() {
	<-time.After(2 * lookEvery)
	synctest.Wait()
}

func (l *living) want(what string, applied, refused, isRefused int, lines ...string) {
	l.Helper()
	if diff := cmp.Diff(lines, l.diary.read()); diff != "" {
		l.Errorf("%s (-want +got):\n%s", what, diff)
	}
	text := fmt.Sprintf(`# HELP muster_config_refused 1 while the configuration file is refused and another configuration is in force, else 0.
# TYPE muster_config_refused gauge
muster_config_refused %d
# HELP muster_config_reloads_total Changes of the configuration file, by result: applied, or refused as not valid or in need of a restart.
# TYPE muster_config_reloads_total counter
muster_config_reloads_total{result="applied"} %d
muster_config_reloads_total{result="refused"} %d
`, isRefused, applied, refused)
	if err := testutil.GatherAndCompare(l.registry, strings.NewReader(text)); err != nil {
		l.Errorf("%s: %v", what, err)
	}
}

func TestAProcessBeginsAnewByAChangedFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := live(t, "rescheduler: {mode: DryRun}\n")
		l.want("at first", 0, 0, 0, "DryRun runs")
		l.write("# the same\nrescheduler: {mode: DryRun}\n")
		l.passes()
		l.want("when only comments changed", 0, 0, 0)
		l.write("rescheduler: {mode: DryRun}\nserving: {listen: \"127.0.0.1:1\"}\n")
		l.passes()
		l.want("when something changed that it does not use", 0, 0, 0)
		l.write("rescheduler: {mode: Auto}\n")
		l.passes()
		l.want("when the mode changed", 1, 0, 0, "DryRun ends", "Auto runs")
		l.write("rescheduler: {mode: Boldly}\n")
		l.passes()
		l.want("when the file is not valid", 1, 1, 1)
		l.write("rescheduler: {mode: Auto}\n")
		l.passes()
		l.want("when it is as it was", 1, 1, 0)
		l.fails.Store(new("Approve"))
		l.write("rescheduler: {mode: Approve}\n")
		l.passes()
		l.want("when no process can begin by it", 1, 2, 1, "Auto ends", "Auto runs")
		l.fails.Store(nil)
		<-time.After(tryAgain)
		l.want("when one can some time later", 2, 2, 0, "Auto ends", "Approve runs")
		if err := os.Remove(l.path); err != nil {
			t.Fatal(err)
		}
		l.passes()
		l.want("when the file is gone", 2, 3, 1)
		l.write("profiles: [{schedulerName: other}]\nrescheduler: {mode: DryRun}\n")
		l.passes()
		l.want("when profiles changed as well", 3, 3, 0, "Approve ends", "DryRun runs")
		l.stop()
		if err := <-l.ended; err != nil {
			t.Error(err)
		}
		l.want("when it is asked to stop", 3, 3, 0, "DryRun ends")
	})
}

func TestAProcessThatFailsDoesNotBeginAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := live(t, "rescheduler: {mode: DryRun}\n")
		l.write("rescheduler: {mode: Auto, makeRoom: {pendingFor: 1h}}\n")
		if err := <-l.ended; err == nil || !strings.Contains(err.Error(), "broken") {
			t.Errorf("error %v", err)
		}
		l.stop()
	})
}

func TestAProcessWithoutAFileRunsUntilItIsAskedToStop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var d diary
		synced := make(chan struct{})
		close(synced)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- (&Restarter{
				Logger: slog.New(slog.DiscardHandler), Clock: clock.RealClock{}, Registerer: prometheus.NewRegistry(), Config: config.Default(),
				New: func(*config.Configuration) (*Process, error) {
					process := newAlone(t, &d, synced)
					process.Components, process.Stops, process.Begin = []Component{d.part("it", Always)}, nil, nil
					return process, nil
				},
			}).Run(ctx)
		}()
		<-time.After(time.Minute)
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if diff := cmp.Diff([]string{"it runs", "it ends"}, d.read()); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}

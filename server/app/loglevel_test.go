package app

import (
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

func TestTheLogFollowsTheFile(t *testing.T) {
	r := newReloading(t, header)
	var level slog.LevelVar
	r.reloader.file.LogLevel = &level
	r.reloader.log = slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: &level}))
	steps := []struct {
		name, content    string
		level            slog.Level
		applied, refused float64
	}{
		{"a lower level", "logging: {level: debug}\n", slog.LevelDebug, 1, 0},
		{"one that is not valid", "logging: {level: loud}\n", slog.LevelDebug, 1, 1},
		{"a higher one, and a field that needs a restart", "logging: {level: error}\nserving: {listen: ':9999'}\n", slog.LevelDebug, 1, 2},
		{"a higher one, and profiles", "logging: {level: error}\nprofiles: [{schedulerName: b}]\n", slog.LevelError, 2, 2},
		{"none, which is the default", "profiles: [{schedulerName: b}]\n", slog.LevelInfo, 3, 2},
	}
	for _, step := range steps {
		r.write(header + step.content)
		r.reloader.look()
		if got := level.Level(); got != step.level {
			t.Errorf("by a file with %s %s is logged, want %s", step.name, got, step.level)
		}
		for result, want := range map[string]float64{reloadApplied: step.applied, reloadRefused: step.refused} {
			if got := testutil.ToFloat64(r.reloader.metrics.reloads.WithLabelValues(result)); got != want {
				t.Errorf("after a file with %s %v are counted as %s, want %v", step.name, got, result, want)
			}
		}
	}
	const refused = `muster.yaml: logging.level: Unsupported value: \"loud\": supported values: \"debug\", \"info\", \"warn\", \"error\"`
	for _, line := range []string{"before=INFO now=DEBUG", "before=DEBUG now=ERROR", "before=ERROR now=INFO", refused} {
		if !strings.Contains(r.log.String(), line) {
			t.Errorf("no line of the log has %s:\n%s", line, r.log)
		}
	}
}

func TestAProcessGoesOnWhenAnotherLevelIsLogged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := live(t, "rescheduler: {mode: DryRun}\n")
		wantLevel := func(when string, want slog.Level) {
			t.Helper()
			if got := l.level.Level(); got != want {
				t.Errorf("%s is logged %s, want %s", got, when, want)
			}
		}
		l.want("at first", 0, 0, 0, "DryRun runs")
		l.write("rescheduler: {mode: DryRun}\nlogging: {level: debug}\n")
		l.passes()
		l.want("when another level is logged", 1, 0, 0)
		wantLevel("by a file of level debug", slog.LevelDebug)
		l.fails.Store(new("Auto"))
		l.write("rescheduler: {mode: Auto}\nlogging: {level: error}\n")
		l.passes()
		l.want("when no process can begin by it", 1, 1, 1, "DryRun ends", "DryRun runs")
		wantLevel("by a file that is refused", slog.LevelDebug)
		l.fails.Store(nil)
		l.write("rescheduler: {mode: Auto}\nlogging: {level: warn}\n")
		l.passes()
		l.want("when the mode changed, too", 2, 1, 0, "DryRun ends", "Auto runs")
		wantLevel("by a file with another mode", slog.LevelWarn)
		l.stop()
		if err := <-l.ended; err != nil {
			t.Error(err)
		}
		l.want("when it is asked to stop", 2, 1, 0, "Auto ends")
	})
}

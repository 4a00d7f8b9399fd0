package main

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"muster.dev/muster/server/logging"
)

func TestDeprecatedFlagsChangeTheDefaultProfileUnlessThereIsAFile(t *testing.T) {
	type profile struct {
		name, strategy        string
		hardPodAffinityWeight int32
	}
	all := []string{"--scheduler-name=batch", "--algorithm-provider=ClusterAutoscalerProvider", "--hard-pod-affinity-symmetric-weight=7"}
	const deprecated, ignored = "deprecated: say it in a configuration file", "deprecated and ignored: there is a configuration file"
	tests := []struct {
		name     string
		args     []string
		want     profile
		warned   string
		warnings int
	}{
		{"none of them", nil, profile{"default-scheduler", "LeastAllocated", 1}, "deprecated", 0},
		{"one of them leaves the other defaults", []string{"--scheduler-name=batch"}, profile{"batch", "LeastAllocated", 1}, deprecated, 1},
		{"a weight of 0", []string{"--hard-pod-affinity-symmetric-weight=0"}, profile{"default-scheduler", "LeastAllocated", 0}, deprecated, 1},
		{"all of them", all, profile{"batch", "MostAllocated", 7}, deprecated, 3},
		{
			"all of them, and a file", append(all, "--config=testdata/free-port.yaml"),
			profile{"default-scheduler", "LeastAllocated", 1},
			ignored,
			3,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var logs bytes.Buffer
			var flags serveFlags
			cmd := newServeCommand()
			cmd.ResetFlags()
			flags.register(cmd.Flags())
			if err := cmd.ParseFlags(append(test.args, "--snapshot=-")); err != nil {
				t.Fatal(err)
			}
			options, err := flags.options(cmd, &logging.Log{Logger: slog.New(slog.NewTextHandler(&logs, nil))})
			if err != nil {
				t.Fatal(err)
			}
			if len(options.Config.Profiles) != 1 {
				t.Fatalf("%d profiles, want 1", len(options.Config.Profiles))
			}
			p := &options.Config.Profiles[0]
			got := profile{p.SchedulerName, string(p.NodeResourcesFitArgs().ScoringStrategy.Type), *p.InterPodAffinityArgs().HardPodAffinityWeight}
			if got != test.want {
				t.Errorf("the profile is %+v, want %+v", got, test.want)
			}
			if count := strings.Count(logs.String(), test.warned); count != test.warnings {
				t.Errorf("warned %d times, want %d, of %q:\n%s", count, test.warnings, test.warned, &logs)
			}
		})
	}
}

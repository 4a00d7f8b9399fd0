package main

import (
	"context"
	"os"
	"path/filepath"

	"muster.dev/muster/e2e/bench/lab"
	"muster.dev/muster/e2e/binaries"
)

// target is an extender under measurement, asked about pods of one profile.
type target struct {
	name, url, profile string
	// metrics is where the process counts its allocations, "" when it does not.
	metrics string
}

// startTargets builds and starts the processes. The empty extender comes first, another build of muster last,
// if its path is not empty.
// stop must be called whatever the error.
func startTargets(ctx context.Context, dir, before string, in *input) (targets []target, stop func(), err error) {
	var running []*lab.Served
	stop = func() {
		for _, s := range running {
			s.Stop()
		}
	}
	emptyPath, err := binaries.BuildCommand(ctx, "bench", "emptyextender", dir, os.Stderr)
	if err != nil {
		return nil, stop, err
	}
	musterPath, err := binaries.BuildMuster(ctx, os.Stderr)
	if err != nil {
		return nil, stop, err
	}
	dump, config := filepath.Join(dir, "cluster.json"), filepath.Join(dir, "muster.yaml")
	if err := in.writeDump(dump); err != nil {
		return nil, stop, err
	}
	if err := os.WriteFile(config, []byte(musterConfig), 0o600); err != nil {
		return nil, stop, err
	}
	empty, err := lab.ServeEmpty(ctx, emptyPath)
	if err != nil {
		return nil, stop, err
	}
	running = append(running, empty)
	targets = []target{{name: "empty", url: empty.URL, profile: profileScheduler}}
	for _, build := range []struct{ name, path string }{{"muster", musterPath}, {"before", before}} {
		if build.path == "" {
			continue
		}
		s, err := lab.ServeSnapshot(ctx, build.path, config, dump)
		if err != nil {
			return nil, stop, err
		}
		running = append(running, s)
		targets = append(targets,
			target{name: build.name + " Scheduler", url: s.URL, profile: profileScheduler, metrics: s.Debug + "/metrics"},
			target{name: build.name + " Extender", url: s.URL, profile: profileExtender, metrics: s.Debug + "/metrics"})
	}
	return targets, stop, nil
}

const musterConfig = `apiVersion: config.muster.dev/v1alpha2
kind: MusterConfiguration
profiles:
- schedulerName: ` + profileScheduler + `
  nodeSelection: Scheduler
  plugins: {score: {enabled: [{name: NodeResourcesFit}, {name: NodeResourcesBalancedAllocation}]}}
- schedulerName: ` + profileExtender + `
  nodeSelection: Muster
`

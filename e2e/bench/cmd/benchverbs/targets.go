package main

import (
	"context"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/process"
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
	var running []*process.Process
	stop = func() {
		for _, p := range running {
			p.Stop(5 * time.Second)
		}
	}
	start := func(path string, args ...string) (url string, err error) {
		port, err := process.FreePort()
		if err != nil {
			return "", err
		}
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		p, err := process.Start(process.Spec{
			Name: filepath.Base(path), Path: path, Args: append(args, "--listen", address), Log: filepath.Join(dir, strconv.Itoa(port)+".log"),
		})
		if err != nil {
			return "", err
		}
		running = append(running, p)
		wait, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		return "http://" + address, p.Await(wait, func(context.Context) error {
			conn, err := net.Dial("tcp", address)
			if err == nil {
				err = conn.Close()
			}
			return err
		})
	}

	emptyPath, err := binaries.BuildCommand(ctx, "bench", "emptyextender", dir, os.Stderr)
	if err != nil {
		return nil, stop, err
	}
	musterPath, err := binaries.BuildMuster(ctx, dir, os.Stderr)
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
	empty, err := start(emptyPath)
	if err != nil {
		return nil, stop, err
	}
	targets = []target{{name: "empty", url: empty, profile: profileScheduler}}
	serve := func(path, name string) error {
		port, err := process.FreePort()
		if err != nil {
			return err
		}
		debug := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
		url, err := start(path, "serve", "--config", config, "--snapshot", dump, "--debug-listen", debug)
		if err != nil {
			return err
		}
		metrics := "http://" + debug + "/metrics"
		targets = append(targets,
			target{name: name + " Scheduler", url: url, profile: profileScheduler, metrics: metrics},
			target{name: name + " Extender", url: url, profile: profileExtender, metrics: metrics})
		return nil
	}
	if err := serve(musterPath, "muster"); err != nil || before == "" {
		return targets, stop, err
	}
	return targets, stop, serve(before, "before")
}

const musterConfig = `apiVersion: config.muster.dev/v1alpha2
kind: MusterConfiguration
profiles:
- schedulerName: ` + profileScheduler + `
  nodeSelection: Scheduler
  plugins: {score: {enabled: [{name: NodeResourcesFit}, {name: NodeResourcesBalancedAllocation}]}}
- schedulerName: ` + profileExtender + `
  nodeSelection: Extender
`

var client = &http.Client{Timeout: time.Minute}

package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"muster.dev/muster/e2e/process"
)

// target is an extender under measurement, asked about pods of one profile.
type target struct {
	name, url, profile string
	// metrics is where the process counts its allocations, "" when it does not.
	metrics string
}

// startTargets builds and starts the processes. The empty extender comes first.
// stop must be called whatever the error.
func startTargets(ctx context.Context, dir string, in *input) (targets []target, stop func(), err error) {
	var running []*process.Process
	stop = func() {
		for _, p := range running {
			p.Stop(5 * time.Second)
		}
	}
	start := func(name string, args ...string) (url string, err error) {
		p, err := process.Start(process.Spec{Name: name, Path: filepath.Join(dir, name), Args: args, Log: filepath.Join(dir, name+".log")})
		if err != nil {
			return "", err
		}
		running = append(running, p)
		address := args[len(args)-1]
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

	fmt.Fprintln(os.Stderr, "building muster and the empty extender")
	for from, name := range map[string]string{"../cmd/muster": "muster", "./cmd/emptyextender": "emptyextender"} {
		build := exec.CommandContext(ctx, "go", "build", "-o", filepath.Join(dir, name), ".")
		build.Dir = from
		if output, err := build.CombinedOutput(); err != nil {
			return nil, stop, fmt.Errorf("build %s: %w\n%s", name, err, output)
		}
	}
	dump, config := filepath.Join(dir, "cluster.json"), filepath.Join(dir, "muster.yaml")
	if err := in.writeDump(dump); err != nil {
		return nil, stop, err
	}
	if err := os.WriteFile(config, []byte(musterConfig), 0o600); err != nil {
		return nil, stop, err
	}
	ports, err := freeAddresses(2)
	if err != nil {
		return nil, stop, err
	}
	empty, err := start("emptyextender", "-listen", ports[0])
	if err != nil {
		return nil, stop, err
	}
	muster, err := start("muster", "serve", "--config", config, "--snapshot", dump, "--listen", ports[1])
	if err != nil {
		return nil, stop, err
	}
	return []target{
		{name: "empty", url: empty, profile: profileScheduler},
		{name: "muster Scheduler", url: muster, profile: profileScheduler, metrics: muster + "/metrics"},
		{name: "muster Extender", url: muster, profile: profileExtender, metrics: muster + "/metrics"},
	}, stop, nil
}

const musterConfig = `apiVersion: config.muster.dev/v1alpha2
kind: MusterConfiguration
profiles:
- schedulerName: ` + profileScheduler + `
  nodeSelection: Scheduler
- schedulerName: ` + profileExtender + `
  nodeSelection: Extender
`

func freeAddresses(n int) ([]string, error) {
	var addresses []string
	for range n {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer listener.Close() // all at once, so that they differ
		addresses = append(addresses, listener.Addr().String())
	}
	return addresses, nil
}

var client = &http.Client{Timeout: time.Minute}

package extender_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/process"
	"muster.dev/muster/e2e/workload"
)

// race creates pods of one CPU for each of several scheduler names at once.
func (c *cluster) race(each int, schedulerNames ...string) {
	c.Helper()
	var together sync.WaitGroup
	for _, name := range schedulerNames {
		var pods []*corev1.Pod
		for i := range each {
			pods = append(pods, newPod(fmt.Sprintf("%s-%03d", name, i), "1", scheduledBy(name)))
		}
		together.Go(func() {
			if err := (&workload.Cluster{Pods: pods}).CreateWorkloads(c.Context(), c.client); err != nil {
				c.Error(err)
			}
		})
	}
	together.Wait()
}

func TestProfilesDoNotRaceForTheLastRoom(t *testing.T) {
	const nodes = 40 // with room for one pod each
	c := newCluster(t, newNodes(nodes, "1")...)
	w := c.serveExample().watch()
	c.race(nodes, "spread", "pack")
	w.settles(exactly(map[string]int{"": nodes}))
	c.createPods(newPods(3, "1")...)
	w.settles(exactly(map[string]int{"": nodes}))
}

// scheduleApart runs one more stock scheduler until the test ends, for the pods of one scheduler
// name.
func (c *cluster) scheduleApart(schedulerName string) {
	c.Helper()
	config, err := yaml.Marshal(map[string]any{
		"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
		"clientConnection": map[string]any{"kubeconfig": shared.Kubeconfig(), "qps": 10000, "burst": 10000},
		"leaderElection":   map[string]any{"leaderElect": false},
		"profiles":         []any{map[string]any{"schedulerName": schedulerName}},
	})
	if err != nil {
		c.Fatal(err)
	}
	dir := c.TempDir()
	file := filepath.Join(dir, "scheduler.yaml")
	if err := os.WriteFile(file, config, 0o600); err != nil {
		c.Fatal(err)
	}
	programs, err := binaries.Ensure(c.Context(), "", c.Output(), binaries.Scheduler)
	if err != nil {
		c.Fatal(err)
	}
	port, err := process.FreePort()
	if err != nil {
		c.Fatal(err)
	}
	scheduler, err := process.Start(process.Spec{
		Name: schedulerName, Path: programs.Path(binaries.Scheduler), Log: filepath.Join(dir, "scheduler.log"),
		Args: []string{"--config=" + file, "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port), "--authentication-skip-lookup"},
	})
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(scheduler.Kill)
}

// What muster is spared: two schedulers on the same cluster give the same room away twice. Each
// binding is right by what its scheduler has seen, and the API server takes them all.
func TestTwoSchedulersRaceForTheLastRoom(t *testing.T) {
	const nodes, rounds = 40, 5
	c := newCluster(t, newNodes(nodes, "1")...)
	w := (&server{cluster: c}).watch()
	for _, name := range []string{"spread", "pack"} {
		c.scheduleApart(name)
	}
	for round := range rounds {
		c.race(nodes, "spread", "pack")
		c.eventually("no room is left", func() error {
			if bound := w.everBound()[""]; bound < nodes*(round+1) {
				return fmt.Errorf("%d pods are bound", bound)
			}
			return nil
		})
		if over := w.overcommitted(); len(over) > 0 {
			t.Logf("in round %d, %d of %d bindings were to nodes without room, such as: %s", round+1, len(over), w.everBound()[""], over[0])
			return
		}
		c.deletePods("")
		c.eventually("all pods are gone", func() error {
			pods, err := c.pods()
			if err == nil && len(pods) > 0 {
				err = fmt.Errorf("%d are there", len(pods))
			}
			return err
		})
	}
	t.Errorf("no node was overcommitted in %d rounds, so what others test about profiles shows nothing", rounds)
}

package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/e2e/process"
)

// costs are what a contender has needed since it started.
type costs struct {
	cpu    time.Duration // of the scheduler and the extender
	failed int           // attempts of the scheduler to find a node for a pod
}

func (c costs) minus(o costs) costs { return costs{c.cpu - o.cpu, c.failed - o.failed} }

func (r *cellRun) costs(ctx context.Context) (c costs, err error) {
	if c.cpu, err = process.CPU(r.entry.Pids()...); err != nil {
		return c, err
	}
	metrics, err := r.SchedulerMetrics(ctx)
	if err != nil {
		return c, err
	}
	for _, m := range metrics["scheduler_schedule_attempts_total"].GetMetric() {
		for _, label := range m.Label {
			if label.GetName() == "result" && label.GetValue() != "scheduled" {
				c.failed += int(m.GetCounter().GetValue())
			}
		}
	}
	return c, nil
}

// writes is how many requests to write to pods the API server has had since it started, except to create one.
func (r *cellRun) writes(ctx context.Context) (count float64, err error) {
	families, err := r.APIServerMetrics(ctx)
	if err != nil {
		return 0, err
	}
	for _, m := range families["apiserver_request_total"].GetMetric() {
		labels := map[string]string{}
		for _, label := range m.GetLabel() {
			labels[label.GetName()] = label.GetValue()
		}
		if labels["resource"] == "pods" && isWrite(labels["verb"], labels["subresource"]) {
			count += m.GetCounter().GetValue()
		}
	}
	return count, nil
}

func isWrite(verb, subresource string) bool {
	switch verb {
	case "PUT", "PATCH", "APPLY":
		return true
	case "POST":
		return subresource != ""
	}
	return false
}

// calmDown returns when the control plane is idle, so that no cell pays for the one before it.
func (r *cellRun) calmDown(ctx context.Context) error {
	const look, idle = 500 * time.Millisecond, 25 * time.Millisecond
	before, err := r.effort()
	for err == nil {
		if err = r.sleep(ctx, look); err != nil {
			break
		}
		var now time.Duration
		if now, err = r.effort(); err == nil && now-before <= idle {
			return nil
		}
		before = now
	}
	return fmt.Errorf("wait for the control plane to calm down: %w", err)
}

// effort returns the work of all running processes since they started: the control plane, with its
// scheduler, and the extender.
func (r *cellRun) effort() (time.Duration, error) {
	pids := sets.New(slices.Collect(maps.Values(r.ControlPlane.Pids()))...).Insert(r.entry.Pids()...)
	return process.CPU(pids.UnsortedList()...)
}

package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
)

// costs are what a contender has needed since it started.
type costs struct {
	cpu    time.Duration // of the scheduler and the extender
	failed int           // attempts of the scheduler to find a node for a pod
}

func (c costs) minus(o costs) costs { return costs{c.cpu - o.cpu, c.failed - o.failed} }

func (r *cellRun) costs(ctx context.Context) (c costs, err error) {
	if c.cpu, err = cpuOf(r.entry.Pids()); err != nil {
		return c, err
	}
	metrics, err := r.controlPlane.SchedulerMetrics(ctx)
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

// effort is what everything that is at work has needed since it started: the control plane, with
// its scheduler, and the extender.
func (r *cellRun) effort() (time.Duration, error) {
	pids := sets.New(slices.Collect(maps.Values(r.controlPlane.Pids()))...).Insert(r.entry.Pids()...)
	return cpuOf(pids.UnsortedList())
}

// cpuOf is what processes have needed since they started.
func cpuOf(pids []int) (sum time.Duration, err error) {
	for _, pid := range pids {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return 0, fmt.Errorf("read what a process has needed: %w", err)
		}
		used, err := cpuTime(string(stat))
		if err != nil {
			return 0, fmt.Errorf("read what a process has needed: %w", err)
		}
		sum += used
	}
	return sum, nil
}

// ticksPerSecond is the unit of times in /proc, USER_HZ of Linux.
const ticksPerSecond = 100

// cpuTime is the time in user and kernel mode that the text of /proc/PID/stat tells in its
// 14th and 15th field. The second field is a name in parentheses, which may have spaces.
func cpuTime(stat string) (time.Duration, error) {
	fields := strings.Fields(stat[strings.LastIndex(stat, ")")+1:])
	const user, system = 14 - 3, 15 - 3
	if len(fields) <= system {
		return 0, fmt.Errorf("%q has too few fields", stat)
	}
	var ticks int64
	for _, field := range []string{fields[user], fields[system]} {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("%q: %w", stat, err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond, nil
}

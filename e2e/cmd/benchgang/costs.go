package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// costs are what a contender has needed since it started.
type costs struct {
	cpu    time.Duration // of the scheduler and the extender
	failed int           // attempts of the scheduler to find a node for a pod
}

func (c costs) minus(o costs) costs { return costs{c.cpu - o.cpu, c.failed - o.failed} }

func (r *cellRun) costs(ctx context.Context) (c costs, err error) {
	for _, pid := range r.entry.Pids() {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return c, fmt.Errorf("read what a process has needed: %w", err)
		}
		used, err := cpuTime(string(stat))
		if err != nil {
			return c, fmt.Errorf("read what a process has needed: %w", err)
		}
		c.cpu += used
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

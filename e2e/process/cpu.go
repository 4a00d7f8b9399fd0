package process

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// CPU returns the processor time of processes since they started, in user and kernel mode (Linux).
func CPU(pids ...int) (sum time.Duration, err error) {
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

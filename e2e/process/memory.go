package process

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Memory is the memory of a process, in bytes.
type Memory struct {
	// Resident is the present amount, Peak the most that there ever was.
	Resident, Peak int64
}

// MemoryOf reads the memory of a process (Linux). Elsewhere the error is [fs.ErrNotExist].
func MemoryOf(pid int) (Memory, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Memory{}, fmt.Errorf("read the memory of a process: %w", err)
	}
	resident, residentErr := memoryIn(string(text), "VmRSS")
	peak, peakErr := memoryIn(string(text), "VmHWM")
	return Memory{resident, peak}, errors.Join(residentErr, peakErr)
}

// memoryIn is a line of the text of /proc/PID/status, in bytes.
func memoryIn(status, line string) (int64, error) {
	for row := range strings.Lines(status) {
		if name, value, _ := strings.Cut(row, ":"); name == line {
			kibibytes, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			if err != nil {
				return 0, fmt.Errorf("%s: %w", strings.TrimSpace(row), err)
			}
			return kibibytes << 10, nil
		}
	}
	return 0, fmt.Errorf("/proc/PID/status has no %s", line)
}

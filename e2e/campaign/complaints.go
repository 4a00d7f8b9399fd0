package campaign

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"regexp"
)

// complaint is what kube-scheduler logs when it takes an answer of muster's for an error:
// it gives the pod up then, or its preemption. That muster is down or not ready is none.
var complaint = regexp.MustCompile(`extender: \S+ claims to preempt|with extender at URL \S+, code (4\d\d|500)`)

// complaints are the lines of a log with one, from an offset on.
func complaints(log string, from int64) (lines []string, err error) {
	file, err := os.Open(log)
	if err != nil {
		return nil, fmt.Errorf("read the scheduler's log: %w", err)
	}
	defer file.Close()
	if _, err := file.Seek(from, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read the scheduler's log: %w", err)
	}
	all := bufio.NewScanner(file)
	all.Buffer(nil, 1<<20)
	for all.Scan() {
		if complaint.Match(all.Bytes()) {
			lines = append(lines, all.Text())
		}
	}
	if err := all.Err(); err != nil {
		return nil, fmt.Errorf("read the scheduler's log: %w", err)
	}
	return lines, nil
}

// sizeOf a file, 0 for one that is not there yet.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

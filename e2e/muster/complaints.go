package muster

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"regexp"
)

var complaint = regexp.MustCompile(`extender: \S+ claims to preempt|with extender at URL \S+, code (4\d\d|500)`)

// broken is muster's log line when it panics, in a call or as a whole.
var broken = regexp.MustCompile(`\bpanic`)

// Complaints are the lines of kube-scheduler's log, from an offset on, in which it takes an
// answer of muster's for an error: it gives the pod up then, or its preemption. That muster
// is down or not ready is none.
func Complaints(log string, from int64) (lines []string, err error) {
	return matches(log, from, complaint)
}

// Panics are the lines of muster's log, from an offset on, in which it panics.
func Panics(log string, from int64) (lines []string, err error) { return matches(log, from, broken) }

// matches are the lines of a log that a pattern matches, from an offset on.
func matches(log string, from int64, pattern *regexp.Regexp) (lines []string, err error) {
	file, err := os.Open(log)
	if err != nil {
		return nil, fmt.Errorf("read a log: %w", err)
	}
	defer file.Close()
	if _, err := file.Seek(from, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read a log: %w", err)
	}
	all := bufio.NewScanner(file)
	all.Buffer(nil, 1<<20)
	for all.Scan() {
		if pattern.Match(all.Bytes()) {
			lines = append(lines, all.Text())
		}
	}
	if err := all.Err(); err != nil {
		return nil, fmt.Errorf("read a log: %w", err)
	}
	return lines, nil
}

// LogSize is the offset of what will be logged from now on, 0 for a log that is not there yet.
func LogSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

package logging

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Formats of log lines.
const (
	FormatText = "text"
	FormatJSON = "json"
)

const (
	// mostQueued is how many bytes may wait to be written.
	mostQueued = 4 << 20
	// longestLine bounds the bytes written of a line.
	longestLine = 256 << 10
	// closeTimeout is how long the last lines may take to be written.
	closeTimeout = 5 * time.Second
)

// Options of a Log. Output is required.
type Options struct {
	// Output gets whole lines. It is not closed.
	Output io.Writer
	// Level is the least important one to log at first; nil is info.
	Level slog.Leveler
	// Format is FormatText or FormatJSON.
	Format string
}

// Log takes log lines and never has anybody wait. Its methods are safe for concurrent use. As a collector
// of metrics it tells how many lines were dropped.
type Log struct {
	// Logger writes here.
	Logger *slog.Logger
	// Level is the least important one to log. It may be set at any time.
	Level slog.LevelVar

	prometheus.Collector
	out    io.Writer
	logger *slog.Logger // writes to out

	mu     sync.Mutex
	queue  [][]byte
	bytes  int // of the queue
	lost   uint64
	untold uint64 // lost lines that nothing was said about yet
	closed bool

	filled chan struct{} // there is something to do
	done   chan struct{} // all was written
}

// New returns a Log that runs. Close must follow. The error says that there is no such format.
func New(o Options) (*Log, error) {
	l := &Log{out: o.Output, filled: make(chan struct{}, 1), done: make(chan struct{})}
	if o.Level != nil {
		l.Level.Set(o.Level.Level())
	}
	options := &slog.HandlerOptions{Level: &l.Level, ReplaceAttr: bound}
	switch o.Format {
	case FormatText:
		l.Logger, l.logger = slog.New(slog.NewTextHandler(l, options)), slog.New(slog.NewTextHandler(l.out, options))
	case FormatJSON:
		l.Logger, l.logger = slog.New(slog.NewJSONHandler(l, options)), slog.New(slog.NewJSONHandler(l.out, options))
	default:
		return nil, fmt.Errorf("unknown format %q, supported are %s and %s", o.Format, FormatText, FormatJSON)
	}
	l.Collector = prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "muster_log_lines_dropped_total",
		Help: "Log lines that were not written, because those before them were not taken in time.",
	}, func() float64 {
		l.mu.Lock()
		defer l.mu.Unlock()
		return float64(l.lost)
	})
	go l.run()
	return l, nil
}

// Write implements [io.Writer] for one line, which is written later, or dropped. It returns no error.
func (l *Log) Write(line []byte) (int, error) {
	kept := slices.Clone(line)
	if len(line) > longestLine {
		kept = append(slices.Clone(line[:whole(line, longestLine)]), "…\n"...)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed || l.bytes+len(kept) > mostQueued {
		l.lost++
		l.untold++
		return len(line), nil
	}
	l.queue = append(l.queue, kept)
	l.bytes += len(kept)
	l.wake()
	return len(line), nil
}

// wake has run look.
func (l *Log) wake() {
	select {
	case l.filled <- struct{}{}:
	default:
	}
}

// Close writes what is left, for some seconds at most, as the output may be taken by nobody. Lines that
// come later are dropped.
func (l *Log) Close() {
	l.mu.Lock()
	l.closed = true
	l.wake()
	l.mu.Unlock()
	timer := time.NewTimer(closeTimeout)
	defer timer.Stop()
	select {
	case <-l.done:
	case <-timer.C:
	}
}

// run writes lines until all are written after Close.
func (l *Log) run() {
	defer close(l.done)
	for range l.filled {
		for {
			lines, lost, closed := l.take()
			if len(lines) == 0 && lost == 0 {
				if closed {
					return
				}
				break
			}
			_, _ = l.out.Write(bytes.Join(lines, nil)) // nobody can be told
			if lost > 0 {
				l.logger.Warn("log lines were dropped, as those before them were not taken in time", "lines", lost)
			}
		}
	}
}

// take empties the queue. The lines that were lost come after the queue's lines.
func (l *Log) take() (lines [][]byte, lost uint64, closed bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lines, lost = l.queue, l.untold
	l.queue, l.bytes, l.untold = nil, 0, 0
	return lines, lost, l.closed
}

package nomination

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/utils/clock"
)

// Write is one request to the API server about a pod, which is decided when its turn comes:
// it says false when there is nothing to write any more. The error is the API server's.
type Write func(context.Context) (written bool, err error)

// Writer writes in parallel, the oldest first, no faster than it may. Its methods are safe
// for concurrent use.
type Writer struct {
	log     *slog.Logger
	clock   clock.Clock
	limits  WriteLimits
	limiter flowcontrol.RateLimiter
	latency prometheus.Histogram
	posted  chan struct{} // has one element when there may be something to write

	mu     sync.Mutex
	posts  []Write
	health health
}

// WriteLimits bound what is written.
type WriteLimits struct {
	// QPS is how many writes are made a second in the long run, Burst how many at once,
	// Writers how many at the same time.
	QPS     float32
	Burst   int
	Writers int
	// SlowWrite is the average time of a write beyond which the Writer asks for a pause of
	// the time of Pause; so it does when the API server refuses a write for a reason that is
	// not the pod's.
	SlowWrite, Pause time.Duration
}

// DefaultWriteLimits returns the limits for a number of writes a second.
func DefaultWriteLimits(qps float32) WriteLimits {
	return WriteLimits{QPS: qps, Burst: int(max(qps, 1)), Writers: 16, SlowWrite: time.Second, Pause: 5 * time.Second}
}

// NewWriter returns a Writer that writes once it is run.
func NewWriter(log *slog.Logger, r prometheus.Registerer, c clock.Clock, limits WriteLimits) *Writer {
	w := &Writer{
		log: log, clock: c, limits: limits,
		limiter: flowcontrol.NewTokenBucketRateLimiterWithClock(limits.QPS, limits.Burst, c),
		posted:  make(chan struct{}, 1),
		latency: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "muster_nomination_write_seconds",
			Help: "Time that the API server took to write a nomination or to refuse it.",
			// 1 ms to 33 s.
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 16),
		}),
	}
	r.MustRegister(w.latency)
	return w
}

// Run writes until the context ends.
func (w *Writer) Run(ctx context.Context) {
	var writers sync.WaitGroup
	defer writers.Wait()
	for range w.limits.Writers {
		writers.Go(func() { w.write(ctx) })
	}
}

// Post has something written.
func (w *Writer) Post(write Write) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.posts = append(w.posts, write)
	w.call()
}

// Pausing reports whether the API server is slow or refuses writes, so that nothing should be
// written that can wait.
func (w *Writer) Pausing() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.health.pausing(w.clock.Now())
}

func (w *Writer) call() {
	select {
	case w.posted <- struct{}{}:
	default:
	}
}

func (w *Writer) write(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-w.posted:
		}
		if w.limiter.Wait(ctx) != nil {
			return
		}
		next := w.next()
		if next == nil {
			continue
		}
		started := w.clock.Now()
		if written, err := next(ctx); written && ctx.Err() == nil {
			w.note(w.clock.Since(started), err)
		}
	}
}

func (w *Writer) next() Write {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.posts) == 0 {
		return nil
	}
	next := w.posts[0]
	w.posts[0], w.posts = nil, w.posts[1:]
	if len(w.posts) > 0 {
		w.call() // another one
	}
	return next
}

func (w *Writer) note(took time.Duration, err error) {
	w.latency.Observe(took.Seconds())
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.clock.Now()
	if w.health.note(took, err, w.limits.SlowWrite) && !w.health.pausing(now) {
		w.health.until = now.Add(w.limits.Pause)
		w.log.Warn("nominating nothing for a while: the API server is slow or refuses it",
			"pause", w.limits.Pause, "took", took, "err", err)
	}
}

// health is how the API server fares with writes.
type health struct {
	average time.Duration
	until   time.Time // nothing is nominated before
}

// note reports whether writes are too slow, or fail for a reason that is not the pod's.
func (h *health) note(took time.Duration, err error, slow time.Duration) bool {
	const weight = 8 // of the past, to one of the present
	h.average += (took - h.average) / (weight + 1)
	if h.average <= slow && (err == nil || failure(err) != Failed) {
		return false
	}
	h.average = 0
	return true
}

func (h *health) pausing(now time.Time) bool { return now.Before(h.until) }

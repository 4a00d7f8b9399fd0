package source

import (
	"log/slog"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"muster.dev/muster/cluster"
)

// Reasons of events.
const (
	ReasonUnreachable = "LoadSourceUnreachable"
	ReasonReachable   = "LoadSourceReachable"
)

// action is muster's action in events.
const action = "ReadingUsage"

// Status is how a source fares.
type Status struct {
	// Source is its name.
	Source string `json:"source"`
	// Reachable says that it answered when it was last asked. It is false until it first does.
	Reachable bool `json:"reachable"`
	// Since is when that began, zero until it was first asked.
	Since time.Time `json:"since,omitzero"`
	// LastError is the last thing that went wrong, and LastErrorAt when; "" when nothing did.
	LastError   string    `json:"lastError,omitempty"`
	LastErrorAt time.Time `json:"lastErrorAt,omitzero"`
}

// HealthOptions are the options of Health. All are required but Events and About.
type HealthOptions struct {
	Logger     *slog.Logger
	Clock      clock.PassiveClock
	Registerer prometheus.Registerer
	Source     string
	// Events and what they are about: none are written when nil.
	Events events.EventRecorder
	About  runtime.Object
}

// Health says whether a source can be reached: to people once when that changes, by log and
// event, and always by metrics. It is safe for concurrent use.
type Health struct {
	log    *slog.Logger
	clock  clock.PassiveClock
	events events.EventRecorder
	about  runtime.Object
	errors prometheus.Counter
	up     prometheus.Gauge
	// Refusals are the figures of the source that nobody can believe.
	Refusals *Refusals
	answers  *answersMetrics

	mu     sync.Mutex
	status Status
}

// NewHealth returns the health of a source that was not asked yet.
func NewHealth(o HealthOptions) *Health {
	labels := prometheus.Labels{"source": o.Source}
	h := &Health{
		log: o.Logger.With(slog.String("source", o.Source)), clock: o.Clock, events: o.Events, about: o.About,
		errors: prometheus.NewCounter(prometheus.CounterOpts{
			Name:        "muster_load_source_errors_total",
			Help:        "Times that the source of usage figures did not answer, or not with what was asked for.",
			ConstLabels: labels,
		}),
		up: prometheus.NewGauge(prometheus.GaugeOpts{
			Name:        "muster_load_source_up",
			Help:        "Whether the source of usage figures answered when it was last asked.",
			ConstLabels: labels,
		}),
		status: Status{Source: o.Source},
	}
	o.Registerer.MustRegister(h.errors, h.up)
	h.Refusals = NewRefusals(h.log, o.Registerer, o.Source)
	h.answers = newAnswersMetrics(h.log, o.Registerer, o.Source)
	return h
}

// Observe says how it went to ask the source: err is nil when it answered.
func (h *Health) Observe(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := h.clock.Now()
	first, before := h.status.Since.IsZero(), h.status.Reachable
	h.status.Reachable = err == nil
	if changed := first || before != h.status.Reachable; changed {
		h.status.Since = now
	}
	if err != nil {
		h.status.LastError, h.status.LastErrorAt = err.Error(), now
		h.errors.Inc()
		h.up.Set(0)
		if first || before {
			h.log.Warn("cannot read usage", slog.Any("err", err))
			h.tell(corev1.EventTypeWarning, ReasonUnreachable,
				"%s cannot be read, and what is known of nodes gets older: %s", h.status.Source, shorten(h.status.LastError))
		}
		return
	}
	h.up.Set(1)
	switch {
	case first:
		h.log.Info("reading usage")
	case !before:
		h.log.Info("reading usage again")
		h.tell(corev1.EventTypeNormal, ReasonReachable, "%s can be read again", h.status.Source)
	}
}

func (h *Health) tell(kind, reason, note string, args ...any) {
	if h.events != nil {
		h.events.Eventf(h.about, nil, kind, reason, action, note, args...)
	}
}

// Measured takes note of the answer of a polled source, and of the nodes in it.
func (h *Health) Measured(reading *Reading, snap *cluster.Snapshot) {
	known := make([]Refusal, 0, len(reading.Refused))
	for _, refusal := range reading.Refused {
		if refusal.Pod || snap.NodeByName(refusal.Of) != nil {
			known = append(known, refusal)
		}
	}
	h.Refusals.Look(known)
	h.answers.observe(reading, snap)
}

// Status returns how the source fares now.
func (h *Health) Status() Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.status
}

// shorten cuts words to what fits into an event, beside others.
func shorten(words string) string {
	const most = 512
	if len(words) > most {
		return words[:most] + " …"
	}
	return words
}

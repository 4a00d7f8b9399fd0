package body

import (
	"errors"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

const (
	// MaxUnsized is how long a body may be, in bytes, that does not say beforehand how long it is.
	MaxUnsized = 4 << 20
	// MaxSmall is how long a small body may be, in bytes.
	MaxSmall = 64 << 10
	// smallShare is the part of the memory for bodies that is kept for small ones.
	smallShare = 16
)

// Readers are the readers of one process. They share what all bodies may take of memory.
type Readers struct {
	// Any reads bodies of any kind.
	Any Reader
	// Small reads bodies that are small. They get through, whatever the others hold.
	Small Reader
}

// Limits bound bodies. All are required.
type Limits struct {
	// Body is how long one may be, and InFlight how much all may take at a time, in bytes.
	Body, InFlight int64
	// Timeout is how long one may take to arrive.
	Timeout time.Duration
}

// DefaultLimits returns the limits of a server whose callers wait for an answer for a time. Names of nodes are at most 253
// bytes: a call about 100,000 nodes is less than 64 MiB, and with four of these at a time kube-scheduler, which makes one
// after the other, has room beside other callers.
func DefaultLimits(timeout time.Duration) Limits {
	return Limits{Body: 64 << 20, InFlight: 256 << 20, Timeout: timeout}
}

// NewReaders returns the readers of a process, and registers a metric of what they hold.
func NewReaders(r prometheus.Registerer, limits Limits) *Readers {
	kept := limits.InFlight / smallShare
	readers := &Readers{
		Any: Reader{
			Most: limits.Body, Unsized: MaxUnsized, Why: "which is enough for any call", Timeout: limits.Timeout,
			Budget: NewBudget(limits.InFlight - kept),
		},
		Small: Reader{Most: MaxSmall, Why: "which is enough for bind", Timeout: limits.Timeout, Budget: NewBudget(kept)},
	}
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "muster_bodies_in_flight_bytes",
		Help: "Memory that the bodies of requests take that are being answered, and what is decoded of them at most.",
	}, func() float64 { return float64(readers.Held()) }))
	return readers
}

// Held is how many bytes all requests hold together.
func (r *Readers) Held() int64 { return r.Any.Budget.Held() + r.Small.Budget.Held() }

// Timely has bodies arrive in time for a handler that is not told of its connection.
func (r *Readers) Timely(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(r.Any.Timeout)) // not supported by test recorders
		handler.ServeHTTP(w, request)
	})
}

// Status is the HTTP status with which a request is refused: that of a [RefusalError], and else that of
// a bad request.
func Status(err error) int {
	if refusal, is := errors.AsType[*RefusalError](err); is {
		return refusal.Status
	}
	return http.StatusBadRequest
}

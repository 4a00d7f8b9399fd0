package server

import (
	"errors"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"muster.dev/muster/api/config/v1alpha2"
	"muster.dev/muster/server/body"
)

const (
	// keepBytes is the largest buffer that is kept for the next call: a request and
	// an answer about 15,000 nodes fit well. It is also how long a body may be that does
	// not say beforehand how long it is.
	keepBytes = 4 << 20
	// smallBytes is how long the body of bind may be, which has four names.
	smallBytes = 64 << 10
	// smallShare is the part of the memory for bodies that is kept for bind.
	smallShare = 16
)

// bodies read the bodies of requests.
type bodies struct {
	any   body.Reader
	small body.Reader // of bind, which gets through whatever the others hold
}

func newBodies(r prometheus.Registerer, settings v1alpha2.Serving, timeout time.Duration) *bodies {
	kept := settings.MaxInFlightBytes / smallShare
	b := &bodies{
		any: body.Reader{
			Most: settings.MaxBodyBytes, Unsized: keepBytes, Field: "serving.maxBodyBytes", Timeout: timeout,
			Budget: body.NewBudget(settings.MaxInFlightBytes - kept),
		},
		small: body.Reader{Most: smallBytes, Field: "which is enough for bind", Timeout: timeout, Budget: body.NewBudget(kept)},
	}
	r.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "muster_bodies_in_flight_bytes",
		Help: "Memory that the bodies of requests take that are being answered, and what is decoded of them at most.",
	}, func() float64 { return float64(b.any.Budget.Held() + b.small.Budget.Held()) }))
	return b
}

// timely has bodies arrive in time for a handler that is not told of its connection.
func (b *bodies) timely(handler http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(b.any.Timeout)) // not supported by test recorders
		handler.ServeHTTP(w, r)
	})
}

// refusedBody is the answer to a request whose body was not read, or may not be decoded.
func refusedBody(err error) error {
	refusal, is := errors.AsType[*body.RefusalError](err)
	if !is {
		return badRequest(err)
	}
	outcome := map[int]string{http.StatusRequestEntityTooLarge: outcomeTooLarge, http.StatusServiceUnavailable: outcomeBusy}[refusal.Status]
	if outcome == "" {
		outcome = outcomeBadRequest
	}
	return &statusError{status: refusal.Status, outcome: outcome, err: refusal.Err}
}

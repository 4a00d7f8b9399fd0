package main

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/relay"
)

// way leads to an API server that takes longer for each call. Its methods are safe for concurrent use.
type way struct {
	delay      time.Duration
	relay      *relay.Relay
	kubeconfig string

	mu       sync.Mutex
	bindings spell
	underWay int // bindings
}

// newWay opens a way to the API server of a control plane, as its administrator. The caller must call close.
func newWay(cp *controlplane.ControlPlane, delay time.Duration) (*way, error) {
	config := cp.RESTConfig()
	transport, err := rest.TransportFor(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the control plane: %w", err)
	}
	api, err := url.Parse(config.Host)
	if err != nil {
		return nil, fmt.Errorf("address of the API server: %w", err)
	}
	w := &way{delay: delay, kubeconfig: filepath.Join(cp.Dir(), "slow.kubeconfig")}
	if w.relay, err = relay.New(transport, func() *url.URL { return api }, w.pass); err != nil {
		return nil, err
	}
	if err := w.relay.WriteKubeconfig(w.kubeconfig); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *way) close() { w.relay.Close() }

// pass implements [relay.Decide].
func (w *way) pass(answer http.ResponseWriter, r *http.Request, pass http.Handler) {
	if strings.HasSuffix(r.URL.Path, "/binding") {
		w.begin()
		defer w.end()
	}
	select {
	case <-time.After(w.delay):
	case <-r.Context().Done():
		return
	}
	pass.ServeHTTP(answer, r)
}

func (w *way) begin() {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := time.Now()
	switch {
	case w.bindings.first.IsZero():
		w.bindings.first = now
	case w.underWay == 0:
		w.bindings.idle += now.Sub(w.bindings.last)
	}
	w.underWay++
}

func (w *way) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.underWay--
	w.bindings.last = time.Now()
}

// bound is when bindings have been under way so far.
func (w *way) bound() spell {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.bindings
}

// spell is a time of bindings.
type spell struct {
	first, last time.Time     // when the first one began, and the last one ended
	idle        time.Duration // time without a binding under way in between
}

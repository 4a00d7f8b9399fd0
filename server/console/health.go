package console

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"

	"muster.dev/muster/inspect"
)

// HealthOptions are what a Health is made with. All are required.
type HealthOptions struct {
	// Stuck is which lock is stuck, nil while none is.
	Stuck func() error
	// Ready is why no new calls should be sent here, nil when they may.
	Ready   func() error
	Metrics prometheus.Gatherer
	Version string
}

// Health answers clients that watch over a process.
type Health struct{ options HealthOptions }

// NewHealth returns the Health of a process.
func NewHealth(o HealthOptions) *Health { return &Health{options: o} }

// Alive answers a kubelet.
func (h *Health) Alive() []inspect.Endpoint {
	return []inspect.Endpoint{
		inspect.Get("/livez", "200 while nothing is stuck, else 503 and which lock is", answers(h.options.Stuck)),
		inspect.Get("/readyz", "200 while calls can be answered, else 503 and why not", answers(h.options.Ready)),
	}
}

// About describes the process.
func (h *Health) About() []inspect.Endpoint {
	return []inspect.Endpoint{inspect.Get("/version", "what was built, from what, with what", http.HandlerFunc(h.version))}
}

// Endpoints are what a kubelet and a Prometheus ask for.
func (h *Health) Endpoints() []inspect.Endpoint {
	return append(h.Alive(),
		inspect.Get("/metrics", "metrics in the Prometheus format", inspect.Metrics(h.options.Metrics)))
}

// answers says ok, unless something is wrong.
func answers(wrong func() error) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		if err := wrong(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		_, _ = fmt.Fprintln(w, "ok")
	}
}

func (h *Health) version(w http.ResponseWriter, _ *http.Request) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		http.Error(w, "the binary carries no build information", http.StatusNotFound)
		return
	}
	settings := map[string]string{}
	for _, setting := range info.Settings {
		settings[setting.Key] = setting.Value
	}
	writeJSON(w, map[string]any{"version": h.options.Version, "goVersion": info.GoVersion, "settings": settings})
}

func writeJSON(w http.ResponseWriter, value any) {
	encoded, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(append(encoded, '\n'))
}

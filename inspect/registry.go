package inspect

import (
	"net/http"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Registry is where the metrics of a process are registered, and what it shows at /metrics.
type Registry interface {
	prometheus.Registerer
	prometheus.Gatherer
}

// RegisterRuntime adds what Go and the operating system know of this process, go_… and process_…, and what was built.
func RegisterRuntime(r prometheus.Registerer, version string) {
	built := prometheus.NewGauge(prometheus.GaugeOpts{
		Name:        "muster_build_info",
		Help:        "1, with the version of muster that runs, and the release of Go that it was built with.",
		ConstLabels: prometheus.Labels{"version": version, "goversion": runtime.Version()},
	})
	built.Set(1)
	r.MustRegister(built, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
}

// Metrics serves the metrics of a registry, in the format that is asked for: Prometheus' own, or OpenMetrics.
func Metrics(g prometheus.Gatherer) http.Handler {
	return promhttp.HandlerFor(g, promhttp.HandlerOpts{EnableOpenMetrics: true})
}

// Passing registers with a Registry what may end before the process does. It is for one goroutine.
type Passing struct {
	Registry

	registered []prometheus.Collector
}

// Register implements [prometheus.Registerer].
func (p *Passing) Register(c prometheus.Collector) error {
	if err := p.Registry.Register(c); err != nil {
		return err
	}
	p.registered = append(p.registered, c)
	return nil
}

// MustRegister implements [prometheus.Registerer].
func (p *Passing) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		if err := p.Register(c); err != nil {
			panic(err)
		}
	}
}

// Clear takes all of it out of the Registry.
func (p *Passing) Clear() {
	for _, c := range p.registered {
		p.Unregister(c)
	}
	p.registered = nil
}

var _ Registry = (*Passing)(nil)

package inspect

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

// Registry is where the metrics of a process are registered, and what it shows at /metrics.
type Registry interface {
	prometheus.Registerer
	prometheus.Gatherer
}

// RegisterRuntime adds what Go and the operating system know of this process: go_… and process_….
func RegisterRuntime(r prometheus.Registerer) {
	r.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
}

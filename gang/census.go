package gang

import (
	"github.com/prometheus/client_golang/prometheus"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

// census is a [prometheus.Collector] of the gangs that exist, and of the room that gangs which have not started
// keep from others.
type census struct {
	*Manager
	gangs, idle *prometheus.Desc
}

func newCensus(m *Manager) *census {
	return &census{
		Manager: m,
		gangs: prometheus.NewDesc("muster_gangs",
			"Gangs that have pods, by phase as the status of their PodGroups has it.", []string{"phase"}, nil),
		idle: prometheus.NewDesc(
			"muster_gang_idle_resources",
			"What nodes keep for members of gangs that have not started, by resource: CPU in cores, memory and storage in bytes.",
			[]string{"resource"},
			nil,
		),
	}
}

// Describe implements [prometheus.Collector].
func (c *census) Describe(descs chan<- *prometheus.Desc) {
	descs <- c.gangs
	descs <- c.idle
}

// Collect implements [prometheus.Collector].
func (c *census) Collect(values chan<- prometheus.Metric) {
	phases, idle := c.count()
	for phase, count := range phases {
		values <- prometheus.MustNewConstMetric(c.gangs, prometheus.GaugeValue, float64(count), string(phase))
	}
	send := func(amount float64, resource string) {
		values <- prometheus.MustNewConstMetric(c.idle, prometheus.GaugeValue, amount, resource)
	}
	send(float64(idle.MilliCPU)/1000, "cpu")
	send(float64(idle.Memory), "memory")
	send(float64(idle.EphemeralStorage), "ephemeral-storage")
	for _, scalar := range idle.Scalars {
		send(float64(scalar.Amount), string(scalar.Name.Value()))
	}
}

// count returns how many gangs are in each phase, and what members that have places or are held ask for
// in all, if their gang has not started.
func (m *Manager) count() (map[v1alpha1.PodGroupPhase]int, cluster.Resources) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.look()
	return m.state.Census()
}

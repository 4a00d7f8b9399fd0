package gang

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
)

// Observer says how far gangs are.
type Observer struct {
	machine  *machine
	patience time.Duration // to look for places
}

// Report says how far all gangs are, in the order in which they are planned.
func (o *Observer) Report() []core.Summary {
	o.machine.mu.Lock()
	defer o.machine.mu.Unlock()
	o.machine.look()
	return o.machine.state.Report(o.machine.moment())
}

// About says all about the gangs of a name: there may be one for each label.
func (o *Observer) About(name types.NamespacedName) []core.Details {
	o.machine.mu.Lock()
	defer o.machine.mu.Unlock()
	o.machine.look()
	return o.machine.state.About(name, o.machine.moment())
}

// Member says how far a pod is as a member of a gang, and how far that is. It reports false for a pod
// that is of none.
func (o *Observer) Member(uid types.UID) (core.Summary, core.Member, bool) {
	o.machine.mu.Lock()
	defer o.machine.mu.Unlock()
	o.machine.receive()
	o.machine.apply(core.LookedAt{UID: uid})
	return o.machine.state.Member(uid, o.machine.moment())
}

// moment returns the present one.
func (m *machine) moment() core.Moment {
	return core.Moment{Now: m.clock.Now(), Generation: m.view.Generation()}
}

// census is a [prometheus.Collector] of the gangs that exist, and of the room that gangs which have not started
// keep from others.
type census struct {
	machine     *machine
	gangs, idle *prometheus.Desc
}

func newCensus(m *machine) *census {
	return &census{
		machine: m,
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
func (c *census) count() (map[v1alpha1.PodGroupPhase]int, cluster.Resources) {
	c.machine.mu.Lock()
	defer c.machine.mu.Unlock()
	c.machine.look()
	return c.machine.state.Census()
}

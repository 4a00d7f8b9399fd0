package gang

import (
	"github.com/prometheus/client_golang/prometheus"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/record"
)

// Results of an eviction.
const (
	resultEvicted = "evicted"
	resultFailed  = "failed"
)

type metrics struct {
	refusals *prometheus.CounterVec
	denials  map[error]prometheus.Counter // by the error with which held calls end
	planning prometheus.Histogram
	quorum   prometheus.Histogram
	holds    prometheus.Histogram

	preemptions, victims prometheus.Counter
	evictions            *prometheus.CounterVec
	recording            prometheus.Histogram
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		refusals: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_gang_refusals_total",
			Help: "Filter calls about members of gangs that were answered with no node, by reason.",
		}, []string{"reason"}),
		denials: map[error]prometheus.Counter{},
		planning: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "muster_gang_planning_seconds",
			Help: "Time to look for places for a gang.",
			// 0.1 ms to 1.6 s.
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 15),
		}),
		quorum: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "muster_gang_quorum_seconds",
			Help: "Time from the plan of a gang to its quorum.",
			// 10 ms to 5 min.
			Buckets: prometheus.ExponentialBuckets(0.01, 2, 16),
		}),
		holds: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "muster_gang_hold_seconds",
			Help: "Time that a bind call was held.",
			// 1 ms to 33 s.
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 16),
		}),
		preemptions: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "muster_gang_preemptions_total",
			Help: "Times that pods had to go for a gang.",
		}),
		victims: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "muster_gang_preemption_victims_total",
			Help: "Pods that had to go for gangs, with the rest of gangs that were left with too few (gangs.evict: Whole).",
		}),
	}
	m.evictions = prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "muster_gang_evictions_total",
		Help: "Pods that muster itself had deleted for gangs, as kube-scheduler had not evicted them, by result: evicted, or failed.",
	}, []string{"result"})
	for _, result := range []string{resultEvicted, resultFailed} {
		m.evictions.WithLabelValues(result)
	}
	m.recording = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "muster_gang_recording_seconds",
		Help: "Time to record on the PodGroups of a gang that its members are let go.",
		// 1 ms to 33 s.
		Buckets: prometheus.ExponentialBuckets(0.001, 2, 16),
	})
	for _, reason := range core.Reasons() {
		m.refusals.WithLabelValues(reason)
	}
	denials := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "muster_gang_denials_total",
		Help: "Times that a gang was denied, by reason: no plan was found for it, or it did not come together in time.",
	}, []string{"reason"})
	for err, reason := range map[error]string{
		core.ErrRefused: "unschedulable", core.ErrOutranked: "outranked", core.ErrTimeout: "timeout", core.ErrScheduler: "scheduler",
		core.ErrVictims: "victims",
		core.ErrNoGroup: "invalid", core.ErrUnrecorded: "unrecorded", record.ErrFenced: "fenced",
	} {
		m.denials[err] = denials.WithLabelValues(reason)
	}
	r.MustRegister(m.refusals, denials, m.planning, m.quorum, m.holds, m.recording, m.preemptions, m.victims, m.evictions)
	return m
}

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

package gang

import (
	"github.com/prometheus/client_golang/prometheus"

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

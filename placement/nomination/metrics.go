package nomination

import "github.com/prometheus/client_golang/prometheus"

// Outcome is how a nomination ended.
type Outcome string

// Outcomes of nominations.
const (
	Confirmed  Outcome = "confirmed"  // the pod was bound to that node
	Elsewhere  Outcome = "elsewhere"  // it was bound to another one
	Overtaken  Outcome = "overtaken"  // the scheduler took the pod up before the nomination was written
	Rejected   Outcome = "rejected"   // the scheduler tried, failed and cleared the nomination
	Superseded Outcome = "superseded" // somebody else nominated the pod to another node
	Changed    Outcome = "changed"    // the pod changed before the nomination was written
	Expired    Outcome = "expired"    // the scheduler did not take the pod up, and the nomination was taken back
	Failed     Outcome = "failed"     // the nomination could not be written
	Outranked  Outcome = "outranked"  // a pod of higher priority needed the place
	Astray     Outcome = "astray"     // the scheduler takes pods in another order, so that nominations were given up
	Gone       Outcome = "gone"       // the pod is gone or being deleted
)

func outcomes() []Outcome {
	return []Outcome{Confirmed, Elsewhere, Overtaken, Rejected, Superseded, Changed, Expired, Failed, Outranked, Astray, Gone}
}

type metrics struct {
	ended    *prometheus.CounterVec
	lifted   *prometheus.CounterVec
	unplaced prometheus.Counter
	lead     prometheus.Histogram
	batch    prometheus.Histogram
	planning prometheus.Histogram
	pods     *prometheus.GaugeVec
}

func newMetrics(r prometheus.Registerer) *metrics {
	m := &metrics{
		ended: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_nominations_total",
			Help: "Nominations by what became of them: confirmed, elsewhere, overtaken, rejected, superseded, changed, expired, failed, " +
				"outranked, astray or gone.",
		}, []string{"outcome"}),
		lifted: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_ahead_gates_lifted_total",
			Help: "Gates of single pods that were lifted, by the reason: placed, unplaced, paused, overdue, not_ours or given_up.",
		}, []string{"reason"}),
		unplaced: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "muster_nomination_unplaced_total",
			Help: "Times that a plan found no node for a pod.",
		}),
		lead: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "muster_nomination_lead_seconds",
			Help: "Time from a nomination that was written to the scheduler's taking the pod up.",
			// 1 ms to 33 s.
			Buckets: prometheus.ExponentialBuckets(0.001, 2, 16),
		}),
		batch: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:    "muster_nomination_batch_pods",
			Help:    "Pods that were placed together.",
			Buckets: prometheus.ExponentialBuckets(1, 2, 10),
		}),
		planning: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name: "muster_nomination_planning_seconds",
			Help: "Time to place a batch of pods.",
			// 0.1 ms to 1.6 s.
			Buckets: prometheus.ExponentialBuckets(0.0001, 2, 15),
		}),
		pods: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "muster_nomination_pods",
			Help: "Pending pods by stage: waiting, resting, planning, held, writing, standing, taken, withdrawing or aside.",
		}, []string{"stage"}),
	}
	for _, outcome := range outcomes() {
		m.ended.WithLabelValues(string(outcome))
	}
	for _, reason := range reasons() {
		m.lifted.WithLabelValues(string(reason))
	}
	for s := range stages {
		m.pods.WithLabelValues(s.String())
	}
	r.MustRegister(m.ended, m.lifted, m.unplaced, m.lead, m.batch, m.planning, m.pods)
	return m
}

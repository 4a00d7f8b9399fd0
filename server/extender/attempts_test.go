package extender

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/gang/core"
	"muster.dev/muster/server/servertest"
)

func TestAttemptsAreCountedByProfileAndResult(t *testing.T) {
	of := func(schedulerName string, pod *corev1.Pod) *corev1.Pod {
		pod.Spec.SchedulerName = schedulerName
		return pod
	}
	tests := []struct {
		name  string
		calls func(b *bench)
		want  map[string]float64 // by profile and result
		// durations are how many were observed: of attempts, of algorithms, of bindings and
		// of preemptions.
		durations [4]int
	}{
		{
			"a pod that is bound", func(b *bench) {
				pod := b.Pending(of("other", servertest.Pod("p", "1")))
				b.Filter(pod, "a")
				servertest.Ask[extenderv1.HostPriorityList](b.Bench, "prioritize", extenderv1.ExtenderArgs{Pod: pod, NodeNames: &[]string{"a"}})
				b.bind(pod, "a")
			}, map[string]float64{"other scheduled": 1}, [4]int{1, 1, 1, 0},
		},
		{
			"a pod that fits nowhere",
			func(b *bench) { b.Filter(servertest.Pod("p", "100"), "a") },
			map[string]float64{"default-scheduler unschedulable": 1},
			[4]int{1, 1, 0, 0},
		},
		{
			"a pod of no profile", func(b *bench) {
				servertest.Ask[extenderv1.ExtenderFilterResult](
					b.Bench,
					"filter",
					extenderv1.ExtenderArgs{Pod: b.Pending(of("who", servertest.Pod("p", "1"))), NodeNames: &[]string{"a"}},
				)
			},
			map[string]float64{" error": 1},
			[4]int{1, 1, 0, 0},
		},
		{"nonsense", func(b *bench) { b.Post("filter", []byte(`{`)) }, map[string]float64{" error": 1}, [4]int{1, 1, 0, 0}},
		{
			"a pod that is asked about twice", func(b *bench) {
				b.Filter(servertest.Pod("p", "1"), "a")
				b.Filter(servertest.Pod("p", "1"), "a")
			}, map[string]float64{"default-scheduler abandoned": 1}, [4]int{0, 1, 0, 0},
		},
		{
			"a pod that the API server does not bind", func(b *bench) {
				pod := b.Pending(servertest.Pod("refused", "1"))
				b.Filter(pod, "a")
				b.bind(pod, "a")
			}, map[string]float64{"default-scheduler error": 1}, [4]int{1, 1, 1, 0},
		},
		{
			"a member of a gang whose call ends by its own time", func(b *bench) {
				b.permits(core.ErrKept)
				pod := b.Pending(servertest.Pod("p", "1"))
				b.Filter(pod, "a")
				b.bind(pod, "a")
			}, map[string]float64{"default-scheduler kept": 1}, [4]int{1, 1, 0, 0},
		},
		{
			"a pod whose bind call comes after a restart of muster", func(b *bench) { b.bindAsIs(b.Pending(servertest.Pod("p", "1")), "a") },
			map[string]float64{"default-scheduler error": 1},
			[4]int{1, 0, 0, 0},
		},
		{
			"a preemption", func(b *bench) {
				servertest.Ask[extenderv1.ExtenderPreemptionResult](
					b.Bench,
					"preempt",
					extenderv1.ExtenderPreemptionArgs{Pod: b.Pending(servertest.Pod("p", "1"))},
				)
			}, map[string]float64{}, [4]int{0, 0, 0, 1},
		},
		{
			"a pod that the watch does not show", func(b *bench) {
				const body = `{"Pod":{"metadata":{"name":"s","uid":"s"},"spec":{"schedulerName":"default-scheduler"}},"NodeNames":["a"]}`
				b.Post("filter", []byte(body))
				b.Post("filter", []byte(body))
				b.Post("preempt", []byte(body))
			}, map[string]float64{}, [4]int{},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t, benchOptions{client: bindings(func(binding *corev1.Binding) error {
				if binding.Name == "refused" {
					return errors.New("refused")
				}
				return nil
			})})
			b.Node("a", "8")
			test.calls(b)
			got, durations := b.attempts()
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("attempts (-want +got):\n%s", diff)
			}
			if durations != test.durations {
				t.Errorf("observed durations %v, want %v", durations, test.durations)
			}
		})
	}
}

// attempts are the attempts that were counted, and how many durations were observed.
func (b *bench) attempts() (results map[string]float64, durations [4]int) {
	b.Helper()
	families, err := b.metrics.Gather()
	if err != nil {
		b.Fatal(err)
	}
	results = map[string]float64{}
	at := map[string]int{
		"muster_e2e_scheduling_duration_seconds": 0, "muster_scheduling_algorithm_duration_seconds": 1, "muster_binding_duration_seconds": 2,
		"muster_scheduling_algorithm_preemption_evaluation_seconds": 3,
	}
	for _, family := range families {
		duration, is := at[family.GetName()]
		for _, metric := range family.GetMetric() {
			if is {
				durations[duration] += int(metric.GetHistogram().GetSampleCount())
			}
			if family.GetName() == "muster_schedule_attempts_total" {
				var labels []string
				for _, label := range metric.GetLabel() {
					labels = append(labels, label.GetValue())
				}
				results[strings.Join(labels, " ")] = metric.GetCounter().GetValue()
			}
		}
	}
	return results, durations
}

func TestMetricsAreNamedAndDescribedAsPrometheusAsks(t *testing.T) {
	b := newBench(t, benchOptions{})
	problems, err := testutil.GatherAndLint(b.metrics)
	if err != nil || len(problems) > 0 {
		t.Errorf("problems %v, error %v", problems, err)
	}
}

func TestNamesThatAnybodyChoosesAreNoLabelsOfMetrics(t *testing.T) {
	b := newBench(t, benchOptions{})
	b.Node("a", "4")
	for i := range 10 {
		pod := servertest.Pod(fmt.Sprint("chosen-", i), "1")
		pod.Spec.SchedulerName = fmt.Sprint("chosen-", i)
		if err := b.Cluster.Set(pod); err != nil {
			t.Fatal(err)
		}
		b.Filter(pod, "a")
		servertest.Ask[extenderv1.ExtenderBindingResult](
			b.Bench,
			"bind",
			extenderv1.ExtenderBindingArgs{PodName: pod.Name, PodNamespace: pod.Namespace, PodUID: pod.UID, Node: "a"},
		)
	}
	families, err := b.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if strings.Contains(label.GetValue(), "chosen") {
					t.Errorf("%s has %s", family.GetName(), metric)
				}
			}
		}
	}
}

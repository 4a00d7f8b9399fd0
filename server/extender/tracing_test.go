package extender

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/server/servertest"
)

func TestAnAttemptIsOneTrace(t *testing.T) {
	tests := []struct {
		name  string
		calls func(b *bench)
		want  []string // of each span its name, after the names of the spans around it, and attributes
	}{
		{
			"a pod that is bound", func(b *bench) {
				pod := b.Pending(servertest.Pod("p", "1"))
				b.Filter(pod, "a")
				servertest.Ask[extenderv1.HostPriorityList](b.Bench, "prioritize", extenderv1.ExtenderArgs{Pod: pod, NodeNames: &[]string{"a"}})
				b.bind(pod, "a")
			}, []string{
				"schedule pod: k8s.pod.name=p muster.profile=default-scheduler muster.result=scheduled",
				"schedule pod/bind: k8s.node.name=a muster.outcome=ok",
				"schedule pod/bind/API server binds:",
				"schedule pod/filter: muster.nodes=1 muster.outcome=ok",
				"schedule pod/prioritize: muster.outcome=ok",
			},
		},
		{
			"a pod that fits nowhere", func(b *bench) { b.Filter(servertest.Pod("p", "100"), "a") }, []string{
				"schedule pod: k8s.pod.name=p muster.profile=default-scheduler muster.result=unschedulable",
				"schedule pod/filter: muster.nodes=1 muster.outcome=unschedulable",
			},
		},
		{
			"a pod that the API server does not bind", func(b *bench) {
				pod := b.Pending(servertest.Pod("refused", "1"))
				b.Filter(pod, "a")
				b.bind(pod, "a")
			}, []string{
				"schedule pod: k8s.pod.name=refused muster.profile=default-scheduler muster.result=error",
				"schedule pod/bind: k8s.node.name=a muster.outcome=error",
				"schedule pod/bind/API server binds:",
				"schedule pod/filter: muster.nodes=1 muster.outcome=ok",
			},
		},
		{
			"a pod that is asked about again", func(b *bench) {
				b.Filter(servertest.Pod("p", "1"), "a")
				b.Filter(b.Pending(servertest.Pod("p", "100")), "a")
			}, []string{
				"schedule pod: k8s.pod.name=p muster.profile=default-scheduler muster.result=abandoned",
				"schedule pod: k8s.pod.name=p muster.profile=default-scheduler muster.result=unschedulable",
				"schedule pod/filter: muster.nodes=1 muster.outcome=ok",
				"schedule pod/filter: muster.nodes=1 muster.outcome=unschedulable",
			},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			spans := tracetest.NewInMemoryExporter()
			b := newBench(t, benchOptions{
				traces: sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)),
				client: bindings(func(binding *corev1.Binding) error {
					if binding.Name == "refused" {
						return errors.New("refused")
					}
					return nil
				}),
			})
			b.Node("a", "8")
			test.calls(b)
			slices.Sort(test.want)
			if diff := cmp.Diff(test.want, spanLines(spans.GetSpans())); diff != "" {
				t.Errorf("spans (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheTimesOfAnAttemptLeadToItsTrace(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	b := newBench(t, benchOptions{traces: sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))})
	b.Node("a", "8")
	b.Filter(servertest.Pod("p", "100"), "a")
	want := spans.GetSpans()[0].SpanContext.TraceID().String()
	families, err := b.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, family := range families {
		for _, metric := range family.Metric {
			for _, bucket := range metric.GetHistogram().GetBucket() {
				for _, label := range bucket.GetExemplar().GetLabel() {
					got[family.GetName()] = append(got[family.GetName()], label.GetName()+" "+label.GetValue())
				}
			}
		}
	}
	if diff := cmp.Diff(map[string][]string{
		"muster_e2e_scheduling_duration_seconds": {"trace_id " + want}, "muster_scheduling_algorithm_duration_seconds": {"trace_id " + want},
	}, got); diff != "" {
		t.Errorf("exemplars (-want +got):\n%s", diff)
	}
}

func TestASpanLiesWithinItsParent(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	b := newBench(t, benchOptions{
		traces: sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)), client: bindings(func(*corev1.Binding) error { return nil }),
	})
	b.Node("a", "8")
	pod := b.Pending(servertest.Pod("p", "1"))
	b.Filter(pod, "a")
	b.bind(pod, "a")
	all := spans.GetSpans()
	for _, span := range all {
		parent := slices.IndexFunc(all, func(other tracetest.SpanStub) bool { return other.SpanContext.SpanID() == span.Parent.SpanID() })
		if parent < 0 {
			if span.Name != "schedule pod" {
				t.Errorf("%s has no parent", span.Name)
			}
			continue
		}
		if over := all[parent]; span.StartTime.Before(over.StartTime) || span.EndTime.After(over.EndTime) || span.EndTime.Before(span.StartTime) {
			t.Errorf("%s, %v to %v, is not within %s, %v to %v", span.Name, span.StartTime, span.EndTime, over.Name, over.StartTime, over.EndTime)
		}
	}
}

// spanLines are spans as lines, in order.
func spanLines(spans tracetest.SpanStubs) []string {
	var lines []string
	for _, span := range spans {
		path, at := span.Name, span
		for at.Parent.IsValid() {
			at = spans[slices.IndexFunc(spans, func(other tracetest.SpanStub) bool { return other.SpanContext.SpanID() == at.Parent.SpanID() })]
			path = at.Name + "/" + path
		}
		var attributes []string
		for _, a := range span.Attributes {
			if a.Key != "k8s.namespace.name" && a.Key != "k8s.pod.uid" && a.Key != "muster.class" {
				attributes = append(attributes, fmt.Sprintf("%s=%s", a.Key, a.Value.String()))
			}
		}
		slices.Sort(attributes)
		lines = append(lines, strings.TrimSpace(path+": "+strings.Join(attributes, " ")))
	}
	slices.Sort(lines)
	return lines
}

func TestLogLinesAndTracesTellTheClassByWhichItIsLookedUp(t *testing.T) {
	var log servertest.Log
	spans := tracetest.NewInMemoryExporter()
	b := newBench(t, benchOptions{
		log: &log, client: bindings(func(*corev1.Binding) error { return errors.New("refused") }),
		traces: sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)),
	})
	b.Node("a", "4")
	yes := true
	pod := servertest.Pod("p", "1")
	pod.OwnerReferences = []metav1.OwnerReference{{UID: "controller-uid", Controller: &yes}}
	b.Pending(pod)
	b.Filter(pod, "a")
	servertest.Ask[extenderv1.HostPriorityList](b.Bench, "prioritize", extenderv1.ExtenderArgs{Pod: pod, NodeNames: &[]string{"a"}})
	servertest.Ask[extenderv1.ExtenderPreemptionResult](b.Bench, "preempt", extenderv1.ExtenderPreemptionArgs{Pod: pod})
	b.bind(pod, "a")
	b.Filter(servertest.Pod("alone", "1"), "a")

	class := b.profiles.Of(corev1.DefaultSchedulerName).Classes()[0].Hash
	about := func(pod, class string) string {
		return "pod=default/" + pod + " profile=default-scheduler class=" + class
	}
	for _, want := range []string{
		"verb=filter " + about("p", class), "verb=prioritize " + about("p", class),
		"verb=preempt " + about("p", class), "verb=bind " + about("p", class),
		`"bind failed" ` + about("p", class) + " node=a", "verb=filter " + about("alone", `""`),
	} {
		if !strings.Contains(log.String(), want+" ") {
			t.Errorf("no line has %s:\n%s", want, log.String())
		}
	}
	if of := attribute.String("muster.class", class); !slices.ContainsFunc(
		spans.GetSpans(), func(span tracetest.SpanStub) bool { return slices.Contains(span.Attributes, of) },
	) {
		t.Errorf("no span is of class %s", class)
	}
}

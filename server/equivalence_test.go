package server

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
)

func TestEquivalenceTellsWhatIsRemembered(t *testing.T) {
	b := newBench(t, benchOptions{})
	b.node("a", "4")
	b.node("b", "0", cordoned)
	pod := newPod("p", "1")
	yes := true
	pod.OwnerReferences = append(pod.OwnerReferences, metav1.OwnerReference{UID: "controller-uid", Controller: &yes})
	b.filter(pod, "a")
	b.filter(pod, "a")

	_, page := b.get("/debug/equivalence")
	row := regexp.MustCompile(`default-scheduler +([0-9a-f]{16}) +default/p +controller-uid +2 +50.0% +\d+ +2 +\S+ +1\n`).
		FindStringSubmatch(page)
	if row == nil {
		t.Fatalf("the class is not on the page:\n%s", page)
	}
	class := "/debug/equivalence/" + row[1]
	for path, want := range map[string][]string{
		class: {"class " + row[1] + " of pod default/p, as of generation 2", "a | true", "b | false | node(s) were unschedulable"},
		class + "/nodes/b": {
			", node b", "NodeUnschedulable | against", "NodeResourcesFit | against | Insufficient cpu", "TaintToleration | fits",
			"NodePorts | not concerned",
		},
	} {
		status, page := b.get(path)
		page = regexp.MustCompile(`  +`).ReplaceAllString(page, " | ")
		for _, line := range want {
			if !strings.Contains(page, line) || status != http.StatusOK {
				t.Errorf("%s answered %d without %q:\n%s", path, status, line, page)
			}
		}
	}

	b.node("b", "0") // and the verdicts of the other predicates may no longer hold
	if _, page := b.get(class + "/nodes/b"); strings.Contains(page, "Insufficient cpu") ||
		!strings.Contains(page, "node(s) were unschedulable") {
		t.Errorf("after a change it answered:\n%s", page)
	}
	// A node that comes under the index of another one is none that the class was judged on.
	if err := b.cluster.Delete(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}); err != nil {
		t.Fatal(err)
	}
	b.node("c", "4", cordoned)
	if _, page := b.get(class); strings.Contains(page, "\nc ") || !strings.Contains(page, "\nb ") {
		t.Errorf("after a node went and another one came it answered:\n%s", page)
	}
	for path, want := range map[string]string{
		"/debug/equivalence/0123":      `class: none of hash "0123" is remembered`,
		class + "/nodes/nowhere":       `node: nothing is remembered of a node "nowhere"`,
		"/debug/equivalence/0/nodes/a": `class: none of hash "0" is remembered`,
	} {
		if status, page := b.get(path); status != http.StatusNotFound || !strings.Contains(page, want) {
			t.Errorf("%s answered %d %s", path, status, page)
		}
	}
}

func TestLogLinesAndTracesTellTheClassByWhichItIsLookedUp(t *testing.T) {
	var log logBuffer
	spans := tracetest.NewInMemoryExporter()
	b := newBench(t, benchOptions{
		log: &log, client: bindings(func(*corev1.Binding) error { return errors.New("refused") }),
		traces: sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)),
	})
	b.node("a", "4")
	yes := true
	pod := newPod("p", "1")
	pod.OwnerReferences = []metav1.OwnerReference{{UID: "controller-uid", Controller: &yes}}
	b.pending(pod)
	b.filter(pod, "a")
	ask[extenderv1.HostPriorityList](b, "prioritize", extenderv1.ExtenderArgs{Pod: pod, NodeNames: &[]string{"a"}})
	ask[extenderv1.ExtenderPreemptionResult](b, "preempt", extenderv1.ExtenderPreemptionArgs{Pod: pod})
	b.bind(pod, "a")
	b.filter(newPod("alone", "1"), "a")

	class := b.server.stores.profiles.Of(corev1.DefaultSchedulerName).Classes()[0].Hash
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

func TestPredicatesListsWhatEachOneReads(t *testing.T) {
	b := newBench(t, benchOptions{})
	if _, page := b.get("/debug/predicates"); !strings.Contains(page, "allocatable,requested") {
		t.Errorf("the aspects of NodeResourcesFit are not on the page:\n%s", page)
	}
}

package extender

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/server/body"
	"muster.dev/muster/server/leadership"
	"muster.dev/muster/server/servertest"
)

func TestFilterAnswersWithTheNodesThatFitAndWhyOthersDoNot(t *testing.T) {
	b := newBench(t, benchOptions{})
	b.Node("small", "1")
	b.Node("big", "8")
	b.Node("cordoned", "8", servertest.Cordoned)
	want := extenderv1.ExtenderFilterResult{
		NodeNames: &[]string{"big"},
		FailedAndUnresolvableNodes: extenderv1.FailedNodesMap{
			"small":    "Insufficient cpu",
			"cordoned": "node(s) were unschedulable",
			"ghost":    "node(s) were not known to muster yet",
		},
	}
	if diff := cmp.Diff(want, b.Filter(servertest.Pod("p", "2"), "small", "big", "cordoned", "ghost")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestFilterAnswersWithObjectsWhenAskedWithObjects(t *testing.T) {
	b := newBench(t, benchOptions{})
	b.Node("small", "1")
	b.Node("big", "8")
	sent := &corev1.NodeList{Items: []corev1.Node{
		{ObjectMeta: metav1.ObjectMeta{Name: "small"}},
		{ObjectMeta: metav1.ObjectMeta{Name: "big", Labels: map[string]string{"kept": "yes"}}},
	}}
	got := servertest.Ask[extenderv1.ExtenderFilterResult](
		b.Bench,
		"filter",
		extenderv1.ExtenderArgs{Pod: servertest.Pod("p", "2"), Nodes: sent},
	)
	want := extenderv1.ExtenderFilterResult{
		Nodes:                      &corev1.NodeList{Items: sent.Items[1:]},
		FailedAndUnresolvableNodes: extenderv1.FailedNodesMap{"small": "Insufficient cpu"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestExtenderSelectionAnswersWithTheBestNodeAndAssumesThePodThere(t *testing.T) {
	b := newBench(t, benchOptions{selection: config.NodeSelectionMuster})
	b.Node("a", "4")
	b.Node("b", "8")
	if got := b.Filter(servertest.Pod("first", "3"), "a", "b"); !cmp.Equal(got.NodeNames, &[]string{"b"}) {
		t.Fatalf("the emptier node is b, got %v", *got.NodeNames)
	}
	if got := b.Filter(servertest.Pod("second", "3"), "a", "b"); !cmp.Equal(got.NodeNames, &[]string{"b"}) {
		t.Fatalf("b is left 2/8 free, a would be 1/4: got %v", *got.NodeNames)
	}
	if got := b.Filter(servertest.Pod("third", "3"), "a", "b"); !cmp.Equal(got.NodeNames, &[]string{"a"}) {
		t.Fatalf("with two pods assumed on b only a has room, got %v", *got.NodeNames)
	}
	full := b.Filter(servertest.Pod("fourth", "3"), "a", "b")
	if len(*full.NodeNames) != 0 || len(full.FailedAndUnresolvableNodes) != 2 {
		t.Fatalf("no node has room, got %+v", full)
	}
	// The scheduler asks for the third again: its old place is its own to take.
	if got := b.Filter(servertest.Pod("third", "3"), "a", "b"); !cmp.Equal(got.NodeNames, &[]string{"a"}) {
		t.Fatalf("a pod does not stand in its own way, got %v", *got.NodeNames)
	}
}

func TestAmongEqualsTheOneOfTheLeastMisfitIsTaken(t *testing.T) {
	b := newBench(t, benchOptions{selection: config.NodeSelectionMuster})
	gpus := func(n string) func(*corev1.Node) {
		return func(node *corev1.Node) { node.Status.Allocatable["example.com/gpu"] = resource.MustParse(n) }
	}
	b.Node("eight", "8", gpus("8"))
	b.Node("two", "8", gpus("2"))
	b.Node("four", "8", gpus("4"))
	one := servertest.Pod("one", "4")
	one.Spec.Containers[0].Resources.Requests["example.com/gpu"] = resource.MustParse("1")
	if got := b.Filter(one, "eight", "two", "four"); !cmp.Equal(got.NodeNames, &[]string{"two"}) {
		t.Errorf("of two GPUs one can go with half of the CPU, of more there are more beyond it: got %v", *got.NodeNames)
	}
}

func TestConcurrentCallsNeverGiveTheSameRoomTwice(t *testing.T) {
	b := newBench(t, benchOptions{selection: config.NodeSelectionMuster})
	var nodes []string
	for i := range 5 {
		nodes = append(nodes, fmt.Sprintf("n%d", i))
		b.Node(nodes[i], "4")
	}
	var wg sync.WaitGroup
	placed := make(chan string, 64)
	for i := range 64 {
		wg.Go(func() {
			if got := b.Filter(servertest.Pod(fmt.Sprintf("p%d", i), "1"), nodes...); len(*got.NodeNames) == 1 {
				placed <- (*got.NodeNames)[0]
			}
		})
	}
	wg.Wait()
	close(placed)
	count := map[string]int{}
	for node := range placed {
		count[node]++
	}
	if diff := cmp.Diff(map[string]int{"n0": 4, "n1": 4, "n2": 4, "n3": 4, "n4": 4}, count); diff != "" {
		t.Errorf("20 CPUs hold 20 pods (-want +got):\n%s", diff)
	}
}

func TestPrioritizeTellsHowFarNodesAreAboveTheLowestScore(t *testing.T) {
	b := newBench(t, benchOptions{profiles: "profiles: [{nodeSelection: Muster}]"})
	b.Node("empty", "10")
	b.Node("half", "10")
	taken := servertest.Pod("taken", "5")
	taken.Spec.NodeName = "half"
	if err := b.Cluster.Set(taken); err != nil {
		t.Fatal(err)
	}
	nodes := []string{"empty", "half", "ghost"}
	got := servertest.Ask[extenderv1.HostPriorityList](
		b.Bench,
		"prioritize",
		extenderv1.ExtenderArgs{Pod: servertest.Pod("p", "5"), NodeNames: &nodes},
	)
	// Memory: 200 MiB by default of 64 GiB, 99 on the empty node; 99 (400 MiB) on the other.
	// CPU:    5 of 10 is 50 on the empty node; 10 of 10 is 0.  LeastAllocated: 74 and 49.
	// Balanced: the pod asks for CPU alone. empty: |0.5-0|/2 = 0.25 → 75 with, 100 without: 50+(50-25)/2 = 62.
	//           half: |1-0|/2 = 0.5 → 50 with, 75 without: 62.
	// Totals 136 and 111: 13.6 and 11.1, which are 14 and 11.
	want := extenderv1.HostPriorityList{{Host: "empty", Score: 3}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	nodes = []string{"empty", "empty"}
	if got := servertest.Ask[extenderv1.HostPriorityList](
		b.Bench,
		"prioritize",
		extenderv1.ExtenderArgs{Pod: servertest.Pod("p", "5"), NodeNames: &nodes},
	); len(
		got,
	) != 0 {
		t.Errorf("nodes that are alike were told apart: %v", got)
	}
}

func TestPreemptKeepsTheNodesWhereEvictionHelps(t *testing.T) {
	b := newBench(t, benchOptions{})
	for _, name := range []string{"helps", "too-little", "tainted"} {
		b.Node(name, "4", func(node *corev1.Node) {
			if name == "tainted" {
				node.Spec.Taints = []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoSchedule}}
			}
		})
		for _, cpu := range []string{"1", "3"} {
			victim := servertest.Pod(name+"-"+cpu, cpu)
			victim.Spec.NodeName = name
			if err := b.Cluster.Set(victim); err != nil {
				t.Fatal(err)
			}
		}
	}
	victims := func(names ...string) *extenderv1.MetaVictims {
		v := &extenderv1.MetaVictims{NumPDBViolations: 1}
		for _, name := range names {
			v.Pods = append(v.Pods, &extenderv1.MetaPod{UID: "uid-" + name})
		}
		return v
	}
	request := extenderv1.ExtenderPreemptionArgs{Pod: servertest.Pod("p", "3"), NodeNameToMetaVictims: map[string]*extenderv1.MetaVictims{
		"helps":      victims("helps-3"),
		"too-little": victims("too-little-1"),
		"tainted":    victims("tainted-3", "tainted-1"),
		"ghost":      victims("x"),
		"nobody":     victims(),
	}}
	want := extenderv1.ExtenderPreemptionResult{NodeNameToMetaVictims: map[string]*extenderv1.MetaVictims{"helps": victims("helps-3")}}
	if diff := cmp.Diff(want, servertest.Ask[extenderv1.ExtenderPreemptionResult](b.Bench, "preempt", request)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	whole := extenderv1.ExtenderPreemptionArgs{Pod: servertest.Pod("p", "3"), NodeNameToVictims: map[string]*extenderv1.Victims{
		"helps": {Pods: []*corev1.Pod{servertest.Pod("helps-3", "3")}, NumPDBViolations: 1},
	}}
	if diff := cmp.Diff(want, servertest.Ask[extenderv1.ExtenderPreemptionResult](b.Bench, "preempt", whole)); diff != "" {
		t.Errorf("with whole pods (-want +got):\n%s", diff)
	}
}

func TestAnUnknownProfileIsAnErrorThatNamesTheKnownOnes(t *testing.T) {
	b := newBench(t, benchOptions{})
	pod := servertest.Pod("p", "1")
	pod.Spec.SchedulerName = "nobody"
	want := `no profile for spec.schedulerName "nobody"; the profiles are: default-scheduler, other`
	if got := b.Filter(pod, "n"); got.Error != want {
		t.Errorf("filter answered %q", got.Error)
	}
	body, err := json.Marshal(extenderv1.ExtenderArgs{Pod: pod, NodeNames: &[]string{}})
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"prioritize", "preempt"} {
		if status, answer := b.Post(verb, body); status != http.StatusUnprocessableEntity || string(answer) != want+"\n" {
			t.Errorf("%s answered %d %q", verb, status, answer)
		}
	}
}

func TestBadRequestsAreAnsweredAndCounted(t *testing.T) {
	b := newBench(t, benchOptions{maxBody: 1000})
	large := append([]byte(`{"Pod":{"metadata":{"name":"`), bytes.Repeat([]byte("x"), 2000)...)
	for name, test := range map[string]struct {
		verb   string
		body   []byte
		status int
		answer string
	}{
		"truncated JSON": {"filter", []byte(`{"Pod":{"meta`), 400, "Pod: unexpected EOF"},
		"no pod":         {"prioritize", []byte(`{"NodeNames":[]}`), 400, "Pod: missing"},
		"a null pod":     {"filter", []byte(`{"Pod":null}`), 400, "Pod: missing"},
		"a pod of another shape": {
			"filter", []byte(`{"Pod":{"spec":{"containers":{}}}}`), 400, "Pod: spec.containers: must be a list, and is object",
		},
		"a body beyond the bound": {
			"filter", large, 413, "the body is larger than 1000 bytes (which is enough for any call)",
		},
		"preempt without a pod":    {"preempt", []byte(`{}`), 400, "Pod: missing"},
		"bind without a UID":       {"bind", []byte(`{"PodName":"p","PodNamespace":"n","Node":"x"}`), 400, "PodUID: missing"},
		"bind with something else": {"bind", []byte(`7`), 400, "unexpected byte '7' instead of '{'"},
	} {
		t.Run(name, func(t *testing.T) {
			status, answer := b.Post(test.verb, test.body)
			if status != test.status || string(answer) != test.answer+"\n" {
				t.Errorf("answered %d %q", status, answer)
			}
		})
	}
	if status := statusOf(t, http.MethodGet, b.URL+"/filter"); status != http.StatusMethodNotAllowed {
		t.Errorf("GET /filter answered %d", status)
	}
	if status := statusOf(t, http.MethodPost, b.URL+"/nothing"); status != http.StatusNotFound {
		t.Errorf("POST /nothing answered %d", status)
	}
	if got := counted(t, b.metrics, "filter", outcomeTooLarge); got != 1 {
		t.Errorf("%d calls counted as too large", got)
	}
}

func statusOf(t *testing.T, method, url string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
}

// counted is how many calls of a verb had an outcome.
func counted(t *testing.T, registry *prometheus.Registry, verb, outcome string) uint64 {
	t.Helper()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var count uint64
	for _, family := range families {
		if family.GetName() != "muster_verb_duration_seconds" {
			continue
		}
		for _, metric := range family.GetMetric() {
			labels := map[string]string{}
			for _, label := range metric.GetLabel() {
				labels[label.GetName()] = label.GetValue()
			}
			if labels["verb"] == verb && labels["outcome"] == outcome {
				count += metric.GetHistogram().GetSampleCount()
			}
		}
	}
	return count
}

func TestCallsAreRefusedUntilReady(t *testing.T) {
	b := newBench(t, benchOptions{ready: func() error { return leadership.ErrNotLeader }})
	status, answer := b.Post("filter", []byte(`{"Pod":{}}`))
	if status != http.StatusServiceUnavailable || string(answer) != "another replica is the leader\n" {
		t.Errorf("answered %d %q", status, answer)
	}
}

func TestACallThatMayWaitIsAnsweredAsItWasToldLast(t *testing.T) {
	var why error
	b := newBench(t, benchOptions{
		ready: func() error { return nil },
		await: func(context.Context) error { return why },
	})
	for _, why = range []error{leadership.ErrTakingOver, nil} {
		want := http.StatusOK
		if why != nil {
			want = http.StatusServiceUnavailable
		}
		if status, answer := b.Post("filter", []byte(`{"Pod":{"metadata":{"name":"p"}}}`)); status != want {
			t.Errorf("after %v it is answered %d %q", why, status, answer)
		}
	}
}

func TestAPanicFailsItsOwnCallOnly(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	registry := prometheus.NewRegistry()
	bodies := body.NewReaders(registry, body.Limits{Body: 1000, InFlight: 1 << 20, Timeout: time.Minute})
	v := newCalls(log, registry, nil, bodies, func() error { return nil })
	web := httptest.NewServer(v.handler(served("filter", func(_ context.Context, body []byte, m *memory) error {
		if string(body) == "boom" {
			panic(errors.New("a bug"))
		}
		m.reply.RawStr("{}")
		return nil
	})))
	defer web.Close()
	b := &servertest.Bench{TB: t, URL: web.URL}
	if status, answer := b.Post("", []byte("boom")); status != 500 || string(answer) != "panic: a bug\n" {
		t.Errorf("answered %d %q", status, answer)
	}
	if status, _ := b.Post("", []byte("fine")); status != 200 {
		t.Errorf("the next call answered %d", status)
	}
	if got := counted(t, registry, "filter", outcomePanic); got != 1 {
		t.Errorf("%d panics counted", got)
	}
}

package loadreplay

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/config/v1alpha2"
	"muster.dev/muster/cluster"
	"muster.dev/muster/server"
)

// musterConfig has LoadAware as the only score, with its defaults except for memory, which the
// traces say nothing of.
const musterConfig = `
apiVersion: ` + v1alpha2.APIVersion + `
kind: ` + v1alpha2.Kind + `
profiles:
  - schedulerName: default-scheduler
    nodeSelection: %s
    equivalence: Template
    plugins:
      filter:
        enabled: [{name: LoadAware}]
      score:
        enabled: [{name: LoadAware}]
        disabled: [{name: "*"}]
    pluginConfig:
      - name: LoadAware
        args: {resourceWeights: {cpu: 1}, usageThresholds: {cpu: %d}}
`

// muster is a Rule that asks the real handlers.
type muster struct {
	queue    *queue
	cluster  *cluster.Cluster
	handler  http.Handler
	names    []string
	numbers  map[string]int
	pods     map[*Pod]*corev1.Pod
	selected config.NodeSelection
}

// Muster returns the rule that a profile of muster is.
func Muster(selection config.NodeSelection) Maker {
	return func(w *Workload, q *queue) (Rule, error) { return newMuster(w, q, selection) }
}

func newMuster(w *Workload, q *queue, selection config.NodeSelection) (*muster, error) {
	cfg, err := v1alpha2.Decode(fmt.Appendf(nil, musterConfig, selection, threshold))
	if err != nil {
		return nil, err
	}
	log, registry := slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	m := &muster{queue: q, numbers: map[string]int{}, pods: map[*Pod]*corev1.Pod{}, selected: selection}
	m.cluster = cluster.New(cluster.Options{
		Logger: log, Registerer: registry, AssumeTTL: cfg.Timeouts.Assume(), Clock: simulated{queue: q},
	})
	for i := range w.Nodes {
		name := fmt.Sprintf("node-%d", i)
		m.names, m.numbers[name] = append(m.names, name), i
		if err := m.cluster.Set(&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
				corev1.ResourceCPU:    *resource.NewQuantity(w.Cores, resource.DecimalSI),
				corev1.ResourceMemory: resource.MustParse("1Ti"), corev1.ResourcePods: resource.MustParse("1000"),
			}},
		}); err != nil {
			return nil, err
		}
	}
	client, err := kubernetes.NewForConfig(&rest.Config{Host: "http://simulated", Transport: binds{}, QPS: -1})
	if err != nil {
		return nil, err
	}
	m.handler, err = server.NewVerbs(server.VerbsOptions{
		Config: cfg, Cluster: m.cluster, Client: client, Logger: log, Registerer: registry, Pick: w.ties(),
	})
	return m, err
}

// binds is an API server that binds every pod.
type binds struct{}

// RoundTrip implements [http.RoundTripper].
func (binds) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		defer r.Body.Close()
	}
	return &http.Response{
		StatusCode: http.StatusCreated, Request: r, Header: http.Header{"Content-Type": {"application/json"}},
		Body: io.NopCloser(bytes.NewBufferString(`{"kind":"Status","apiVersion":"v1","status":"Success"}`)),
	}, nil
}

// call asks a verb.
func (m *muster) call(verb string, arguments, answer any) error {
	body, err := json.Marshal(arguments)
	if err != nil {
		return err
	}
	recorder := httptest.NewRecorder()
	m.handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodPost, "/"+verb, bytes.NewReader(body)))
	if recorder.Code != http.StatusOK {
		return fmt.Errorf("%s answers %d: %s", verb, recorder.Code, recorder.Body)
	}
	return json.Unmarshal(recorder.Body.Bytes(), answer)
}

// Created implements Rule.
func (m *muster) Created(pod *Pod) {
	object := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: metav1.NamespaceDefault, Name: "pod-" + strconv.Itoa(pod.ID), UID: types.UID(strconv.Itoa(pod.ID)), ResourceVersion: "1",
		},
		Spec: corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName, Containers: []corev1.Container{{
			Name: "main", Resources: corev1.ResourceRequirements{
				Requests: corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(pod.Request, resource.DecimalSI)},
				Limits:   corev1.ResourceList{corev1.ResourceCPU: *resource.NewMilliQuantity(pod.Limit, resource.DecimalSI)},
			},
		}}},
	}
	m.pods[pod] = object
	m.set(object)
}

// set shows a pod to the view.
func (m *muster) set(pod *corev1.Pod) {
	if err := m.cluster.Set(pod); err != nil {
		panic(err) // it takes pods
	}
}

// Ask implements Rule.
func (m *muster) Ask(pod *Pod, candidates []int) ([]int, []int64, error) {
	var names []string
	for _, node := range candidates {
		names = append(names, m.names[node])
	}
	arguments := extenderv1.ExtenderArgs{Pod: m.pods[pod], NodeNames: &names}
	var filtered extenderv1.ExtenderFilterResult
	if err := m.call("filter", arguments, &filtered); err != nil {
		return nil, nil, err
	}
	if filtered.Error != "" {
		return nil, nil, fmt.Errorf("filter: %s", filtered.Error)
	}
	if filtered.NodeNames == nil {
		return nil, nil, nil
	}
	var fitting []int
	for _, name := range *filtered.NodeNames {
		fitting = append(fitting, m.numbers[name])
	}
	if len(fitting) < 2 || m.selected != config.NodeSelectionScheduler {
		return fitting, nil, nil
	}
	arguments.NodeNames = filtered.NodeNames
	var priorities extenderv1.HostPriorityList
	if err := m.call("prioritize", arguments, &priorities); err != nil {
		return nil, nil, err
	}
	byNode := make(map[int]int64, len(priorities))
	for _, p := range priorities {
		byNode[m.numbers[p.Host]] = p.Score
	}
	var scores []int64
	for _, node := range fitting {
		scores = append(scores, byNode[node])
	}
	return fitting, scores, nil
}

// Picked implements Rule: an extender is not told.
func (*muster) Picked(*Pod, int) {}

// Bind implements Rule.
func (m *muster) Bind(pod *Pod, node int) error {
	object := m.pods[pod]
	var result extenderv1.ExtenderBindingResult
	if err := m.call("bind", extenderv1.ExtenderBindingArgs{
		PodName: object.Name, PodNamespace: object.Namespace, PodUID: object.UID, Node: m.names[node],
	}, &result); err != nil {
		return err
	}
	if result.Error != "" {
		return fmt.Errorf("bind: %s", result.Error)
	}
	bound := object.DeepCopy()
	bound.ResourceVersion, bound.Spec.NodeName = "2", m.names[node]
	bound.Status.Conditions = []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(m.queue.now.Truncate(time.Second)),
	}}
	m.pods[pod] = bound
	return nil
}

// Seen implements Rule.
func (m *muster) Seen(pod *Pod, _ int) { m.set(m.pods[pod]) }

// Ended implements Rule.
func (m *muster) Ended(pod *Pod) {
	if err := m.cluster.Delete(m.pods[pod]); err != nil {
		panic(err) // it takes pods
	}
	delete(m.pods, pod)
}

// Reported implements Rule.
func (m *muster) Reported(node int, r Report) {
	usage := &cluster.Usage{
		Updated: r.At, Seen: r.At, Interval: reportInterval,
		Node: cluster.Resources{MilliCPU: r.Used}, Pods: make(map[types.NamespacedName]cluster.PodUsage, len(r.Pods)),
	}
	for pod, used := range r.Pods {
		object := m.pods[pod]
		usage.Pods[types.NamespacedName{Namespace: object.Namespace, Name: object.Name}] = cluster.PodUsage{
			Used: cluster.Resources{MilliCPU: used},
		}
	}
	m.cluster.SetUsage(m.names[node], usage)
}

package servertest

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/cluster"
)

// Bench is a cluster of the test's own, and an address at which it is asked about.
type Bench struct {
	testing.TB
	Cluster *cluster.Cluster
	URL     string
}

// Node adds a node with a number of CPUs, or changes it.
func (b *Bench) Node(name, cpu string, change ...func(*corev1.Node)) {
	b.Helper()
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse(cpu),
			corev1.ResourceMemory: resource.MustParse("64Gi"),
			corev1.ResourcePods:   resource.MustParse("110"),
		}},
	}
	for _, f := range change {
		f(node)
	}
	if err := b.Cluster.Set(node); err != nil {
		b.Fatal(err)
	}
}

// Cordoned makes a node one that takes no pods.
func Cordoned(node *corev1.Node) { node.Spec.Unschedulable = true }

// Pod returns a pod of the default scheduler that asks for a number of CPUs.
func Pod(name, cpu string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", UID: types.UID("uid-" + name), ResourceVersion: "1"},
		Spec: corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName, Containers: []corev1.Container{{
			Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
		}}},
	}
}

// Pending makes the watch show a pod without a node.
func (b *Bench) Pending(pod *corev1.Pod) *corev1.Pod {
	b.Helper()
	if err := b.Cluster.Set(pod.DeepCopy()); err != nil {
		b.Fatal(err)
	}
	return pod
}

// caller is patient: members of gangs are held.
func caller() *http.Client { return &http.Client{Timeout: time.Hour} }

// Post sends a body as it is and returns status and answer.
func (b *Bench) Post(verb string, body []byte) (int, []byte) {
	b.Helper()
	request, err := http.NewRequestWithContext(b.Context(), http.MethodPost, b.URL+"/"+verb, bytes.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := caller().Do(request)
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		b.Fatal(err)
	}
	return response.StatusCode, answer
}

// Get asks for a page, with headers, each given as a name and a value.
func (b *Bench) Get(path string, header ...string) (int, string) {
	b.Helper()
	request, err := http.NewRequestWithContext(b.Context(), http.MethodGet, b.URL+path, nil)
	if err != nil {
		b.Fatal(err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := caller().Do(request)
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	page, err := io.ReadAll(response.Body)
	if err != nil {
		b.Fatal(err)
	}
	return response.StatusCode, string(page)
}

// Ask calls a verb, which must answer.
func Ask[Answer any](b *Bench, verb string, request any) Answer {
	b.Helper()
	body, err := json.Marshal(request)
	if err != nil {
		b.Fatal(err)
	}
	status, raw := b.Post(verb, body)
	var answer Answer
	if err := json.Unmarshal(raw, &answer); err != nil || status != http.StatusOK {
		b.Fatalf("%s answered %d %q: %v", verb, status, raw, err)
	}
	return answer
}

// Filter calls filter for a pod. If the watch does not show the pod as pending yet, Filter has it do so first.
func (b *Bench) Filter(pod *corev1.Pod, nodes ...string) extenderv1.ExtenderFilterResult {
	b.Helper()
	if b.Cluster.PendingPod(pod.UID) == nil {
		b.Pending(pod)
	}
	return Ask[extenderv1.ExtenderFilterResult](b, "filter", extenderv1.ExtenderArgs{Pod: pod, NodeNames: &nodes})
}

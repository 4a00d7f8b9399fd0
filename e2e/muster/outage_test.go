package muster_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// patience covers the scheduler's and the informers' backoff after an outage.
const patience = 90 * time.Second

func TestMusterOutlivesAnOutageOfTheAPIServer(t *testing.T) {
	ctx := t.Context()
	cp := controlplane.ForTest(t, controlplane.Options{})
	server, err := muster.Start(ctx, muster.Options{ControlPlane: cp, Selection: muster.Extender, Progress: t.Output()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Stop)
	config, err := server.SchedulerConfig(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := cp.StartScheduler(ctx, controlplane.SchedulerOptions{Config: config}); err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(cp.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	cluster := workload.Generate(workload.Shape{Nodes: 10})
	cluster.Ready()
	if err := cluster.CreateNodes(ctx, client); err != nil {
		t.Fatal(err)
	}
	before := schedule(t, client, "before")

	cp.StopAPIServer()
	if reason := bind(ctx, t, server.URL(), before); reason != "" {
		t.Errorf("binding a pod to the node that it is on, without an API server: %s", reason)
	}
	if err := cp.StartAPIServer(ctx); err != nil {
		t.Fatal(err)
	}

	schedule(t, client, "after")
	if reason := bind(ctx, t, server.URL(), before); reason != "" {
		t.Errorf("binding a pod again to the node that it is bound to: %s", reason)
	}
	if err := server.Err(); err != nil {
		t.Error(err)
	}
}

// schedule creates a pod and waits until it is bound.
func schedule(t *testing.T, client kubernetes.Interface, name string) *corev1.Pod {
	t.Helper()
	pods := client.CoreV1().Pods(workload.Namespace)
	pod, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Image: "example.com/main",
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1")}},
		}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	err = wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		pod, err = pods.Get(ctx, name, metav1.GetOptions{})
		return err == nil && pod.Spec.NodeName != "", err
	})
	if err != nil {
		t.Fatalf("pod %s is not bound: %v", name, err)
	}
	return pod
}

// bind asks as the scheduler does, for the node that the pod is bound to, and returns
// why it was refused.
func bind(ctx context.Context, t *testing.T, url string, pod *corev1.Pod) string {
	t.Helper()
	body, err := json.Marshal(
		extenderv1.ExtenderBindingArgs{PodName: pod.Name, PodNamespace: pod.Namespace, PodUID: pod.UID, Node: pod.Spec.NodeName},
	)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/bind", bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatalf("muster does not answer: %v", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Sprintf("status %s", response.Status)
	}
	var result extenderv1.ExtenderBindingResult
	if err := json.NewDecoder(response.Body).Decode(&result); err != nil {
		t.Fatal(err)
	}
	return result.Error
}

package extender_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/workload"
)

// patience is a limit for what takes seconds on an idle machine.
const patience = 2 * time.Minute

// byHand is a scheduler that does not exist: its pods wait for the test. Muster has a profile for it
// that runs with ofByHand.
const (
	byHand   = "by-hand"
	ofByHand = "profiles: [{schedulerName: default-scheduler}, {schedulerName: " + byHand + "}]\n"
)

// cluster is the shared cluster while one test has it.
type cluster struct {
	*testing.T
	client kubernetes.Interface
}

// newCluster creates nodes. When the test ends, nodes and pods are deleted.
func newCluster(t *testing.T, nodes ...*corev1.Node) *cluster {
	t.Helper()
	c := &cluster{T: t, client: shared.client}
	t.Cleanup(c.clear)
	c.create(&workload.Cluster{Nodes: nodes})
	return c
}

// create sends nodes, which are ready at once, and workloads to the API server.
func (c *cluster) create(w *workload.Cluster) {
	c.Helper()
	w.Ready()
	if err := w.CreateNodes(c.Context(), c.client); err != nil {
		c.Fatal(err)
	}
	if err := w.CreateWorkloads(c.Context(), c.client); err != nil {
		c.Fatal(err)
	}
}

func (c *cluster) createPods(pods ...*corev1.Pod) {
	c.Helper()
	c.create(&workload.Cluster{Pods: pods})
}

func (c *cluster) clear() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	now, all := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}, metav1.ListOptions{}
	for what, remove := range map[string]func() error{
		"pods": func() error {
			return c.client.CoreV1().Pods(workload.Namespace).DeleteCollection(ctx, now, all)
		},
		"nodes": func() error { return c.client.CoreV1().Nodes().DeleteCollection(ctx, now, all) },
		"priority classes": func() error {
			return c.client.SchedulingV1().PriorityClasses().DeleteCollection(ctx, now, metav1.ListOptions{LabelSelector: ours})
		},
	} {
		if err := remove(); err != nil {
			c.Errorf("delete %s: %v", what, err)
		}
	}
}

// ours is a label on what the cluster has of its own as well.
const ours = "example.com/test"

// schedule runs the stock scheduler until the test ends.
func (c *cluster) schedule(config string) {
	c.Helper()
	if err := shared.StartScheduler(c.Context(), controlplane.SchedulerOptions{Config: config}); err != nil {
		c.Fatal(err)
	}
	c.Cleanup(shared.StopScheduler)
}

// eventually polls until check is content.
func (c *cluster) eventually(what string, check func() error) {
	c.Helper()
	var last error
	err := wait.PollUntilContextTimeout(c.Context(), 50*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		c.Fatalf("%s: %v: %v", what, err, last)
	}
}

// pods lists the pods by name.
func (c *cluster) pods() (map[string]*corev1.Pod, error) {
	list, err := c.client.CoreV1().Pods(workload.Namespace).List(c.Context(), metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	pods := make(map[string]*corev1.Pod, len(list.Items))
	for i := range list.Items {
		pods[list.Items[i].Name] = &list.Items[i]
	}
	return pods, nil
}

// pod reads one pod, which must be there.
func (c *cluster) pod(name string) *corev1.Pod {
	c.Helper()
	pod, err := c.client.CoreV1().Pods(workload.Namespace).Get(c.Context(), name, metav1.GetOptions{})
	if err != nil {
		c.Fatal(err)
	}
	return pod
}

// awaitBound waits until there are as many pods and each has a node.
func (c *cluster) awaitBound(count int) {
	c.Helper()
	c.eventually("all pods are bound", func() error {
		pods, err := c.pods()
		if err != nil {
			return err
		}
		bound := 0
		for _, pod := range pods {
			if pod.Spec.NodeName != "" {
				bound++
			}
		}
		if bound != count || len(pods) != count {
			return fmt.Errorf("%d of %d pods are bound, want all %d", bound, len(pods), count)
		}
		return nil
	})
}

// awaitCondition waits until the scheduler has said of a pod why it is pending, and
// returns what it said.
func (c *cluster) awaitCondition(name string) corev1.PodCondition {
	c.Helper()
	var condition corev1.PodCondition
	c.eventually("pod "+name+" is told why it is pending", func() error {
		for _, condition = range c.pod(name).Status.Conditions {
			if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
				return nil
			}
		}
		return fmt.Errorf("it has no false condition %s", corev1.PodScheduled)
	})
	return condition
}

// createPriorityClass returns when pods may name the class.
func (c *cluster) createPriorityClass(name string, value int32, change ...func(*schedulingv1.PriorityClass)) {
	c.Helper()
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{ours: ""}}, Value: value}
	for _, f := range change {
		f(class)
	}
	if _, err := c.client.SchedulingV1().PriorityClasses().Create(c.Context(), class, metav1.CreateOptions{}); err != nil {
		c.Fatal(err)
	}
	c.eventually("the admission of pods knows the priority class", func() error {
		pod := newPod("of-"+name, "1", withPriority(name))
		_, err := c.client.CoreV1().Pods(workload.Namespace).Create(c.Context(), pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	})
}

func newNode(name, cpu string, change ...func(*corev1.Node)) *corev1.Node {
	room := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse(cpu),
		corev1.ResourceMemory: resource.MustParse("64Gi"),
		corev1.ResourcePods:   resource.MustParse("110"),
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}, Status: corev1.NodeStatus{Capacity: room, Allocatable: room}}
	for _, f := range change {
		f(node)
	}
	return node
}

// newNodes makes nodes whose names are numbered.
func newNodes(count int, cpu string) []*corev1.Node {
	var nodes []*corev1.Node
	for i := range count {
		nodes = append(nodes, newNode(fmt.Sprintf("node-%02d", i), cpu))
	}
	return nodes
}

func labelled(key, value string) func(*corev1.Node) {
	return func(node *corev1.Node) { node.Labels = map[string]string{key: value} }
}

func newPod(name, cpu string, change ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: workload.Namespace},
		Spec: corev1.PodSpec{
			TerminationGracePeriodSeconds: new(int64(0)),
			Containers: []corev1.Container{{
				Name: "main", Image: "example.com/main",
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}},
			}},
		},
	}
	for _, f := range change {
		f(pod)
	}
	return pod
}

// newPods makes pods whose names are numbered.
func newPods(count int, cpu string, change ...func(*corev1.Pod)) []*corev1.Pod {
	var pods []*corev1.Pod
	for i := range count {
		pods = append(pods, newPod(fmt.Sprintf("pod-%04d", i), cpu, change...))
	}
	return pods
}

func scheduledBy(name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.SchedulerName = name }
}

func withPriority(class string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.PriorityClassName = class }
}

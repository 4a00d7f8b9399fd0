package pairs

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/e2e/workload"
)

const (
	nodes = 4
	poll  = 20 * time.Millisecond
	// patience is a limit for what takes seconds on an idle machine, apart from elections by their own times.
	patience = 5 * time.Minute
)

// Cluster is nodes, and pods that come one after the other.
type Cluster struct {
	client kubernetes.Interface
	pods   int
}

// NewCluster creates the nodes.
func NewCluster(ctx context.Context, client kubernetes.Interface) (*Cluster, error) {
	for i := range nodes {
		node := workload.NewNode(fmt.Sprintf("node-%d", i), "64", workload.Room(64, 5000))
		if _, err := client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
			return nil, fmt.Errorf("create node %s: %w", node.Name, err)
		}
	}
	return &Cluster{client: client}, nil
}

// burst is how many pods come at once: enough for some to wait while others are scheduled, and to be nominated.
const burst = 30

// BindMany creates many pods at once, and returns when all are bound.
func (c *Cluster) BindMany(ctx context.Context) error {
	first := c.pods
	for range burst {
		if _, err := c.create(ctx); err != nil {
			return err
		}
	}
	for i := range burst {
		if err := c.await(ctx, podName(first+i)); err != nil {
			return err
		}
	}
	return nil
}

// Bind creates a pod, and returns when it is bound.
func (c *Cluster) Bind(ctx context.Context) error {
	name, err := c.create(ctx)
	if err != nil {
		return err
	}
	return c.await(ctx, name)
}

func podName(i int) string { return fmt.Sprintf("pod-%d", i) }

func (c *Cluster) create(ctx context.Context) (name string, err error) {
	pod := workload.NewPod(podName(c.pods), "1m")
	c.pods++
	if _, err := c.client.CoreV1().Pods(workload.Namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return "", fmt.Errorf("create pod %s: %w", pod.Name, err)
	}
	return pod.Name, nil
}

func (c *Cluster) await(ctx context.Context, name string) error {
	pods := c.client.CoreV1().Pods(workload.Namespace)
	err := wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
		now, err := pods.Get(ctx, name, metav1.GetOptions{})
		return err == nil && now.Spec.NodeName != "", err
	})
	if err != nil {
		return fmt.Errorf("wait until pod %s is bound: %w", name, err)
	}
	return nil
}

// Lost are the pods that were created and are not bound.
func (c *Cluster) Lost(ctx context.Context) (int, error) {
	list, err := c.client.CoreV1().Pods(workload.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, err
	}
	lost := c.pods
	for i := range list.Items {
		if list.Items[i].Spec.NodeName != "" {
			lost--
		}
	}
	return lost, nil
}

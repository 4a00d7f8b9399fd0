package workload

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
)

// inFlight is how many objects are created at a time.
const inFlight = 16

// readyTimeout is generous for thousands of nodes.
const readyTimeout = 3 * time.Minute

// CreateNodes creates the nodes. Nobody but KWOK or [Ready] makes them ready.
func (c *Cluster) CreateNodes(ctx context.Context, client kubernetes.Interface) error {
	return inParallel(ctx, c.Nodes, func(ctx context.Context, n *corev1.Node) error {
		if _, err := client.CoreV1().Nodes().Create(ctx, n, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create node %s: %w", n.Name, err)
		}
		return nil
	})
}

// CreateWorkloads creates Deployments, Jobs and pods. Pods arrive in their order up to a few
// places, since several are on their way at a time.
func (c *Cluster) CreateWorkloads(ctx context.Context, client kubernetes.Interface) error {
	for _, d := range c.Deployments {
		if _, err := client.AppsV1().Deployments(d.Namespace).Create(ctx, d, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create deployment %s: %w", d.Name, err)
		}
	}
	uids := map[string]types.UID{}
	for _, j := range slices.Concat(c.Jobs, c.Owners) {
		created, err := client.BatchV1().Jobs(j.Namespace).Create(ctx, j, metav1.CreateOptions{})
		if err != nil {
			return fmt.Errorf("create job %s: %w", j.Name, err)
		}
		uids[j.Name] = created.UID
	}
	return inParallel(ctx, c.Pods, func(ctx context.Context, p *corev1.Pod) error {
		if owner := metav1.GetControllerOfNoCopy(p); owner != nil && owner.Kind == "Job" && uids[owner.Name] != "" {
			owner.UID = uids[owner.Name]
		}
		if _, err := client.CoreV1().Pods(p.Namespace).Create(ctx, p, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create pod %s: %w", p.Name, err)
		}
		return nil
	})
}

// Ready marks the nodes as ready from the moment they are created, for a control plane
// without KWOK.
func (c *Cluster) Ready() {
	for _, n := range c.Nodes {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "Simulated"}}
	}
}

func inParallel[T any](ctx context.Context, items []T, create func(context.Context, T) error) error {
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(inFlight)
	for _, item := range items {
		if groupCtx.Err() != nil {
			break
		}
		group.Go(func() error { return create(groupCtx, item) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// AwaitReady returns when a number of nodes are ready and free of the taint that keeps pods away
// until then.
func AwaitReady(ctx context.Context, client kubernetes.Interface, nodes int) error {
	ready := 0
	err := wait.PollUntilContextTimeout(ctx, 200*time.Millisecond, readyTimeout, true, func(ctx context.Context) (bool, error) {
		list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
		if err != nil {
			return false, fmt.Errorf("list nodes: %w", err)
		}
		ready = 0
		for i := range list.Items {
			if isReady(&list.Items[i]) {
				ready++
			}
		}
		return ready >= nodes, nil
	})
	if err != nil {
		return fmt.Errorf("%d of %d nodes are ready: %w", ready, nodes, err)
	}
	return nil
}

func isReady(n *corev1.Node) bool {
	for _, taint := range n.Spec.Taints {
		if taint.Key == corev1.TaintNodeNotReady {
			return false
		}
	}
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

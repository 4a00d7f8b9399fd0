package soak

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/api/scheduling/v1alpha1"
	slov1alpha1 "muster.dev/muster/api/slo/v1alpha1"
	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/workload"
)

// The size of the cluster, which stays.
const (
	nodes        = 40
	coresOfANode = 8
	cohorts      = 30
	stirrers     = 8
)

// churn replaces one cohort and one node at each step. It is used by one goroutine.
type churn struct {
	client   kubernetes.Interface
	dynamic  dynamic.Interface
	stranger *stranger

	step   int
	lives  [nodes]int // how often each node has come
	living []cohort   // the oldest first
	pods   int        // that have come in all
}

// open creates the nodes.
func (c *churn) open(ctx context.Context) error {
	for i := range nodes {
		if err := c.bringNode(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// stir changes nodes as fast as the API server takes it, so often: what muster keeps of changes, up to a
// number of them, is full afterwards.
func (c *churn) stir(ctx context.Context, changes int64) error {
	var done atomic.Int64
	calls, ctx := errgroup.WithContext(ctx)
	for worker := range stirrers {
		calls.Go(func() error {
			for node := worker; ; node = (node + stirrers) % nodes {
				number := done.Add(1)
				if number > changes {
					return nil
				}
				patch := fmt.Appendf(nil, `{"metadata": {"labels": {"soak.example.com/stirred": "%d"}}}`, number)
				if _, err := c.client.CoreV1().Nodes().Patch(ctx, nodeName(node), types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
					return fmt.Errorf("label node %s: %w", nodeName(node), err)
				}
			}
		})
	}
	return calls.Wait()
}

// next takes one step.
func (c *churn) next(ctx context.Context) error {
	replaced := c.step % nodes
	if err := c.removeNode(ctx, replaced); err != nil {
		return err
	}
	if err := c.bringNode(ctx, replaced); err != nil {
		return err
	}
	settled := (replaced + nodes/2) % nodes // stays for long enough
	arriving := newCohort(c.step, labelOf(nodeName(settled), c.lives[settled]))
	if err := c.create(ctx, &arriving); err != nil {
		return err
	}
	c.living = append(c.living, arriving)
	c.pods += len(arriving.pods)
	if len(c.living) > cohorts {
		if err := c.remove(ctx, &c.living[0]); err != nil {
			return err
		}
		c.living = append([]cohort(nil), c.living[1:]...)
	}
	if err := c.stranger.ask(ctx, c.step); err != nil {
		return err
	}
	c.step++
	return nil
}

func nodeName(index int) string { return fmt.Sprintf("node-%d", index) }

func (c *churn) bringNode(ctx context.Context, index int) error {
	name := nodeName(index)
	c.lives[index]++
	if _, err := c.client.CoreV1().Nodes().Create(ctx, newNode(name, c.lives[index]), metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create node %s: %w", name, err)
	}
	metrics, metric := c.dynamic.Resource(slov1alpha1.NodeMetrics()), newMetric(name, time.Now())
	created, err := metrics.Create(ctx, metric, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create NodeMetric %s: %w", name, err)
	}
	metric.SetResourceVersion(created.GetResourceVersion())
	if _, err := metrics.UpdateStatus(ctx, metric, metav1.UpdateOptions{}); err != nil {
		return fmt.Errorf("update NodeMetric %s: %w", name, err)
	}
	return nil
}

func (c *churn) removeNode(ctx context.Context, index int) error {
	name := nodeName(index)
	err := c.dynamic.Resource(slov1alpha1.NodeMetrics()).Delete(ctx, name, metav1.DeleteOptions{})
	if err := faultcampaign.UnlessDone(err, "delete NodeMetric", name); err != nil {
		return err
	}
	return faultcampaign.UnlessDone(c.client.CoreV1().Nodes().Delete(ctx, name, metav1.DeleteOptions{}), "delete node", name)
}

func (c *churn) create(ctx context.Context, arriving *cohort) error {
	if _, err := c.client.CoreV1().Namespaces().Create(ctx, arriving.namespace, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("create namespace %s: %w", arriving.namespace.Name, err)
	}
	groups := c.dynamic.Resource(v1alpha1.Resources()[0]).Namespace(workload.Namespace)
	for _, group := range arriving.groups {
		if _, err := groups.Create(ctx, group, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("create PodGroup %s: %w", group.GetName(), err)
		}
	}
	calls, ctx := errgroup.WithContext(ctx)
	for _, pod := range arriving.pods {
		calls.Go(func() error {
			if _, err := c.client.CoreV1().Pods(pod.Namespace).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
				return fmt.Errorf("create pod %s: %w", pod.Name, err)
			}
			return nil
		})
	}
	return calls.Wait()
}

func (c *churn) remove(ctx context.Context, leaving *cohort) error {
	calls, at := errgroup.WithContext(ctx)
	for _, pod := range leaving.pods {
		calls.Go(func() error {
			err := c.client.CoreV1().Pods(pod.Namespace).Delete(at, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
			return faultcampaign.UnlessDone(err, "delete pod", pod.Name)
		})
	}
	if err := calls.Wait(); err != nil {
		return err
	}
	groups := c.dynamic.Resource(v1alpha1.Resources()[0]).Namespace(workload.Namespace)
	for _, group := range leaving.groups {
		err := groups.Delete(ctx, group.GetName(), metav1.DeleteOptions{})
		if err := faultcampaign.UnlessDone(err, "delete PodGroup", group.GetName()); err != nil {
			return err
		}
	}
	name := leaving.namespace.Name
	return faultcampaign.UnlessDone(c.client.CoreV1().Namespaces().Delete(ctx, name, metav1.DeleteOptions{}), "delete namespace", name)
}

// bound is how many pods have a node.
func (c *churn) bound(ctx context.Context) (int, error) {
	list, err := c.client.CoreV1().Pods(workload.Namespace).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName!="})
	if err != nil {
		return 0, fmt.Errorf("list pods: %w", err)
	}
	return len(list.Items), nil
}

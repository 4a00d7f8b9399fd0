package rescheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	slov1alpha1 "muster.dev/muster/api/slo/v1alpha1"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

func TestAHotNodeIsRelievedAndNothingBouncesBack(t *testing.T) {
	l := newCluster(t, v1alpha1.Auto, muster.Options{})
	l.configure(map[string]any{"relieve": map[string]any{"enabled": true}})
	l.Create(workload.NewNode("n3", "4"))
	before := l.small()
	// Small uses 1.5 CPUs. Of the 4 of n1 that makes 85 %. With small, n2 would use 80 % of 2, and
	// n3 50 % of 4.
	usage := map[string]int64{"n1": 1900, "n2": 100, "n3": 500}
	stop := l.measure(usage)
	l.reschedule()
	plan := l.awaitPlan(v1alpha1.Succeeded, "")
	if plan.Spec.Policy != v1alpha1.Relieve || len(plan.Spec.Steps) != 1 || plan.Spec.Steps[0].Pod.UID != before.UID {
		t.Errorf("the plan is %+v", plan.Spec)
	}
	if why := plan.Spec.Steps[0].Why; why != "relieves n1, which uses 85 % of its cpu" {
		t.Errorf("it moves since it %q", why)
	}
	l.Eventually("it runs there", func() error { return l.isOn(l.small(), "n3") })
	stop()

	// Now n3 gets hot, too. But small has been evicted only just.
	usage["n3"] = 2000
	defer l.measure(usage)()
	l.Eventually("the rescheduler finds n3 hot, and leaves it alone", func() error {
		return l.tells("Relieve", "no pod can leave n3, which uses 88 % of its cpu")
	})
	if _, err := l.plan(); err != nil {
		t.Error(err)
	}
	l.Eventually("it runs there", func() error { return l.isOn(l.small(), "n3") })
}

func TestPodsAreSpreadOntoANewNode(t *testing.T) {
	l := newCluster(t, v1alpha1.Auto, muster.Options{})
	const small = "small"
	l.configure(map[string]any{"respread": map[string]any{"enabled": true, "newFor": "30s"}})
	_, err := l.Client.AppsV1().
		ReplicaSets(namespace).
		Patch(t.Context(), small, types.MergePatchType, []byte(`{"spec":{"replicas":3}}`), metav1.PatchOptions{})
	l.Must(err)
	l.Eventually("both nodes are full", func() error { return l.has(map[string]int{"n1": 2, "n2": 1}) })
	l.reschedule()
	l.Eventually("neither node is new any more", func() error { return l.tells("Respread", "no node is new") })

	l.Create(workload.NewNode("n3", "4"))
	plan := l.awaitPlan(v1alpha1.Succeeded, "")
	if steps := plan.Spec.Steps; plan.Spec.Policy != v1alpha1.Respread || len(steps) != 1 || steps[0].To != "n3" {
		t.Errorf("the plan is %+v", plan.Spec)
	}
	from := plan.Spec.Steps[0].From
	want := map[string]int{"n1": 2, "n2": 1, "n3": 1}
	if want[from]--; want[from] == 0 {
		delete(want, from)
	}
	l.Must(l.has(want))
	l.Eventually("another look finds no gain", func() error { return l.tells("Respread", "no") })
	if _, err := l.plan(); err != nil {
		t.Error(err)
	}
}

// measure writes every second what the nodes use: so much by themselves, and 1.5 CPUs for small
// where that is. It returns what ends that.
func (l *cluster) measure(usage map[string]int64) (stop func()) {
	l.Helper()
	ctx, cancel := context.WithCancel(l.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			if err := l.report(ctx, usage); err != nil && ctx.Err() == nil {
				l.Errorf("report what nodes use: %v", err)
				return
			}
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

func (l *cluster) report(ctx context.Context, usage map[string]int64) error {
	pods, err := l.Client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: "app=small"})
	if err != nil {
		return err
	}
	amount := func(milliCPU int64) slov1alpha1.ResourceMap {
		return slov1alpha1.ResourceMap{Resources: corev1.ResourceList{
			"cpu": *resource.NewMilliQuantity(milliCPU, resource.DecimalSI), "memory": resource.MustParse("1Mi"),
		}}
	}
	metrics, now := l.Dynamic.Resource(slov1alpha1.NodeMetrics()), metav1.Now()
	for node, used := range usage {
		if _, err := metrics.Get(ctx, node, metav1.GetOptions{}); err != nil {
			_, err = metrics.Create(ctx, &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeMetric", "metadata": map[string]any{"name": node},
				"spec": map[string]any{"metricCollectPolicy": map[string]any{"reportIntervalSeconds": int64(1)}},
			}}, metav1.CreateOptions{})
			if err != nil {
				return err
			}
		}
		status := slov1alpha1.NodeMetricStatus{UpdateTime: &now}
		for _, pod := range pods.Items {
			if pod.Spec.NodeName == node && pod.DeletionTimestamp == nil {
				const small = 1500
				used += small
				status.PodsMetric = append(
					status.PodsMetric, slov1alpha1.PodMetricInfo{Name: pod.Name, Namespace: pod.Namespace, PodUsage: amount(small)},
				)
			}
		}
		status.NodeMetric = &slov1alpha1.NodeMetricInfo{NodeUsage: amount(used)}
		patch, err := json.Marshal(map[string]any{"status": status})
		if err != nil {
			return err
		}
		if _, err := metrics.Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{}, "status"); err != nil {
			return err
		}
	}
	return nil
}

// tells says whether /debug/rescheduler says something of a policy's last look.
func (l *cluster) tells(policy, what string) error {
	page, err := l.rescheduler.Page(l.Context(), "/debug/rescheduler")
	if err != nil {
		return err
	}
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, policy+" ") && strings.Contains(line, " "+what) {
			return nil
		}
	}
	return fmt.Errorf("the page says\n%s", page)
}

// has says whether each node runs its number of pods, none of them ending or pending.
func (l *cluster) has(want map[string]int) error {
	pods, err := l.Client.CoreV1().Pods(namespace).List(l.Context(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	got := map[string]int{}
	for _, pod := range pods.Items {
		got[pod.Spec.NodeName]++
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		return fmt.Errorf("there are %v", got)
	}
	return nil
}

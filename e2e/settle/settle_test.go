package settle_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/podwatch"
	"muster.dev/muster/e2e/settle"
	"muster.dev/muster/e2e/workload"
)

func TestAClusterSettlesWhenWhatIsLeftFitsNowhere(t *testing.T) {
	lab.Long(t)
	ctx := t.Context()
	cp := controlplane.ForTest(t, controlplane.Options{})
	client, err := kubernetes.NewForConfig(cp.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	watch, err := podwatch.Start(ctx, client)
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	c := cluster(3)
	if err := c.CreateNodes(ctx, client); err != nil {
		t.Fatal(err)
	}
	if err := c.CreateWorkloads(ctx, client); err != nil {
		t.Fatal(err)
	}

	patience := settle.Patience{Quiet: time.Second, Stuck: 2 * time.Second, Total: time.Minute}
	outcome, err := settle.Await(ctx, client, watch, 3, patience, nil)
	if err != nil {
		t.Fatal(err)
	}
	if outcome.Bound != 0 || len(outcome.Stranded) != 3 {
		t.Errorf("without a scheduler %d pods are bound and %d stranded, want 0 and 3", outcome.Bound, len(outcome.Stranded))
	}

	if err := cp.StartScheduler(ctx, controlplane.SchedulerOptions{}); err != nil {
		t.Fatal(err)
	}
	patience.Stuck = time.Minute
	outcome, err = settle.Await(ctx, client, watch, 3, patience, nil)
	if err != nil {
		t.Fatal(err)
	}
	if outcome.Bound != 2 || len(outcome.Stranded) != 0 {
		t.Errorf("with a scheduler %d pods are bound and %d stranded, want 2 and 0", outcome.Bound, len(outcome.Stranded))
	}
}

// cluster has one node with room for two pods.
func cluster(pods int) *workload.Cluster {
	room := corev1.ResourceList{"cpu": resource.MustParse("2"), "memory": resource.MustParse("1Gi"), "pods": resource.MustParse("10")}
	c := &workload.Cluster{Nodes: []*corev1.Node{{
		ObjectMeta: metav1.ObjectMeta{Name: "only"},
		Status:     corev1.NodeStatus{Capacity: room, Allocatable: room},
	}}}
	c.Ready()
	for i := range pods {
		c.Pods = append(c.Pods, &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("pod-%d", i), Namespace: workload.Namespace},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{
				Name: "main", Image: "example.com/main",
				Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("1")}},
			}}},
		})
	}
	return c
}

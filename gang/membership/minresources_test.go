package membership

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
)

// No amount that somebody writes, and no sum of them, becomes another one, less than nothing included.
func TestMinResourcesAreComparedWithoutLoss(t *testing.T) {
	const gpu = "example.com/gpu"
	list := func(name, amount string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceName(name): resource.MustParse(amount)}
	}
	for _, test := range []struct {
		resource     string
		asked        string
		nodes, bound []string // what they offer, and what a pod of nobody takes on the first
		lacks        bool
		own          string // what a member takes
	}{
		{resource: "cpu", asked: "10P", nodes: []string{"4", "4"}, lacks: true},
		{resource: "memory", asked: "16E", nodes: []string{"4Gi"}, lacks: true},
		{resource: "cpu", asked: "1e99", nodes: []string{"9E", "9E"}, lacks: true},
		{resource: "memory", asked: "9E", nodes: []string{"8E", "8E"}},
		{resource: "memory", asked: "16E", nodes: []string{"8E", "8E"}},
		{resource: "memory", asked: "16000000000000000001", nodes: []string{"8E", "8E"}, lacks: true},
		{resource: "cpu", asked: "10P", nodes: []string{"5P", "5P"}},
		{resource: "cpu", asked: "10001m", nodes: []string{"10"}, lacks: true},
		{resource: gpu, asked: "9007199254740993", nodes: []string{"9007199254740992"}, lacks: true}, // 2⁵³+1
		{resource: gpu, asked: "9007199254740993", nodes: []string{"9007199254740993"}},
		{resource: gpu, asked: "2", nodes: []string{"9007199254740994"}, bound: []string{"9007199254740993"}, lacks: true},
		{resource: gpu, asked: "16E", nodes: []string{"8E", "8E"}},
		{resource: gpu, asked: "16E", nodes: []string{"8E", "8E"}, bound: []string{"8E"}, lacks: true},
		{resource: gpu, asked: "16E", nodes: []string{"8E"}, own: "8E"},
		{resource: "ephemeral-storage", asked: "-1", nodes: []string{"0"}},
	} {
		t.Run(fmt.Sprintf("%s of %s with %v, %v taken and %q of its own", test.asked, test.resource, test.nodes, test.bound, test.own),
			func(t *testing.T) {
				c := cluster.New(cluster.Options{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), AssumeTTL: time.Hour})
				pod := func(name, takes string) *corev1.Pod {
					return &corev1.Pod{
						ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, UID: types.UID(name)},
						Spec: corev1.PodSpec{NodeName: "0", Containers: []corev1.Container{
							{Name: "c", Resources: corev1.ResourceRequirements{Requests: list(test.resource, takes)}},
						}},
					}
				}
				for i, offers := range test.nodes {
					node := &corev1.Node{
						ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint(i)}, Status: corev1.NodeStatus{Allocatable: list(test.resource, offers)},
					}
					if err := c.Set(node); err != nil {
						t.Fatal(err)
					}
				}
				for i, takes := range test.bound {
					if err := c.Set(pod(fmt.Sprint("p", i), takes)); err != nil {
						t.Fatal(err)
					}
				}
				var own []*cluster.Pod
				if test.own != "" {
					own = append(own, cluster.NewPod(pod("own", test.own)))
				}
				if why := Lacking(list(test.resource, test.asked), own, c.Snapshot()); (why != "") != test.lacks {
					t.Errorf("got %q, want that it lacks: %v", why, test.lacks)
				}
			})
	}
}

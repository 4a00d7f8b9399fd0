package extender_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/workload"
)

// ofGang makes a pod a member of a group by the label of the API group that there is most
// of.
func ofGang(name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Labels = map[string]string{v1alpha1.LabelX: name} }
}

// createPodGroups has the API server know PodGroups, and creates some of the test's own.
func (c *cluster) createPodGroups(groups ...*unstructured.Unstructured) {
	c.Helper()
	client, err := dynamic.NewForConfig(shared.RESTConfig())
	if err != nil {
		c.Fatal(err)
	}
	definitions := client.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	files, err := filepath.Glob("../../charts/muster/crds/*.yaml")
	if err != nil || len(files) == 0 {
		c.Fatalf("the chart has no CRDs: %v", err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			c.Fatal(err)
		}
		definition := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &definition.Object); err != nil {
			c.Fatal(err)
		}
		if _, err := definitions.Create(c.Context(), definition, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			c.Fatal(err)
		}
	}
	for _, group := range groups {
		groups := client.Resource(v1alpha1.ResourceOf(group.GroupVersionKind().Group)).Namespace(workload.Namespace)
		c.eventually("create PodGroup "+group.GetName(), func() error {
			_, err := groups.Create(c.Context(), group, metav1.CreateOptions{})
			return err
		})
		c.Cleanup(func() {
			if err := groups.Delete(context.Background(), group.GetName(), metav1.DeleteOptions{}); err != nil {
				c.Errorf("delete PodGroup %s: %v", group.GetName(), err)
			}
		})
	}
}

func newPodGroup(name string, minMember int64) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.GroupX + "/" + v1alpha1.Version, "kind": v1alpha1.Kind,
		"metadata": map[string]any{"name": name},
		"spec":     map[string]any{"minMember": minMember},
	}}
}

func (c *cluster) bound() (bound, waiting int) {
	c.Helper()
	pods, err := c.pods()
	if err != nil {
		c.Fatal(err)
	}
	for _, pod := range pods {
		if pod.Spec.NodeName != "" {
			bound++
		} else {
			waiting++
		}
	}
	return bound, waiting
}

func TestTheSeedsGang(t *testing.T) {
	for name, test := range map[string]struct{ room, bound int }{
		"room for four":  {4, 4},
		"room for three": {3, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, newNodes(test.room, "4")...)
			c.createPodGroups(newPodGroup("nginx", 4))
			s := c.serve(serving{})
			c.schedule(s.schedulerConfig(nil))
			c.createPods(newPods(6, "3", ofGang("nginx"))...)
			c.eventually("the gang starts as far as there is room", func() error {
				pods, err := c.pods()
				if err != nil {
					return err
				}
				bound, refused := 0, 0
				for _, pod := range pods {
					if pod.Spec.NodeName != "" {
						bound++
					}
					for _, condition := range pod.Status.Conditions {
						if condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonUnschedulable {
							refused++
						}
					}
				}
				if bound != test.bound || refused != 6-test.bound {
					page, _ := s.get("/debug/gangs")
					return fmt.Errorf("%d pods are bound, want %d; %d are unschedulable: %s", bound, test.bound, refused, page)
				}
				return nil
			})
			time.Sleep(2 * time.Second)
			if bound, waiting := c.bound(); bound != test.bound || waiting != 6-test.bound {
				t.Errorf("%d pods are bound and %d wait", bound, waiting)
			}
			if page, err := s.get("/debug/gangs/" + workload.Namespace + "/nginx"); err != nil || !strings.Contains(page, "4 members must start together") {
				t.Errorf("/debug/gangs/…/nginx says %q, error %v", page, err)
			}
			if got := s.calls("filter", "error") + s.calls("bind", "error"); got > 0 {
				t.Errorf("%d calls failed", got)
			}
		})
	}
}

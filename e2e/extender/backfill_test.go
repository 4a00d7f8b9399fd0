package extender_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// runs has a pod say how long it runs.
func runs(runtime string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		annotations := map[string]string{v1alpha1.AnnotationExpectedRuntime: runtime}
		maps.Copy(annotations, pod.Annotations)
		pod.Annotations = annotations
	}
}

// awaitNode waits until a pod has a node.
func (c *cluster) awaitNode(pod string) {
	c.Helper()
	c.Eventually(pod+" is bound", func() error {
		if c.Pods()[pod].Spec.NodeName == "" {
			return errors.New("it has no node")
		}
		return nil
	})
}

// succeed creates a pod on a node that has run for a time.
func (c *cluster) succeed(pod *corev1.Pod, node string, ran time.Duration) {
	c.Helper()
	pod.Spec.NodeName = node
	c.createPods(pod)
	made := c.Pods()[pod.Name]
	start, end := metav1.NewTime(made.CreationTimestamp.Add(-ran)), made.CreationTimestamp
	made.Status.Phase, made.Status.StartTime = corev1.PodSucceeded, &start
	for _, container := range pod.Spec.Containers {
		made.Status.ContainerStatuses = append(made.Status.ContainerStatuses, corev1.ContainerStatus{
			Name: container.Name, State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{StartedAt: start, FinishedAt: end}},
		})
	}
	_, err := c.Client.CoreV1().Pods(made.Namespace).UpdateStatus(c.Context(), made, metav1.UpdateOptions{})
	c.Must(err)
}

// Eight places, six of them taken. A gang of four is to have the two others, and two that fall free in an hour, as former pods of that
// name have shown; the ends of the others are unknown. Until then a pod that ends before passes it, and one that may not end does not.
func TestAGangThatWaitsHasItsRoomInTimeAndShortPodsPassIt(t *testing.T) {
	for name, way := range muster.Ways() {
		if !way.Asked() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			lab.LongUnless(t, name == "Muster")
			c := newCluster(t, workload.NewNodes("node", 4, "4")...)
			way.Text = "gangs: {reserveAfter: 1s}"
			for _, pod := range workload.NewPods("first-0", 3, "2") {
				c.succeed(pod, "node-00", time.Hour)
			}
			w := c.serveAndSchedule(way).watch()
			first := workload.NewPods("first", 2, "2")
			others := workload.NewPods("other", 4, "2")
			c.createPods(append(first, others...)...)
			c.awaitBound(9)
			c.createPodGroups(workload.NewPodGroup("large", 4))
			c.createPods(workload.NewMembers("large", 4, "2")...)
			c.Eventually("room is booked for the gang", func() error {
				page, err := w.Page(c.Context(), "/debug/when/"+workload.Namespace+"/large")
				if err == nil && !strings.Contains(page, "; room is booked for it") {
					err = fmt.Errorf("it is said:\n%s", page)
				}
				return err
			})
			told := func() string {
				group := workload.NewPodGroup("large", 4)
				is, err := c.podGroups(group).Get(c.Context(), "large", metav1.GetOptions{})
				c.Must(err)
				conditions, _, _ := unstructured.NestedSlice(is.Object, "status", "conditions")
				for _, condition := range conditions {
					if of, _ := condition.(map[string]any); of["type"] == v1alpha1.PodGroupRoomBookedCondition {
						return fmt.Sprint(of["status"], " ", of["reason"], " ", of["message"])
					}
				}
				return ""
			}
			c.Eventually("the PodGroup says so", func() error {
				if says := told(); !strings.HasPrefix(says, "True RoomBooked room is booked from about ") || !strings.Contains(says, "first-000") {
					return fmt.Errorf("it says %q", says)
				}
				return nil
			})
			unknown, short := workload.NewPod("unknown", "2"), workload.NewPod("short", "2")
			runs("1m")(short)
			c.createPods(unknown)
			c.createPods(short)
			c.awaitNode("short")
			for _, name := range []string{"unknown", "large-0"} {
				if pod := c.Pods()[name]; pod.Spec.NodeName != "" {
					t.Errorf("pod %s is on %s, where room is booked", name, pod.Spec.NodeName)
				}
			}
			for _, name := range []string{"short", "first-0000", "first-0001"} {
				c.RemovePod(name)
			}
			for member := range 4 {
				c.awaitNode(fmt.Sprint("large-", member))
			}
			c.Eventually("the PodGroup says nothing of it once it has started", func() error {
				if says := told(); says != "" {
					return fmt.Errorf("it says %q", says)
				}
				return nil
			})
			for name, pod := range c.Pods() {
				if waits := pod.Spec.NodeName == ""; waits != (name == "unknown") {
					t.Errorf("pod %s is on %q", name, pod.Spec.NodeName)
				}
			}
		})
	}
}

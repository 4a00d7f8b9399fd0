package extender_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

func (c *cluster) createPodGroups(groups ...*unstructured.Unstructured) {
	c.Helper()
	for _, group := range groups {
		c.Create(group)
	}
}

// podGroups returns a client of the PodGroups of the API group that one of them has.
func (c *cluster) podGroups(like *unstructured.Unstructured) dynamic.ResourceInterface {
	c.Helper()
	return c.Dynamic.Resource(v1alpha1.ResourceOf(like.GroupVersionKind().Group)).Namespace(workload.Namespace)
}

// deletePods deletes the pods of a label selector.
func (c *cluster) deletePods(selector string) {
	c.Helper()
	err := c.Client.CoreV1().
		Pods(workload.Namespace).
		DeleteCollection(c.Context(), metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: selector})
	c.Must(err)
}

// seed is the example of the coscheduling plugin, to the letter.
const seed = `
apiVersion: scheduling.sigs.k8s.io/v1alpha1
kind: PodGroup
metadata:
  name: nginx
spec:
  scheduleTimeoutSeconds: 10
  minMember: 4
---
apiVersion: apps/v1
kind: ReplicaSet
metadata:
  name: nginx
  labels:
    app: nginx
spec:
  replicas: 6
  selector:
    matchLabels:
      app: nginx
  template:
    metadata:
      name: nginx
      labels:
        app: nginx
        pod-group.scheduling.sigs.k8s.io: nginx
    spec:
      containers:
      - name: nginx
        image: nginx
        resources:
          limits:
            cpu: 3000m
            memory: 500Mi
          requests:
            cpu: 3000m
            memory: 500Mi
`

func TestTheSeedsGang(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		room  int
		want  map[string]int
		phase v1alpha1.PodGroupPhase
		event string
	}{
		"room for four": {4, map[string]int{"nginx": 4}, v1alpha1.PodGroupScheduled, "at least 4 pods are bound"},
		"room for three": {
			3,
			map[string]int{},
			v1alpha1.PodGroupPreScheduling,
			"places for 3 of 4 members; beside the others, 3 of 3 nodes: Insufficient cpu",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClusterWith(t, []string{"replicaset-controller"}, workload.NewNodes("node", test.room, "4")...)
			w := c.serveAndSchedule(muster.Options{}).watch()
			podGroup, replicaSet, _ := strings.Cut(seed, "---")
			group, set := &unstructured.Unstructured{}, &appsv1.ReplicaSet{}
			c.Must(errors.Join(yaml.Unmarshal([]byte(podGroup), &group.Object), yaml.UnmarshalStrict([]byte(replicaSet), set)))
			c.createPodGroups(group)
			c.Create(set)
			c.EventuallyIs("there are six pods", 6, func() int { return len(c.Pods()) })
			w.settles(exactly(test.want))
			c.awaitEvent(c.awaitPhase(group, test.phase).GetUID(), test.event)
			if page, err := w.Page(w.Context(), "/debug/gangs/"+workload.Namespace+"/nginx"); err != nil ||
				!strings.Contains(page, "4 members must start together") {
				t.Errorf("/debug/gangs/…/nginx says %q, error %v", page, err)
			}
			if got := w.calls("filter", "error") + w.calls("bind", "error"); got > 0 {
				t.Errorf("%d calls failed", got)
			}
		})
	}
}

// awaitPhase waits until a PodGroup is in a phase, and returns it.
func (c *cluster) awaitPhase(group *unstructured.Unstructured, want v1alpha1.PodGroupPhase) (now *unstructured.Unstructured) {
	c.Helper()
	groups := c.podGroups(group)
	c.Eventually(fmt.Sprintf("PodGroup %s is %s", group.GetName(), want), func() (err error) {
		if now, err = groups.Get(c.Context(), group.GetName(), metav1.GetOptions{}); err != nil {
			return err
		}
		got, _, err := unstructured.NestedString(now.Object, "status", "phase")
		if err == nil && got != string(want) {
			err = fmt.Errorf("it is %q", got)
		}
		return err
	})
	return now
}

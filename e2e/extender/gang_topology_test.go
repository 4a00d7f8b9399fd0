package extender_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// Racks of two and three nodes, with two members on each: a gang comes to the rack that it fills, one that is larger to the
// other, and a third one has room in sum and in no rack.
func TestAGangStartsInOneRackOrWaits(t *testing.T) {
	const key = "example.com/rack"
	in := func(rack string) func(*corev1.Node) { return func(node *corev1.Node) { node.Labels[key] = rack } }
	for name, way := range muster.Ways() {
		t.Run(name, func(t *testing.T) {
			nodes := append(workload.NewNodes("small", 2, "4", in("small")), workload.NewNodes("large", 3, "4", in("large"))...)
			c := newCluster(t, nodes...)
			var w *witness
			if way.Asked() {
				w = c.serveAndSchedule(way).watch()
			} else {
				w = c.alone(way).witness
			}
			start := func(name string, members int) {
				group := workload.NewPodGroup(name, members)
				group.SetAnnotations(map[string]string{v1alpha1.AnnotationRequiredTopology: key})
				c.createPodGroups(group)
				c.createPods(workload.NewMembers(name, members, "2")...)
			}
			start("four", 4)
			c.awaitBound(4)
			start("five", 5)
			c.awaitBound(9)
			c.createPods(workload.NewPod("single", "2")) // it takes the last place of the large rack
			c.awaitBound(10)
			for name, pod := range c.Pods() {
				want := map[string]string{"four": "small", "five": "large", "single": "large"}[strings.Split(name, "-")[0]]
				if !strings.HasPrefix(pod.Spec.NodeName, want) {
					t.Errorf("pod %s is on %s, want a node of the rack %s", name, pod.Spec.NodeName, want)
				}
			}
			c.RemovePod("four-0")
			c.RemovePod("single")
			start("two", 2)
			c.Eventually("people are told how many have room in a rack", func() error {
				page, err := w.Page(c.Context(), "/debug/gangs/"+workload.Namespace+"/two")
				if err == nil && !strings.Contains(page, "of 2 domains by "+key) {
					err = fmt.Errorf("they are told:\n%s", page)
				}
				return err
			})
			w.stays(func(bound map[string]int) error {
				if bound["two"] > 0 {
					return fmt.Errorf("%d members of a gang are bound that has no rack", bound["two"])
				}
				return nil
			}, w.schedulers()...)
		})
	}
}

package rescheduler

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	schedulingv1alpha1 "muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
	"muster.dev/muster/rescheduler/scaleup"
)

func TestAPodMovesThatAnotherOneMakesRoomFor(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"Scheduler", "gated"} {
		t.Run(name, func(t *testing.T) {
			l := newEmptyCluster(t, v1alpha1.Auto, muster.Ways()[name])
			l.Create(workload.NewNode("n1", "4"))
			l.createSet("first", "3", 1, nil)
			l.allOn("first", "n1")
			l.Create(workload.NewNode("n2", "3"))
			l.createSet("second", "2", 1, nil)
			l.allOn("second", "n2")
			l.Create(workload.NewNode("n3", "2")) // which takes the second only, and n2 then takes the first
			l.createPod("big", "4")
			l.reschedule()
			if plan := l.awaitPlan(v1alpha1.Succeeded, ""); plan.Status.Moved != "2/2" || plan.Spec.Steps[0].From != "n2" {
				t.Errorf("the plan is %+v, and ended as %s", plan.Spec.Steps, plan.Status.Moved)
			}
			l.Eventually("it runs there", func() error { return l.isOn(l.Pod("big"), "n1") })
			l.allOn("first", "n2")
			l.allOn("second", "n3")
		})
	}
}

func TestAGangThatFitsNowhereGetsRoomForAllItsMembers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, way string
	}{
		{"that the scheduler refuses", "Scheduler"},
		{"that is behind gates until it has a place", "gated"},
	} {
		t.Run(test.name, func(t *testing.T) {
			way := muster.Ways()[test.way]
			l := newCluster(t, v1alpha1.Auto, way)
			l.Create(workload.NewNode("n3", "4"))
			for i := range 2 {
				name := fmt.Sprint("member-", i)
				l.createPod(name, "4", func(pod *corev1.Pod) { pod.Labels, pod.Annotations = gangOf("gang", 2) })
				pod := l.Pod(name)
				if gated := muster.Gated(pod); gated == way.Asked() {
					t.Fatalf("%s is gated: %t", pod.Name, gated)
				}
			}
			l.neverBound("member-0", "member-1")
			l.reschedule()
			l.awaitPlan(v1alpha1.Succeeded, "")
			for i := range 2 {
				l.Eventually("the gang runs", func() error {
					pod := l.Pod(fmt.Sprint("member-", i))
					return l.isOn(pod, pod.Spec.NodeName)
				})
			}
			l.allOn("small", "n2")
		})
	}
}

// Racks r and s have a free node each. In r another one is free once its pod has moved.
func TestAGangThatHasToBeInOneRackGetsRoomThere(t *testing.T) {
	const key = "example.com/rack"
	in := func(rack string) func(*corev1.Node) { return func(node *corev1.Node) { node.Labels[key] = rack } }
	for _, way := range []string{"Scheduler", "gated"} {
		t.Run(way, func(t *testing.T) {
			l := newEmptyCluster(t, v1alpha1.Auto, muster.Ways()[way])
			l.Create(workload.NewNode("n1", "4", in("r")))
			l.createSmall()
			l.allOn("small", "n1")
			l.Create(workload.NewNode("n2", "2"))
			l.Create(workload.NewNode("n3", "4", in("r")))
			l.Create(workload.NewNode("n4", "4", in("s")))
			for i := range 2 {
				l.createPod(fmt.Sprint("member-", i), "4", func(pod *corev1.Pod) {
					pod.Labels, pod.Annotations = gangOf("gang", 2)
					pod.Annotations[schedulingv1alpha1.AnnotationRequiredTopology] = key
				})
			}
			l.neverBound("member-0", "member-1")
			l.reschedule()
			l.awaitPlan(v1alpha1.Succeeded, "")
			for i := range 2 {
				l.Eventually("the gang runs in the rack", func() error {
					pod := l.Pod(fmt.Sprint("member-", i))
					if on := pod.Spec.NodeName; on != "" && on != "n1" && on != "n3" {
						t.Fatalf("%s is on %s", pod.Name, on)
					}
					return l.isOn(pod, pod.Spec.NodeName)
				})
			}
			l.allOn("small", "n2")
		})
	}
}

func TestAGangThatIsInTheWayMovesAsAWhole(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, way string
		room      string // on n2, of what the gang takes 2
		moves     bool
	}{
		{"where there is room for it", "Scheduler", "2", true},
		{"not in part", "Scheduler", "1", false},
		{"without a scheduler that asks muster", "gated", "2", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newEmptyCluster(t, v1alpha1.Auto, muster.Ways()[test.way])
			l.configure(map[string]any{"budgets": map[string]any{"perWorkload": 2}})
			l.Create(workload.NewNode("n1", "4"))
			l.createSet("gang", "1", 2, func(pod *corev1.PodTemplateSpec) {
				labels, annotations := gangOf("gang", 2)
				labels["app"] = "gang"
				pod.Labels, pod.Annotations = labels, annotations
			})
			l.allOn("gang", "n1", "n1")
			before := l.podsOf("gang")
			l.Create(workload.NewNode("n2", test.room))
			l.createPod("big", "3") // which leaves room for a member to come back
			l.neverBound("big")
			l.reschedule()
			if !test.moves {
				l.Eventually("big says that it needs nodes", func() error { return l.needs("big", scaleup.ReasonNoOtherPlace) })
				l.allOn("gang", "n1", "n1")
				for i, pod := range l.podsOf("gang") {
					if pod.UID != before[i].UID {
						t.Errorf("%s was evicted", before[i].Name)
					}
				}
				return
			}
			l.awaitPlan(v1alpha1.Succeeded, "")
			l.Eventually("it runs there", func() error { return l.isOn(l.Pod("big"), "n1") })
			l.allOn("gang", "n2", "n2")
		})
	}
}

// gangOf are the labels and the annotations of members.
func gangOf(name string, minMember int) (labels, annotations map[string]string) {
	labels = map[string]string{schedulingv1alpha1.LabelMuster: name}
	annotations = map[string]string{schedulingv1alpha1.AnnotationMinMember: fmt.Sprint(minMember)}
	return labels, annotations
}

// allOn waits until the pods of a ReplicaSet run on these nodes, in whichever order.
func (l *cluster) allOn(set string, nodes ...string) {
	l.Helper()
	l.Eventually(set+" runs", func() error {
		want := map[string]int{}
		for _, node := range nodes {
			want[node]++
		}
		for _, pod := range l.podsOf(set) {
			if err := l.isOn(pod, pod.Spec.NodeName); err != nil {
				return err
			}
			want[pod.Spec.NodeName]--
		}
		for node, missing := range want {
			if missing != 0 {
				return fmt.Errorf("%d pods are missing on %s", missing, node)
			}
		}
		return nil
	})
}

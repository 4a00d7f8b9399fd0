package explanation_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/rescheduler/planner"
)

// gangOnEmptyNodes returns a situation with nodes of 4 CPUs and a gang whose members ask for as much.
func gangOnEmptyNodes(nodes, members, least int, change ...func(i int, pod *corev1.Pod)) *situation {
	s := &situation{selection: config.NodeSelectionScheduler}
	for i := range nodes {
		s.nodes = append(s.nodes, &corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("n", i)},
			Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8Gi"),
				corev1.ResourcePods: resource.MustParse("110"),
			}},
		})
	}
	for i := range members {
		name := fmt.Sprint("train-", i)
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Name: name, Namespace: "default", UID: types.UID("uid-" + name), ResourceVersion: "1", CreationTimestamp: metav1.NewTime(began),
				Labels:      map[string]string{v1alpha1.LabelMuster: "train"},
				Annotations: map[string]string{v1alpha1.AnnotationMinMember: strconv.Itoa(least)},
			},
			Spec: corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName, Containers: []corev1.Container{{
				Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4")}},
			}}},
		}
		for _, f := range change {
			f(i, pod)
		}
		s.pods = append(s.pods, pod)
	}
	return s
}

func TestWhatFitsAloneAndWhatFitsTogetherAreToldApart(t *testing.T) {
	deleted := func(_ int, pod *corev1.Pod) { pod.DeletionTimestamp = new(metav1.NewTime(began)) }
	gatedLast := func(i int, pod *corev1.Pod) {
		if i == 2 {
			gated(pod)
		}
	}
	for name, test := range map[string]struct {
		situation *situation
		says      []string
		never     []string
		plan      string
	}{
		"a place too few": {
			gangOnEmptyNodes(3, 4, 4), []string{
				"places for 3 of 4 members that need one: 1 place short; beside the others, 3 nodes: Insufficient cpu",
				"4 members must start together: that many are there", "train-0 and 3 alike 3 of 3 - - -",
				"each asks for 4 cpu; the nodes that take one have room for 3; 3 of 4 would get a place now",
			}, []string{"waiting for"}, planner.ReasonNotAll,
		},
		"one node for two": {
			gangOnEmptyNodes(1, 2, 2), []string{"places for 1 of 2 members that need one: 1 place short", "1 of 1 - - -"}, nil, planner.ReasonNotAll,
		},
		"members that are being deleted": {
			gangOnEmptyNodes(3, 3, 3, deleted), []string{
				"waiting for 3 more of 3 members to be created; 3 that are being deleted do not count", "3 more are to be created", "0 pending, ",
				"3 leaving",
			}, []string{"that many are there", "WITHOUT A PLACE"}, "",
		},
		"a member that others gate": {
			gangOnEmptyNodes(3, 3, 3, gatedLast), []string{
				"waiting for 1 more of 3 members: 1 held back by gates of others", "that many are there, and 1 more have to become ready",
			}, []string{"to be created"}, planner.ReasonMembersMissing,
		},
		"enough places": {
			gangOnEmptyNodes(3, 3, 3), []string{"places for 3 of 3 members that need one", "have not been looked for yet"}, []string{"short"}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, configurations(t), test.situation, unasked)
			if pods := l.waiting("train"); len(pods) > 0 && name != "enough places" {
				l.filter(pods[0], l.nodes...)
			}
			text := strings.Join(strings.Fields(printedGang(t, l.gang("train"))), " ")
			for _, want := range test.says {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not in:\n%s", want, text)
				}
			}
			for _, not := range test.never {
				if strings.Contains(text, not) {
					t.Errorf("%q is in:\n%s", not, text)
				}
			}
			var reason string
			if plan := newLab(t, configurations(t), test.situation, unasked).plan(); len(plan.Unplaced) > 0 {
				reason = plan.Unplaced[0].Reason
			}
			if reason != test.plan {
				t.Errorf("a plan says %q, want %q", reason, test.plan)
			}
		})
	}
}

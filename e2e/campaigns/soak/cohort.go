package soak

import (
	"fmt"
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/muster/api/scheduling/v1alpha1"
	slov1alpha1 "muster.dev/muster/api/slo/v1alpha1"
	"muster.dev/muster/e2e/workload"
)

// A gang asks for a number of members.
const quorum = 3

// cohort comes and goes together. Each has a number, and names that no other one has.
type cohort struct {
	pods      []*corev1.Pod
	groups    []*unstructured.Unstructured
	namespace *corev1.Namespace
}

// newCohort makes a cohort: a pod of each kind, a gang that starts, and one that lacks a member. A node
// that is there has the label nodeLabel.
func newCohort(number int, nodeLabel string) cohort {
	unique := func(what string) string { return fmt.Sprintf("soak.example.com/%s-%d", what, number) }
	var c cohort
	add := func(kind string, change func(*corev1.Pod)) {
		pod := workload.NewPod(fmt.Sprintf("%s-%d", kind, number), "100m")
		pod.Labels = map[string]string{unique("label"): kind}
		change(pod)
		c.pods = append(c.pods, pod)
	}
	alike := &metav1.LabelSelector{MatchLabels: map[string]string{unique("label"): "apart"}}
	add("plain", func(*corev1.Pod) {})
	add("spread", func(p *corev1.Pod) {
		p.Spec.TopologySpreadConstraints = constraint(unique("zone"), corev1.ScheduleAnyway, alike)
	})
	add("pinned", func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{nodeLabel: ""} })
	add("apart", func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{
			PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{
				{TopologyKey: corev1.LabelHostname, LabelSelector: alike}, {TopologyKey: unique("rack"), LabelSelector: alike},
			}},
		}
	})
	add("nowhere-by-zone", func(p *corev1.Pod) {
		p.Spec.TopologySpreadConstraints = constraint(unique("region"), corev1.DoNotSchedule, alike)
	})
	add("nowhere-by-resource", func(p *corev1.Pod) {
		requests := maps.Clone(p.Spec.Containers[0].Resources.Requests)
		requests[corev1.ResourceName(unique("device"))] = resource.MustParse("1")
		p.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: requests, Limits: requests}
	})
	for gang, members := range map[string]int{"whole": quorum, "lacking": quorum - 1} {
		group := fmt.Sprintf("%s-%d", gang, number)
		c.groups = append(c.groups, newGroup(group))
		for member := range members {
			add(fmt.Sprintf("%s-%d", gang, member), func(p *corev1.Pod) { p.Labels[v1alpha1.LabelX] = group })
		}
	}
	c.namespace = &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("soak-%d", number), Labels: map[string]string{unique("namespace"): ""}},
	}
	return c
}

func constraint(
	key string, unsatisfiable corev1.UnsatisfiableConstraintAction, of *metav1.LabelSelector,
) []corev1.TopologySpreadConstraint {
	return []corev1.TopologySpreadConstraint{{MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: unsatisfiable, LabelSelector: of}}
}

func newGroup(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.APIGroupOf(v1alpha1.LabelX) + "/" + v1alpha1.Version, "kind": v1alpha1.Kind,
		"metadata": map[string]any{"name": name, "namespace": workload.Namespace},
		"spec":     map[string]any{"minMember": int64(quorum), "scheduleTimeoutSeconds": int64(5)},
	}}
}

// newNode makes a node in its n-th life, with a label and a resource that no node has had before.
func newNode(name string, life int) *corev1.Node {
	node := workload.NewNode(name, workload.Milli(1000*coresOfANode), workload.Room(64, 20))
	node.Labels[labelOf(name, life)] = ""
	device := corev1.ResourceName(fmt.Sprintf("soak.example.com/device-of-%s-%d", name, life))
	node.Status.Allocatable[device] = resource.MustParse("4")
	node.Status.Allocatable[corev1.ResourcePods] = resource.MustParse("110")
	return node
}

// labelOf is the label that a node has in its n-th life alone.
func labelOf(node string, life int) string { return fmt.Sprintf("soak.example.com/%s-%d", node, life) }

// newMetric makes what a node reports of itself.
func newMetric(node string, updated time.Time) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": slov1alpha1.Group + "/" + slov1alpha1.Version, "kind": slov1alpha1.Kind,
		"metadata": map[string]any{"name": node},
		"status": map[string]any{
			"updateTime": updated.UTC().Format(time.RFC3339),
			"nodeMetric": map[string]any{"nodeUsage": map[string]any{"resources": map[string]any{"cpu": "500m", "memory": "1Gi"}}},
		},
	}}
}

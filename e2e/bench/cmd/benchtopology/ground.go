package main

import (
	"fmt"
	"log/slog"
	"math"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

const (
	gpu       = corev1.ResourceName("example.com/gpu")
	namespace = "default"
	kindLabel = "example.com/kind"
)

// ground is a view of a cluster in which places are planned by all predicates of the default profile.
type ground struct {
	cluster *cluster.Cluster
	store   *predicates.VerdictStore
}

func newGround() (*ground, error) {
	profile, err := predicates.NewProfile(&config.Default().Profiles[0])
	if err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	c := cluster.New(cluster.Options{Logger: slog.New(slog.DiscardHandler), Registerer: registry, AssumeTTL: math.MaxInt64})
	return &ground{c, predicates.NewVerdictStore(profile, c, math.MaxInt64, predicates.NewStoreMetrics(registry), clock.RealClock{})}, nil
}

// list is amounts as CPUs and GPUs.
func (a amounts) list() corev1.ResourceList {
	return corev1.ResourceList{
		corev1.ResourceCPU: *resource.NewQuantity(int64(a[0]), resource.DecimalSI),
		gpu:                *resource.NewQuantity(int64(a[1]), resource.DecimalSI),
	}
}

func levelKey(level int) string { return fmt.Sprintf("example.com/level-%d", level) }

func nodeName(number int) string { return fmt.Sprintf("node-%05d", number) }

// nodeObject is a node with a label for each level that it does not lack.
func nodeObject(number int, path []int, offers amounts) *corev1.Node {
	name := nodeName(number)
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}}}
	for i, value := range path {
		if value >= 0 {
			n.Labels[levelKey(i+1)] = fmt.Sprint("domain-", value)
		}
	}
	n.Status.Allocatable = offers.list()
	n.Status.Allocatable[corev1.ResourcePods] = *resource.NewQuantity(110, resource.DecimalSI)
	return n
}

// podObject is a pod of a Job, whose pods are alike.
func podObject(job string, number int, asks amounts, apart bool) *corev1.Pod {
	name := fmt.Sprintf("%s-%d", job, number)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: namespace, UID: types.UID(name), Labels: map[string]string{kindLabel: job},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: job, UID: types.UID(job), Controller: new(true)}},
		},
		Spec: corev1.PodSpec{SchedulerName: corev1.DefaultSchedulerName, Containers: []corev1.Container{{
			Name: "main", Image: job, Resources: corev1.ResourceRequirements{Requests: asks.list()},
		}}},
	}
	if apart {
		pod.Spec.Affinity = &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				LabelSelector: &metav1.LabelSelector{MatchLabels: pod.Labels}, TopologyKey: corev1.LabelHostname,
			}},
		}}
	}
	return pod
}

// running puts a pod on a node.
func (g *ground) running(pod *corev1.Pod, node int) error {
	pod.Spec.NodeName = nodeName(node)
	return g.cluster.Set(pod)
}

package policy

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/loadaware"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/planner"
)

type failer interface{ Fatal(...any) }

// scene is a cluster at noon, and what is done about it.
type scene struct {
	samples int // that must find a node hot or uneven; 0 for the usual number
	failer
	cluster *cluster.Cluster
	config  *config.Configuration
	load    loadaware.Options
	problem planner.Problem // without a snapshot
}

func noon() time.Time { return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC) }

func newScene(t failer) *scene {
	log := slog.New(slog.DiscardHandler)
	s := &scene{failer: t, config: config.Default()}
	s.cluster = cluster.New(cluster.Options{Logger: log, Registerer: prometheus.NewRegistry(), AssumeTTL: time.Hour})
	s.load = loadaware.Options{Logger: log, Metrics: loadaware.NewMetrics(prometheus.NewRegistry())}
	profile, err := predicates.NewProfile(s.config.Profiles[0].WithSchedulerScores())
	if err != nil {
		t.Fatal(err)
	}
	s.problem = planner.Problem{Profiles: []*predicates.Profile{profile}, Clock: clocktesting.NewFakePassiveClock(noon())}
	return s
}

func (s *scene) situation() Situation { return Of(s.cluster, s.problem) }

// node joins so long before noon. It has 64 GiB.
func (s *scene) node(name, cpu string, ago time.Duration, change ...func(*corev1.Node)) {
	node := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{
			Name:              name,
			UID:               types.UID(name),
			CreationTimestamp: metav1.NewTime(noon().Add(-ago)),
			Labels:            map[string]string{corev1.LabelHostname: name},
		},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			"cpu": resource.MustParse(cpu), "memory": resource.MustParse("64Gi"), "pods": resource.MustParse("110"),
		}},
	}
	for _, f := range change {
		f(node)
	}
	if err := s.cluster.Set(node); err != nil {
		s.Fatal(err)
	}
}

// pod is one of the ReplicaSet of its name up to the hyphen, and waits when it is on no node.
func (s *scene) pod(name, on, cpu string, change ...func(*corev1.Pod)) {
	app, _, _ := strings.Cut(name, "-")
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:      name,
			Namespace: "default",
			UID:       types.UID(name),
			Labels:    map[string]string{"app": app},
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app, UID: types.UID(app), Controller: new(true)},
			},
		},
		Spec: corev1.PodSpec{NodeName: on, SchedulerName: corev1.DefaultSchedulerName, Containers: []corev1.Container{{
			Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)}},
		}}},
	}
	if on != "" {
		pod.Status.Conditions = []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionTrue, LastTransitionTime: metav1.NewTime(noon().Add(-time.Hour))},
		}
	}
	for _, f := range change {
		f(pod)
	}
	if err := s.cluster.Set(pod); err != nil {
		s.Fatal(err)
	}
}

// uses sets the use of a node, measured some time after noon, and the use of its pods. CPU is in thousandths.
func (s *scene) uses(node string, after time.Duration, milliCPU int64, pods map[string]int64) {
	at := noon().Add(after)
	usage := &cluster.Usage{
		Updated: at,
		Seen:    at,
		Node:    cluster.Resources{MilliCPU: milliCPU},
		Pods:    map[types.NamespacedName]cluster.PodUsage{},
	}
	for name, used := range pods {
		usage.Pods[types.NamespacedName{Namespace: "default", Name: name}] = cluster.PodUsage{Used: cluster.Resources{MilliCPU: used}}
	}
	s.cluster.SetUsage(node, usage)
}

func (s *scene) sampled(usual int) int {
	if s.samples > 0 {
		return s.samples
	}
	return usual
}

func (s *scene) hot() *Hot {
	return NewHot(&s.config.Rescheduler.Relieve, NewMeter(s.config, s.load), s.sampled(HotSamples))
}

// going is a pod that is being deleted, and has half a minute to end.
func going(p *corev1.Pod) { p.DeletionTimestamp = new(metav1.NewTime(noon().Add(30 * time.Second))) }

func never(string) time.Time { return time.Time{} }

func steps(plan *planner.Plan) (said []string) {
	if plan == nil {
		return nil
	}
	for _, step := range plan.Steps {
		said = append(said, fmt.Sprintf("%s: %s → %s", step.Pod.Name, step.From.Name, step.To.Name))
	}
	return said
}

package planner

import (
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/predicates"
)

type failer interface{ Fatal(...any) }

// scene is a cluster and the pods that wait for room in it.
type scene struct {
	cluster *cluster.Cluster
	waiting []*cluster.Pod
}

func newScene() *scene {
	return &scene{cluster: cluster.New(cluster.Options{
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), AssumeTTL: time.Hour,
	})}
}

func (s *scene) set(t failer, objects ...runtime.Object) {
	for _, object := range objects {
		if pod, is := object.(*corev1.Pod); is && pod.Spec.NodeName == "" {
			waits := cluster.NewPod(pod)
			if len(pod.Spec.ResourceClaims) > 0 { // it is the view that knows its claims
				if err := s.cluster.Set(pod); err != nil {
					t.Fatal(err)
				}
				waits = s.cluster.PendingPod(pod.UID)
			}
			s.waiting = append(s.waiting, waits)
			continue
		}
		if err := s.cluster.Set(object); err != nil {
			t.Fatal(err)
		}
	}
}

// now is when all problems are looked at.
func now() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// problem is about a clock that stands still: only patience ends a search.
func (s *scene) problem(t failer) *Problem {
	profile, err := predicates.NewProfile(config.Default().Profiles[0].WithSchedulerScores())
	if err != nil {
		t.Fatal(err)
	}
	return &Problem{
		Gangs: gangs(), Snapshot: s.cluster.Snapshot(), Profiles: []*predicates.Profile{profile}, Clock: clocktesting.NewFakePassiveClock(now()),
	}
}

func (s *scene) groups() []Group {
	return (&Problem{Snapshot: s.cluster.Snapshot(), Gangs: gangs()}).Pending(s.waiting)
}

func gangs() membership.Bounds { return membership.BoundsOf(&config.Default().Gangs) }

func node(name, cpu string, change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse(cpu),
			corev1.ResourceMemory: resource.MustParse("64Gi"),
			corev1.ResourcePods:   resource.MustParse("110"),
		}},
	}
	for _, f := range change {
		f(n)
	}
	return n
}

// pod is one of the ReplicaSet of its name up to the hyphen. It waits
// when it is on no node.
func pod(name, on, cpu string, change ...func(*corev1.Pod)) *corev1.Pod {
	app, _, _ := strings.Cut(name, "-")
	yes := true
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "default", UID: types.UID(name), Labels: map[string]string{"app": app}, Annotations: map[string]string{},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app, UID: types.UID(app), Controller: &yes}},
		},
		Spec: corev1.PodSpec{
			NodeName:      on,
			SchedulerName: corev1.DefaultSchedulerName,
			Containers: []corev1.Container{
				{Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}}},
			},
		},
	}
	for _, f := range change {
		f(p)
	}
	return p
}

func priority(of int32) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.Priority = &of } }

func inGang(name string, minMember int) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Labels[v1alpha1.LabelMuster] = name
		p.Annotations[v1alpha1.AnnotationMinMember] = fmt.Sprint(minMember)
	}
}

// ofKubernetesOwnGroup has a pod name one, which nobody serves.
func ofKubernetesOwnGroup(name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &name} }
}

func annotated(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations[key] = value }
}

func inNamespace(name string) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Namespace = name } }

func ready(p *corev1.Pod) {
	p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: corev1.PodReady, Status: corev1.ConditionTrue})
}

// controlledBy is an owner of another kind than a ReplicaSet.
func controlledBy(apiVersion, kind string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.OwnerReferences[0].APIVersion, p.OwnerReferences[0].Kind = apiVersion, kind }
}

func ownedBy(kind string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.OwnerReferences[0].Kind = kind }
}

func unowned(p *corev1.Pod) { p.OwnerReferences = nil }

func onPort(port int32) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: port}} }
}

// apartBy keeps pods of one app in different domains.
func apartBy(key string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Affinity = &corev1.Affinity{
			PodAntiAffinity: &corev1.PodAntiAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
				TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": p.Labels["app"]}},
			}}},
		}
	}
}

func spreadBy(key string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: key, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": p.Labels["app"]}},
		}}
	}
}

func with(volume corev1.VolumeSource) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: volume}} }
}

func softlyTainted(key string) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: key, Effect: corev1.TaintEffectPreferNoSchedule})
	}
}

func noted(key, value string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Annotations = map[string]string{key: value} }
}

func offering(name, amount string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Status.Allocatable[corev1.ResourceName(name)] = resource.MustParse(amount) }
}

func asking(name, amount string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.Spec.Containers[0].Resources.Requests[corev1.ResourceName(name)] = resource.MustParse(amount)
	}
}

func readiness(is corev1.ConditionStatus) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: is}}
	}
}

func inZone(zone string) func(*corev1.Node) {
	return func(n *corev1.Node) { n.Labels[corev1.LabelTopologyZone] = zone }
}

func protecting(app string, allowed int32) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: app + "-budget", Namespace: "default"},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
		Status:     policyv1.PodDisruptionBudgetStatus{DisruptionsAllowed: allowed},
	}
}

// protects is why a pod stays that is on node a.
func (s *scene) protects(rules *Rules, name string) string {
	snap := s.cluster.Snapshot()
	at := snap.NodeByName("a")
	for _, pod := range at.Pods {
		if pod.Name == name {
			return rules.Protects(pod, at, WorkloadsOf(snap), now())
		}
	}
	return "it is not there"
}

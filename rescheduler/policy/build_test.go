package policy

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/planner"
)

// situation describes a cluster of these objects.
func situation(t *testing.T, objects ...runtime.Object) Situation {
	t.Helper()
	c := cluster.New(cluster.Options{Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewRegistry(), AssumeTTL: time.Hour})
	for _, object := range objects {
		if err := c.Set(object); err != nil {
			t.Fatal(err)
		}
	}
	profile, err := predicates.NewProfile(config.Default().Profiles[0].WithSchedulerScores())
	if err != nil {
		t.Fatal(err)
	}
	return Of(c, planner.Problem{
		Profiles: []*predicates.Profile{profile}, Clock: clocktesting.NewFakePassiveClock(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)),
	})
}

// said is a plan in short: steps as "pod: from → to (why)", and pods that stay as "pod: why".
func said(p *planner.Plan) (lines []string) {
	if p == nil {
		return nil
	}
	for _, step := range p.Steps {
		lines = append(lines, fmt.Sprintf("%s: %s → %s (%s)", step.Pod.Name, step.From.Name, step.To.Name, step.Why))
	}
	for _, refusal := range p.Unmoved {
		lines = append(lines, fmt.Sprintf("%s: %s", refusal.Name, refusal.Reason))
	}
	return lines
}

func node(name string, change ...func(*corev1.Node)) *corev1.Node {
	n := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU:    resource.MustParse("4"),
			corev1.ResourceMemory: resource.MustParse("64Gi"),
			corev1.ResourcePods:   resource.MustParse("110"),
		}},
	}
	for _, f := range change {
		f(n)
	}
	return n
}

// pod is one of the ReplicaSet of its name up to the hyphen.
func pod(name, on string, change ...func(*corev1.Pod)) *corev1.Pod {
	app, _, _ := strings.Cut(name, "-")
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name:        name,
			Namespace:   "shop",
			UID:         types.UID(name),
			Labels:      map[string]string{"app": app},
			Annotations: map[string]string{},
			OwnerReferences: []metav1.OwnerReference{
				{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: app, UID: types.UID(app), Controller: new(true)},
			},
		},
		Spec: corev1.PodSpec{
			NodeName:      on,
			SchedulerName: corev1.DefaultSchedulerName,
			Containers: []corev1.Container{
				{Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}}},
			},
		},
	}
	for _, f := range change {
		f(p)
	}
	return p
}

func annotated(key, value string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Annotations[key] = value }
}

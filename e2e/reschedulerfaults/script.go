package reschedulerfaults

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/faultcampaign"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// window is how long things happen in a run. What waits for a moment that does not come
// happens at its end.
const window = 12 * time.Second

// Labels of pods: app is the name of their workload, tier that of a budget.
const appLabel, tierLabel, tierWeb = "app", "tier", "web"

// script is what is done in a run, whatever comes of it.
type script struct {
	seed      uint64
	settings  settings
	nodes     []*corev1.Node
	workloads []*replicas // that are placed before anything happens
	events    []event
	trouble   faultcampaign.Trouble
}

// settings of the reschedulers. The zero of a limit is none.
type settings struct {
	replicas  int // of the process
	coalesce  bool
	selection muster.Selection
	budgets   budgets
}

// budgets bound evictions, as the configuration has them.
type budgets struct {
	rate                           rate
	perPlan, perNode, perWorkload  int
	workloadCoolDown, nodeCoolDown time.Duration
	webRate                        rate // of pods whose tier is web
	webDown                        int
}

// rate is so many evictions in a period.
type rate struct {
	evictions int
	per       time.Duration
}

func (r rate) config() map[string]any {
	return map[string]any{"evictions": r.evictions, "per": max(r.per, time.Second).String()}
}

// config is the section of the configuration.
func (s *settings) config() map[string]any {
	b := &s.budgets
	limits := map[string]any{
		"rate": b.rate.config(), "perPlan": b.perPlan, "perNode": b.perNode, "perWorkload": b.perWorkload,
		"workloadCoolDown": b.workloadCoolDown.String(), "nodeCoolDown": b.nodeCoolDown.String(),
	}
	web := map[string]any{"selector": tierLabel + "=" + tierWeb, "rate": b.webRate.config()}
	if b.webDown > 0 {
		web["maxDown"] = b.webDown
	}
	limits["selected"] = []any{web}
	return map[string]any{
		"mode": "Auto", "interval": "1s", "planTTL": planTTL.String(), "planTime": "500ms", "replacementTimeout": replacementTimeout.String(),
		"makeRoom": map[string]any{"pendingFor": "1s"}, "coalesce": map[string]any{"enabled": s.coalesce}, "budgets": limits,
		"evictable": map[string]any{"allowSingleReplica": true},
	}
}

// event is something that is done to the cluster, not before a time since the run began, and
// some time after a moment.
type event struct {
	at     time.Duration
	moment moment
	after  time.Duration
	what   string              // for people
	fault  faultcampaign.Fault // "" for what is none
	do     func(context.Context, *run) error
}

// moment is one in the life of a plan, of any.
type moment string

// The moments.
const (
	anyTime   moment = ""
	planMade  moment = "a plan is made"
	planRuns  moment = "a plan is carried out"
	podLeaves moment = "a pod is evicted"
)

// replicas are the pods of a ReplicaSet.
type replicas struct {
	name     string
	count    int
	milliCPU int64
	priority string // class
	web      bool
	gang     bool
	grace    int64 // seconds
}

func (w *replicas) labels() map[string]string {
	set := map[string]string{appLabel: w.name}
	if w.web {
		set[tierLabel] = tierWeb
	}
	if w.gang {
		set[v1alpha1.LabelMuster] = w.name
	}
	return set
}

func (w *replicas) object() *appsv1.ReplicaSet {
	pod := faultcampaign.NewPod("", w.milliCPU, w.priority)
	pod.Spec.TerminationGracePeriodSeconds = &w.grace
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: w.labels()}, Spec: pod.Spec}
	if w.gang {
		template.Annotations = map[string]string{v1alpha1.AnnotationMinMember: fmt.Sprint(w.count)}
	}
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: w.name, Namespace: workload.Namespace},
		Spec: appsv1.ReplicaSetSpec{
			Replicas: new(int32(w.count)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: w.name}}, Template: template,
		},
	}
}

// budget is a PodDisruptionBudget of the pods, that allows so many to be down.
func (w *replicas) budget(most int) *policyv1.PodDisruptionBudget {
	down := intstr.FromInt32(int32(most))
	return &policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: w.name, Namespace: workload.Namespace},
		Spec: policyv1.PodDisruptionBudgetSpec{
			Selector:       &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: w.name}},
			MaxUnavailable: &down,
		},
	}
}

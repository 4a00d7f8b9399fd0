package reschedulerfaults

import (
	"context"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/rescheduling/v1alpha1"
	schedulingv1alpha1 "muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/faultcampaign"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// window is how long things happen in a run. What waits for a moment that does not come
// happens at its end.
const window = 22 * time.Second

// Labels of pods: app is the name of their workload, tier that of a budget.
const appLabel, tierLabel, tierWeb = "app", "tier", "web"

// safeToEvict is an annotation of pods that nobody moves when it is "false".
const safeToEvict = "cluster-autoscaler.kubernetes.io/safe-to-evict"

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
	mark      config.NodeMark // of nodes that become empty
	closedFor time.Duration   // an emptied node
	selection muster.Selection
	budgets   budgets
	// skew is by how much muster's clock is ahead.
	skew time.Duration
}

// wrong is by how much a clock may be wrong.
const wrong = 30 * time.Second

// musterSkew returns by how much muster's clock is ahead for a seed.
func musterSkew(seed uint64) time.Duration { return []time.Duration{0, wrong, -wrong}[seed%3] }

// skewsOf returns by how much the clock of a rescheduler is ahead, and that of its successors, by turns. Those of the first one
// are wrong if muster's is. None is behind from the beginning, as it would take pods for too young to make room for.
func (s *settings) skewsOf(replica int) [2]time.Duration {
	switch {
	case replica > 0:
		return [2]time.Duration{}
	case s.skew < 0:
		return [2]time.Duration{wrong, -wrong}
	}
	return [2]time.Duration{s.skew, 0}
}

// mostApart is by how much two clocks differ at most.
func (s *settings) mostApart() time.Duration { return 2 * s.skew.Abs() }

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
func (s *settings) config(mode v1alpha1.Mode) map[string]any {
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
		"mode": mode, "interval": "1s", "planTTL": planTTL.String(), "planTime": "500ms", "replacementTimeout": replacementTimeout.String(),
		"makeRoom": map[string]any{"pendingFor": "1s"}, "budgets": limits,
		"coalesce":  map[string]any{"enabled": s.coalesce, "maxNodes": 3, "mark": s.mark, "closedFor": s.closedFor.String()},
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

// replicas are the pods of a ReplicaSet, of a StatefulSet, or of a Job that fails with one of them.
type replicas struct {
	name     string
	count    int
	milliCPU int64
	priority string // class
	web      bool
	gang     bool
	stateful bool
	job      bool
	kept     bool  // annotated not to be evicted
	grace    int64 // seconds
}

func (w *replicas) labels() map[string]string {
	set := map[string]string{appLabel: w.name}
	if w.web {
		set[tierLabel] = tierWeb
	}
	if w.gang {
		set[schedulingv1alpha1.LabelMuster] = w.name
	}
	return set
}

// template is what the pods are made of.
func (w *replicas) template() corev1.PodTemplateSpec {
	pod := faultcampaign.NewPod("", w.milliCPU, w.priority)
	pod.Spec.TerminationGracePeriodSeconds = &w.grace
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: w.labels()}, Spec: pod.Spec}
	if w.gang {
		template.Annotations = map[string]string{schedulingv1alpha1.AnnotationMinMember: fmt.Sprint(w.count)}
	}
	if w.kept {
		template.Annotations = map[string]string{safeToEvict: "false"}
	}
	return template
}

func (w *replicas) selector() *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{appLabel: w.name}}
}

func (w *replicas) replicaSet() *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: w.name, Namespace: workload.Namespace},
		Spec:       appsv1.ReplicaSetSpec{Replicas: new(int32(w.count)), Selector: w.selector(), Template: w.template()},
	}
}

// statefulSet makes a pod anew whichever of the others is not ready: else none would come while another one waits for room.
func (w *replicas) statefulSet() *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: w.name, Namespace: workload.Namespace},
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(w.count)), Selector: w.selector(), Template: w.template(), PodManagementPolicy: appsv1.ParallelPodManagement,
		},
	}
}

// batch is a Job that fails when one of its pods does.
func (w *replicas) batch() *batchv1.Job {
	template := w.template()
	template.Spec.RestartPolicy = corev1.RestartPolicyNever
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: w.name, Namespace: workload.Namespace},
		Spec: batchv1.JobSpec{
			Parallelism: new(int32(w.count)), Completions: new(int32(w.count)), BackoffLimit: new(int32(0)), Template: template,
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

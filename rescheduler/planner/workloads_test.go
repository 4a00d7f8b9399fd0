package planner

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
)

// meta describes the controller x of the pods x-….
func meta() metav1.ObjectMeta { return metav1.ObjectMeta{Name: "x", Namespace: "default", UID: "x"} }

func dying() metav1.ObjectMeta {
	m := meta()
	m.DeletionTimestamp = &metav1.Time{Time: now()}
	return m
}

func replicaSet(m metav1.ObjectMeta, replicas int32) *appsv1.ReplicaSet {
	return &appsv1.ReplicaSet{ObjectMeta: m, Spec: appsv1.ReplicaSetSpec{Replicas: &replicas}}
}

// job is a Job of two pods at a time with a limit of failures and a count of past ones.
func job(limit, failed int32, change ...func(*batchv1.Job)) *batchv1.Job {
	j := &batchv1.Job{
		ObjectMeta: meta(), Spec: batchv1.JobSpec{Parallelism: new(int32(2)), BackoffLimit: &limit}, Status: batchv1.JobStatus{Failed: failed},
	}
	for _, f := range change {
		f(j)
	}
	return j
}

// failing has the rules of a Job say what a failure is.
func failing(rules ...batchv1.PodFailurePolicyRule) func(*batchv1.Job) {
	return func(j *batchv1.Job) { j.Spec.PodFailurePolicy = &batchv1.PodFailurePolicy{Rules: rules} }
}

func TestAPodIsMovedOnlyIfItsControllerReplacesItAndBearsThat(t *testing.T) {
	ignored := batchv1.PodFailurePolicyRule{
		Action:          batchv1.PodFailurePolicyActionIgnore,
		OnPodConditions: []batchv1.PodFailurePolicyOnPodConditionsPattern{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue}},
	}
	fatal := batchv1.PodFailurePolicyRule{
		Action: batchv1.PodFailurePolicyActionFailJob,
		OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
			Operator: batchv1.PodFailurePolicyOnExitCodesOpNotIn, Values: []int32{0},
		},
	}
	byRule := func(rules ...batchv1.PodFailurePolicyRule) *batchv1.Job { return job(0, 0, failing(rules...)) }
	perIndex := job(1<<30, 0, func(j *batchv1.Job) { j.Spec.BackoffLimitPerIndex = new(int32(1)) })
	failedSoOften := func(count string) func(*corev1.Pod) { return annotated(batchv1.JobIndexFailureCountAnnotation, count) }
	ofJob, movable := controlledBy("batch/v1", "Job"), annotated("rescheduling.muster.dev/movable", "true")
	for name, test := range map[string]struct {
		controller runtime.Object
		pod        func(*corev1.Pod) // what is special about x-1 and x-2
		movable    bool              // x-1 says that it is
		rules      Rules
		want       string
	}{
		"a ReplicaSet": {controller: replicaSet(meta(), 2)},
		"a ReplicaSet that is scaled down": {
			controller: replicaSet(meta(), 1), want: ReasonNotReplaced,
		},
		"a ReplicaSet that is scaled to none": {controller: replicaSet(meta(), 0), movable: true, want: ReasonNotReplaced},
		"a ReplicaSet that is being deleted":  {controller: replicaSet(dying(), 2), movable: true, want: ReasonNotReplaced},
		"a ReplicaSet that was another one": {
			controller: replicaSet(metav1.ObjectMeta{Name: "x", Namespace: "default", UID: "y"}, 2), want: ReasonNotReplaced,
		},
		"a ReplicaSet that is not shown": {},
		"a StatefulSet that is scaled to none": {
			controller: &appsv1.StatefulSet{ObjectMeta: meta(), Spec: appsv1.StatefulSetSpec{Replicas: new(int32(0))}},
			pod:        controlledBy("apps/v1", "StatefulSet"), want: ReasonNotReplaced,
		},
		"a ReplicationController that is scaled to none": {
			controller: &corev1.ReplicationController{ObjectMeta: meta(), Spec: corev1.ReplicationControllerSpec{Replicas: new(int32(0))}},
			pod:        controlledBy("v1", "ReplicationController"), want: ReasonNotReplaced,
		},
		"another pod, as of a Spark executor": {pod: controlledBy("v1", "Pod"), want: ReasonController},
		"a step of a workflow":                {pod: controlledBy("argoproj.io/v1alpha1", "Workflow"), want: ReasonController},
		"a kind that says nothing":            {pod: controlledBy("example.com/v1", "ReplicaSet"), want: ReasonController},
		"a kind that is configured": {
			pod: controlledBy("apps.kruise.io/v1alpha1", "CloneSet"), rules: Rules{Controllers: sets.New("CloneSet.apps.kruise.io")},
		},
		"a kind that the pod trusts": {pod: controlledBy("argoproj.io/v1alpha1", "Workflow"), movable: true},

		"a Job that nothing shows":                 {pod: ofJob, want: ReasonUnknownJob},
		"a Job that nothing shows and is trusted":  {pod: ofJob, rules: Rules{Controllers: sets.New("Job.batch")}},
		"a Job that bears no failure":              {controller: job(0, 0), pod: ofJob, want: ReasonJobFails},
		"a Job that bears no failure, a pod says":  {controller: job(0, 0), pod: ofJob, movable: true},
		"a Job that bears no failure but is named": {controller: job(0, 0), pod: ofJob, rules: Rules{Controllers: sets.New("Job.batch")}},
		"a Job that bears all of its pods to fail": {controller: job(3, 1), pod: ofJob},
		"a Job that bears one of them to fail":     {controller: job(3, 2), pod: ofJob, want: ReasonJobFails},
		"a Job by which evictions are no failures": {controller: byRule(ignored), pod: ofJob},
		"a Job by which they are if the pod ends with an error": {
			controller: byRule(fatal, ignored), pod: ofJob, want: ReasonJobFails,
		},
		"a Job by which something else is fatal": {controller: byRule(ignored, fatal), pod: ofJob},
		"a Job whose rules say nothing of evictions": {
			controller: job(6, 0, failing(fatal)), pod: ofJob, want: ReasonJobFails,
		},
		"a Job whose index bears a failure": {
			controller: perIndex, pod: func(p *corev1.Pod) { ofJob(p); failedSoOften("0")(p) },
		},
		"a Job whose index has failed": {
			controller: perIndex, pod: func(p *corev1.Pod) { ofJob(p); failedSoOften("1")(p) }, want: ReasonJobFails,
		},
		"a Job of whose index nothing is known": {controller: perIndex, pod: ofJob, want: ReasonJobFails},
		"a Job that is suspended": {
			controller: job(6, 0, func(j *batchv1.Job) { j.Spec.Suspend = new(true) }), pod: ofJob, movable: true, want: ReasonNotReplaced,
		},
		"a Job that makes no pods any more": {
			controller: job(6, 0, func(j *batchv1.Job) { j.Spec.Parallelism = new(int32(0)) }), pod: ofJob, want: ReasonNotReplaced,
		},
		"a Job that is being deleted": {
			controller: job(6, 0, func(j *batchv1.Job) { j.ObjectMeta = dying() }), pod: ofJob, movable: true, want: ReasonNotReplaced,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			change := func(p *corev1.Pod) {}
			if test.pod != nil {
				change = test.pod
			}
			first := pod("x-1", "a", "1", change)
			if test.movable {
				movable(first)
			}
			s.set(t, node("a", "4"), first, pod("x-2", "a", "1", change))
			if test.controller != nil {
				s.set(t, test.controller)
			}
			if got := s.protects(&test.rules, "x-1"); got != test.want {
				t.Errorf("reason %q, want %q", got, test.want)
			}
		})
	}
}

func TestTheOnlyPodThatIsReadyStays(t *testing.T) {
	ends := func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: now()} }
	for name, test := range map[string]struct {
		first  func(*corev1.Pod)
		second *corev1.Pod
		rules  Rules
		want   string
	}{
		"there is no other one":            {first: ready, want: ReasonOnlyReady},
		"another one is not ready":         {first: ready, second: pod("x-2", "a", "1"), want: ReasonOnlyReady},
		"another one is going":             {first: ready, second: pod("x-2", "a", "1", ready, ends), want: ReasonOnlyReady},
		"one of another controller is":     {first: ready, second: pod("y-2", "a", "1", ready), want: ReasonOnlyReady},
		"another one is ready":             {first: ready, second: pod("x-2", "a", "1", ready)},
		"the pod is not ready either":      {first: func(*corev1.Pod) {}, second: pod("x-2", "a", "1", ready)},
		"none is ready":                    {first: func(*corev1.Pod) {}},
		"it is allowed":                    {first: ready, rules: Rules{AllowSingleReplica: true}},
		"the pod allows it":                {first: func(p *corev1.Pod) { ready(p); annotated("rescheduling.muster.dev/movable", "true")(p) }},
		"it is of a gang that moves whole": {first: func(p *corev1.Pod) { ready(p); inGang("g", 1)(p) }},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			s.set(t, node("a", "4"), pod("x-1", "a", "1", test.first))
			if test.second != nil {
				s.set(t, test.second)
			}
			if got := s.protects(&test.rules, "x-1"); got != test.want {
				t.Errorf("reason %q, want %q", got, test.want)
			}
		})
	}
}

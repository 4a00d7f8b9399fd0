package rescheduler

import (
	"fmt"
	"maps"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	schedulingv1alpha1 "muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

func TestMain(m *testing.M) { lab.Main(m) }

const namespace = workload.Namespace

// cluster is a cluster in pieces: the pod big, of 4 cores, fits nowhere, and once small-…, of 2, has
// moved from n1 to n2, it fits n1.
type cluster struct {
	*lab.Lab
	server      *muster.Server
	rescheduler *muster.Rescheduler
	requests    string // where it takes those to separate pods
	options     muster.Options
}

func newCluster(t *testing.T, mode v1alpha1.Mode, options muster.Options) *cluster {
	t.Helper()
	return newEmptyCluster(t, mode, options).inPieces()
}

// newEmptyCluster is one without nodes and pods.
func newEmptyCluster(t *testing.T, mode v1alpha1.Mode, options muster.Options) *cluster {
	t.Helper()
	l := &cluster{Lab: lab.Take(t, lab.Options{CRDs: true, Options: controlplane.Options{
		Controllers: []string{"replicaset-controller", "disruption-controller", "resourceclaim-controller"},
	}})}
	l.Must(l.StartKWOK(t.Context()))
	l.options = options
	l.options.Config = map[string]any{
		"leaderElection": map[string]any{"leaseDuration": "10m"},
		"rescheduler": map[string]any{
			"mode": mode, "interval": "1s",
			"makeRoom": map[string]any{"pendingFor": "1s"}, "evictable": map[string]any{"minReplicas": 0},
		},
	}
	if options.Asked() {
		l.server = l.MusterWithScheduler(l.options)
		return l
	}
	l.server = l.Muster(l.options)
	l.placeAhead()
	l.Schedule("")
	return l
}

// placeAhead has the pods of the cluster placed before a scheduler sees them that knows nothing of muster.
func (l *cluster) placeAhead() {
	l.Helper()
	optedIn := fmt.Appendf(nil, `{"metadata":{"labels":{%q:"true"}}}`, schedulingv1alpha1.LabelAhead)
	_, err := l.Client.CoreV1().Namespaces().Patch(l.Context(), namespace, types.MergePatchType, optedIn, metav1.PatchOptions{})
	l.Must(err)
}

// inPieces makes the nodes and the pod of a lab.
func (l *cluster) inPieces() *cluster {
	l.Helper()
	l.Create(workload.NewNode("n1", "4"))
	l.createSmall()
	l.Eventually("small runs", func() error { return l.isOn(l.small(), "n1") })
	l.Create(workload.NewNode("n2", "2"))
	return l
}

// configure changes the configuration of reschedulers that are started from now on.
func (l *cluster) configure(settings map[string]any) {
	maps.Copy(l.options.Config["rescheduler"].(map[string]any), settings)
}

func (l *cluster) reschedule() {
	l.Helper()
	l.rescheduler = l.Reschedule(l.server, l.options, lab.FreeAddress(l.T))
}

// crash ends the rescheduler as a crash would. Nobody has to wait until its lease has run out.
func (l *cluster) crash() {
	l.Helper()
	l.rescheduler.Crash()
	err := l.Client.CoordinationV1().Leases(metav1.NamespaceSystem).Delete(l.Context(), "muster-rescheduler", metav1.DeleteOptions{})
	if !apierrors.IsNotFound(err) { // it may not have led yet
		l.Must(err)
	}
}

// podSpec describes a pod that takes a moment to end.
func podSpec(cpu string) corev1.PodSpec {
	spec := workload.PodSpec(cpu)
	spec.TerminationGracePeriodSeconds = new(int64(1))
	return spec
}

func (l *cluster) createSmall() { l.createSet("small", "2", 1, nil) }

// createSet creates a ReplicaSet of a number of pods, which change may change.
func (l *cluster) createSet(name, cpu string, count int32, change func(*corev1.PodTemplateSpec)) {
	l.Helper()
	set := map[string]string{"app": name}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}}, Spec: podSpec(cpu)}
	if change != nil {
		change(&template)
	}
	l.Create(&appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       appsv1.ReplicaSetSpec{Replicas: &count, Selector: &metav1.LabelSelector{MatchLabels: set}, Template: template},
	})
}

func (l *cluster) createPod(name, cpu string, change ...func(*corev1.Pod)) {
	l.Helper()
	l.Create(workload.NewPod(name, cpu, append(change, func(pod *corev1.Pod) { pod.Spec.TerminationGracePeriodSeconds = new(int64(1)) })...))
}

// createStranger creates a pod that is never placed ahead of a scheduler.
func (l *cluster) createStranger(name, cpu string) {
	l.Helper()
	l.createPod(name, cpu, workload.Labelled(schedulingv1alpha1.LabelAhead, "false"))
}

// small is the pod of the ReplicaSet that is not ending, nil when there is none.
func (l *cluster) small() *corev1.Pod {
	if pods := l.podsOf("small"); len(pods) > 0 {
		return pods[0]
	}
	return nil
}

// podsOf are the pods of a ReplicaSet that are not ending.
func (l *cluster) podsOf(set string) (pods []*corev1.Pod) {
	list, err := l.Client.CoreV1().Pods(namespace).List(l.Context(), metav1.ListOptions{LabelSelector: "app=" + set})
	l.Must(err)
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			pods = append(pods, &list.Items[i])
		}
	}
	return pods
}

// plan is the one plan that there is.
func (l *cluster) plan() (*v1alpha1.ReschedulingPlan, error) {
	plans, err := l.plans()
	if err != nil {
		return nil, err
	}
	if len(plans) != 1 {
		return nil, fmt.Errorf("there are %d plans", len(plans))
	}
	return plans[0], nil
}

func (l *cluster) plans() (plans []*v1alpha1.ReschedulingPlan, err error) {
	list, err := l.Dynamic.Resource(v1alpha1.ReschedulingPlans()).List(l.Context(), metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for i := range list.Items {
		plan, err := v1alpha1.Decode(&list.Items[i])
		if err != nil {
			return nil, err
		}
		plans = append(plans, plan)
	}
	return plans, nil
}

// awaitPlan waits until the plan is in a phase, and says something.
func (l *cluster) awaitPlan(phase v1alpha1.Phase, message string) *v1alpha1.ReschedulingPlan {
	l.Helper()
	var plan *v1alpha1.ReschedulingPlan
	l.Eventually(fmt.Sprintf("a plan that is %s", phase), func() (err error) {
		if plan, err = l.plan(); err != nil {
			return err
		}
		if plan.Status.Phase != phase || message != "" && plan.Status.Message != message {
			return fmt.Errorf("the plan is %s: %s", plan.Status.Phase, plan.Status.Message)
		}
		return nil
	})
	return plan
}

// isOn says why a pod does not run on a node, nil when it does. KWOK passes over a pod that is bound before its view has the
// Lease of the node, and looks at the pod again when that changes (PodController.watchResources): so a pod that waits there
// is changed.
func (l *cluster) isOn(pod *corev1.Pod, node string) error {
	l.Helper()
	if pod == nil {
		return fmt.Errorf("there is no pod")
	}
	if pod.Spec.NodeName == node && pod.Status.Phase == corev1.PodRunning {
		return nil
	}
	if pod.Spec.NodeName != "" && pod.Status.Phase == corev1.PodPending {
		seen := fmt.Appendf(nil, `{"metadata":{"annotations":{"e2e.muster.dev/seen":%q}}}`, pod.ResourceVersion)
		_, err := l.Client.CoreV1().Pods(pod.Namespace).Patch(l.Context(), pod.Name, types.MergePatchType, seen, metav1.PatchOptions{})
		if err != nil {
			return err
		}
	}
	return fmt.Errorf("%s is %s on node %q", pod.Name, pod.Status.Phase, pod.Spec.NodeName)
}

// scaleUpClass is the class of the requests for nodes.
const scaleUpClass = "best-effort-atomic-scale-up.autoscaling.x-k8s.io"

package rescheduler

import (
	"context"
	"fmt"
	"maps"
	"net"
	"strconv"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	schedulingv1alpha1 "muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/process"
)

// patience is a limit for what takes seconds on an idle machine.
const patience = 2 * time.Minute

const namespace = "default"

// lab is a cluster in pieces: the pod big, of 4 cores, fits nowhere, and once small-…, of 2, has
// moved from n1 to n2, it fits n1.
type lab struct {
	*testing.T
	*controlplane.ControlPlane
	client      kubernetes.Interface
	dynamic     dynamic.Interface
	server      *muster.Server
	rescheduler *muster.Rescheduler
	listen      string
	requests    string // where it takes those to separate pods
	options     muster.Options
}

func newLab(t *testing.T, mode v1alpha1.Mode, selection muster.Selection) *lab {
	t.Helper()
	return newEmptyLab(t, mode, selection).inPieces()
}

// newEmptyLab is one without nodes and pods.
func newEmptyLab(t *testing.T, mode v1alpha1.Mode, selection muster.Selection) *lab {
	t.Helper()
	return newLabWith(t, muster.Options{Selection: selection}, mode)
}

// newLabWith is newEmptyLab for other options too.
func newLabWith(t *testing.T, options muster.Options, mode v1alpha1.Mode) *lab {
	t.Helper()
	l := &lab{T: t, ControlPlane: controlplane.ForTest(t, controlplane.Options{
		Controllers: []string{"replicaset-controller", "disruption-controller", "resourceclaim-controller"},
	})}
	ctx := t.Context()
	var err error
	l.client, err = kubernetes.NewForConfig(l.RESTConfig())
	l.must(err)
	l.dynamic, err = dynamic.NewForConfig(l.RESTConfig())
	l.must(err)
	l.must(muster.CreateCRDs(ctx, l.dynamic))
	l.must(l.StartKWOK(ctx))
	port, err := process.FreePort()
	l.must(err)
	l.listen = net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	l.options = options
	l.options.ControlPlane, l.options.Progress = l.ControlPlane, t.Output()
	l.options.Config = map[string]any{
		"leaderElection": map[string]any{"leaseDuration": "3s", "renewDeadline": "2s", "retryPeriod": "500ms"},
		"rescheduler": map[string]any{
			"mode": mode, "interval": "1s", "planTTL": "5m",
			"makeRoom": map[string]any{"pendingFor": "1s"}, "evictable": map[string]any{"allowSingleReplica": true},
		},
	}
	l.server, err = muster.Start(ctx, l.options)
	l.must(err)
	t.Cleanup(l.server.Stop)
	if options.Selection == muster.Ahead {
		l.placeAhead()
		l.must(l.StartScheduler(ctx, controlplane.SchedulerOptions{}))
		return l
	}
	config, err := l.server.SchedulerConfig(ctx)
	l.must(err)
	l.must(l.StartScheduler(ctx, controlplane.SchedulerOptions{Config: config}))
	return l
}

// placeAhead has the pods of the lab placed before a scheduler sees them that knows nothing of muster.
func (l *lab) placeAhead() {
	l.Helper()
	optedIn := fmt.Appendf(nil, `{"metadata":{"labels":{%q:"true"}}}`, schedulingv1alpha1.LabelAhead)
	_, err := l.client.CoreV1().Namespaces().Patch(l.Context(), namespace, types.MergePatchType, optedIn, metav1.PatchOptions{})
	l.must(err)
}

// inPieces makes the nodes and the pod of a lab.
func (l *lab) inPieces() *lab {
	l.Helper()
	l.createNode("n1", "4")
	l.createSmall()
	l.eventually("small runs", func() error { return isOn(l.small(), "n1") })
	l.createNode("n2", "2")
	return l
}

// configure changes the configuration of reschedulers that are started from now on.
func (l *lab) configure(settings map[string]any) {
	maps.Copy(l.options.Config["rescheduler"].(map[string]any), settings)
}

func (l *lab) reschedule() {
	l.Helper()
	var err error
	l.rescheduler, err = l.server.Reschedule(l.Context(), l.options, l.listen)
	l.must(err)
	l.Cleanup(func() {
		l.rescheduler.Stop()
		if l.T.Failed() {
			l.Logf("the log of the rescheduler ends with:\n%s", process.Tail(l.rescheduler.Log()))
		}
	})
}

func (l *lab) must(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

func (l *lab) createNode(name, cpu string) {
	l.Helper()
	_, err := l.client.CoreV1().Nodes().Create(l.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"}},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			"cpu": resource.MustParse(cpu), "memory": resource.MustParse("16Gi"), "pods": resource.MustParse("110"),
		}},
	}, metav1.CreateOptions{})
	l.must(err)
}

func podSpec(cpu string) corev1.PodSpec {
	return corev1.PodSpec{TerminationGracePeriodSeconds: new(int64(1)), Containers: []corev1.Container{{
		Name: "main", Image: "example.com/main",
		Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse(cpu)}},
	}}}
}

func (l *lab) createSmall() { l.createSet("small", "2", 1, nil) }

// createSet creates a ReplicaSet of so many pods, which change may change.
func (l *lab) createSet(name, cpu string, count int32, change func(*corev1.PodTemplateSpec)) {
	l.Helper()
	set := map[string]string{"app": name}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": name}}, Spec: podSpec(cpu)}
	if change != nil {
		change(&template)
	}
	_, err := l.client.AppsV1().ReplicaSets(namespace).Create(l.Context(), &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       appsv1.ReplicaSetSpec{Replicas: &count, Selector: &metav1.LabelSelector{MatchLabels: set}, Template: template},
	}, metav1.CreateOptions{})
	l.must(err)
}

func (l *lab) createPod(name, cpu string) {
	l.Helper()
	l.create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: podSpec(cpu)})
}

// createStranger creates a pod that is never placed ahead of a scheduler.
func (l *lab) createStranger(name, cpu string) {
	l.Helper()
	optedOut := map[string]string{schedulingv1alpha1.LabelAhead: "false"}
	l.create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: optedOut}, Spec: podSpec(cpu)})
}

func (l *lab) create(pod *corev1.Pod) {
	l.Helper()
	_, err := l.client.CoreV1().Pods(namespace).Create(l.Context(), pod, metav1.CreateOptions{})
	l.must(err)
}

// small is the pod of the ReplicaSet that is not ending, nil when there is none.
func (l *lab) small() *corev1.Pod {
	if pods := l.podsOf("small"); len(pods) > 0 {
		return pods[0]
	}
	return nil
}

// podsOf are the pods of a ReplicaSet that are not ending.
func (l *lab) podsOf(set string) (pods []*corev1.Pod) {
	list, err := l.client.CoreV1().Pods(namespace).List(l.Context(), metav1.ListOptions{LabelSelector: "app=" + set})
	l.must(err)
	for i := range list.Items {
		if list.Items[i].DeletionTimestamp == nil {
			pods = append(pods, &list.Items[i])
		}
	}
	return pods
}

func (l *lab) pod(name string) *corev1.Pod {
	l.Helper()
	pod, err := l.client.CoreV1().Pods(namespace).Get(l.Context(), name, metav1.GetOptions{})
	l.must(err)
	return pod
}

// plan is the one plan that there is.
func (l *lab) plan() (*v1alpha1.ReschedulingPlan, error) {
	list, err := l.dynamic.Resource(v1alpha1.ReschedulingPlans()).List(l.Context(), metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	if len(list.Items) != 1 {
		return nil, fmt.Errorf("there are %d plans", len(list.Items))
	}
	return v1alpha1.Decode(&list.Items[0])
}

// awaitPlan waits until the plan is in a phase, and says something.
func (l *lab) awaitPlan(phase v1alpha1.Phase, message string) *v1alpha1.ReschedulingPlan {
	l.Helper()
	var plan *v1alpha1.ReschedulingPlan
	l.eventually(fmt.Sprintf("a plan that is %s", phase), func() (err error) {
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

// isOn says why a pod does not run on a node, nil when it does.
func isOn(pod *corev1.Pod, node string) error {
	if pod == nil {
		return fmt.Errorf("there is no pod")
	}
	if pod.Spec.NodeName != node || pod.Status.Phase != corev1.PodRunning {
		return fmt.Errorf("%s is %s on node %q", pod.Name, pod.Status.Phase, pod.Spec.NodeName)
	}
	return nil
}

// eventually polls until check is content.
func (l *lab) eventually(what string, check func() error) {
	l.Helper()
	var last error
	err := wait.PollUntilContextTimeout(l.Context(), 100*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		l.Fatalf("%s: %v: %v", what, err, last)
	}
}

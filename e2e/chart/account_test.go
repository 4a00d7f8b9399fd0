package chart

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/workload"
)

// account has the rights of somebody with the token of a service account of the chart.
type account struct {
	*cluster
	name    string
	client  kubernetes.Interface
	dynamic dynamic.Interface
}

// takeOver is the account of a program that somebody else runs now.
func (c *cluster) takeOver(name string) *account {
	c.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfigOf(name))
	c.Must(err)
	a := &account{cluster: c, name: name}
	a.client, err = kubernetes.NewForConfig(config)
	c.Must(err)
	a.dynamic, err = dynamic.NewForConfig(config)
	c.Must(err)
	return a
}

// write is a request that changes something.
type write struct {
	about string
	do    func(a *account) error
	// refusal is the API server's message: "" for a write that it allows.
	refusal string
}

// forbidden is said of what no role allows.
const forbidden = `is forbidden: User "system:serviceaccount:kube-system:`

// try makes writes, and checks for each whether it is allowed or refused.
func (a *account) try(writes []write) {
	a.Helper()
	for _, w := range writes {
		switch err := w.do(a); {
		case w.refusal == "" && err != nil:
			a.Errorf("%s cannot %s: %v", a.name, w.about, err)
		case w.refusal != "" && (err == nil || !strings.Contains(err.Error(), w.refusal) || !apierrors.IsForbidden(err)):
			a.Errorf("%s: to %s is answered with %v, want that it is refused: %s", a.name, w.about, err, w.refusal)
		}
	}
}

// patch returns a write to an object, which is given as resource/name, with a subresource behind it if the write is to one.
func patch(about, object, change, refusal string) write {
	return write{about, func(a *account) error {
		parts := strings.Split(object, "/")
		request := a.client.CoreV1().RESTClient().Patch(types.StrategicMergePatchType).Resource(parts[0]).Name(parts[1])
		if parts[0] != "nodes" {
			request = request.Namespace("default")
		}
		if len(parts) > 2 {
			request = request.SubResource(parts[2])
		}
		return request.Body([]byte(change)).Do(a.Context()).Error()
	}, refusal}
}

// What the policy says of the writes that it refuses.
const (
	ofMetadata   = "its metadata except annotations stays as it is"
	ofAnnotation = "of annotations of pods, it writes its own"
	ofSpec       = "a pod's spec stays as it is, except gates"
	ofGates      = "of the gates of a pod, it takes its own off"
	ofConditions = "of the conditions of a pod, it writes its own"
	ofStatus     = "of a pod's status, it writes conditions and the nominated node"
	ofBinding    = "a pod is bound without annotations"
	ofDeletion   = "a pod is deleted once its status says that it is disrupted"
	ofNode       = "a node's spec stays as it is, but that it is cordoned or tainted"
	ofTaints     = "of the taints of a node, it writes its own"
	ofCordon     = "none is uncordoned that it has not cordoned"
	ofMarks      = "of annotations of nodes, it writes its own"
	ofGroupNote  = "of annotations of PodGroups, it writes its own"
	ofGroupSpec  = "a PodGroup's spec stays as it is"
	ofCreation   = "of pods, it creates placeholders only, which never run"
	ofRequests   = "requests for nodes, and what they refer to, are its own"
)

// accounts has a cluster with something to attack, and the chart on it.
func accounts(t *testing.T, values ...string) *cluster {
	t.Helper()
	c := newCluster(t)
	c.install(append([]string{"--set=image.repository=example.com/muster,config.profiles[0].schedulerName=muster"}, values...)...)
	c.createNode("account", "account", "8", workload.NodeLabelled("topology.kubernetes.io/zone", "z"))
	c.createNode("cordoned", "account", "8", func(n *corev1.Node) {
		n.Spec.Unschedulable, n.Spec.Taints = true, []corev1.Taint{{Key: trialLabel, Effect: corev1.TaintEffectPreferNoSchedule}}
	})
	_, err := c.Client.SchedulingV1().PriorityClasses().Create(
		t.Context(), &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: "unused"}, Value: 1}, metav1.CreateOptions{},
	)
	c.Must(err)
	for _, name := range []string{"gated", "pending", "running", "disrupted", "critical", "victim", "preempted", "evicted"} {
		c.Create(attacked(name))
		conditions := `{"type": "Initialized", "status": "True"}`
		if name == "disrupted" || name == "critical" {
			conditions += fmt.Sprintf(`, {"type": "DisruptionTarget", "status": "True", "lastTransitionTime": %q}`, soon())
		}
		status := `{"status": {"phase": "Running", "podIP": "10.1.2.3", "podIPs": [{"ip": "10.1.2.3"}], "conditions": [` + conditions + `]}}`
		_, err := c.Client.CoreV1().Pods("default").Patch(
			t.Context(), name, types.StrategicMergePatchType, []byte(status), metav1.PatchOptions{}, "status",
		)
		c.Must(err)
	}
	_, err = c.Client.CoreV1().PodTemplates("default").Create(t.Context(), &corev1.PodTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: "others"}, Template: corev1.PodTemplateSpec{Spec: newPod("", "account", "1").Spec},
	}, metav1.CreateOptions{})
	c.Must(err)
	c.createPodGroup(v1alpha1.GroupX, "g", 3)
	return c
}

// attacked is a pod that somebody else owns.
func attacked(name string) *corev1.Pod {
	pod := newPod(name, "account", "1", workload.Labelled("app", "web"), workload.Annotated("example.com/note", "ours"),
		workload.Annotated(v1alpha1.AnnotationMinMember, "3"))
	pod.Spec.TerminationGracePeriodSeconds = new(int64(30))
	pod.Spec.ReadinessGates = []corev1.PodReadinessGate{{ConditionType: "target-health.example.com/lb"}}
	switch name {
	case "gated":
		gatedBy("example.com/approval", v1alpha1.SchedulingGate)(pod)
		gpu := corev1.ResourceList{"example.com/gpu": resource.MustParse("1")}
		pod.Spec.Containers[0].Resources = corev1.ResourceRequirements{Requests: gpu, Limits: gpu}
	case "pending":
	case "critical":
		pod.Spec.PriorityClassName = "system-node-critical"
		fallthrough
	default:
		pod.Spec.NodeName = "account"
	}
	return pod
}

// inForce waits until the API server holds an account to its policy.
func (a *account) inForce() {
	a.Helper()
	tries := 0
	a.Eventually("the account "+a.name+" is bounded", func() error {
		tries++ // each try would change something
		change := fmt.Sprintf(`{"metadata": {"labels": {"canary": "%d"}}}`, tries)
		err := patch("", "pods/running/status", change, "").do(a)
		switch {
		case err == nil:
			return errors.New("it may change labels")
		case !strings.Contains(err.Error(), ofMetadata):
			return err
		}
		return nil
	})
	clean := []byte(`{"metadata": {"labels": {"canary": null}}}`)
	_, err := a.cluster.Client.CoreV1().Pods("default").Patch(a.Context(), "running", types.MergePatchType, clean, metav1.PatchOptions{})
	a.Must(err)
}

// everything turns on all that takes a right.
const everything = "--set=rescheduler.enabled=true,config.rescheduler.mode=Auto," +
	"config.profiles[0].schedulerName=muster,config.profiles[0].gates=UntilMembers," +
	"config.rescheduler.coalesce.mark=Cordon,config.rescheduler.scaleUp.provisioningRequest.className=check-capacity.autoscaling.x-k8s.io"

func TestAMusterThatIsTakenOverChangesNothingOfPodsThatItMustNot(t *testing.T) {
	c := accounts(t, "--set=scheduler.mode=external", everything)
	a := c.takeOver("muster")
	a.inForce()
	for _, attacks := range [][]write{changesOfPods(), changesOfStatus(), bindingsAndDeletions(), changesOfGroups()} {
		a.try(attacks)
	}
	a.try([]write{
		patch("mark a node", "nodes/account", `{"metadata": {"annotations": {"rescheduling.muster.dev/emptying": "p"}}}`, forbidden),
		patch("write the condition of the rescheduler", "pods/running/status",
			`{"status": {"conditions": [{"type": "muster.dev/RearrangingHelps", "status": "False"}]}}`, ofConditions),
	})
	a.try(musterWrites())
	a.try([]write{liftGate("")})
	if gates := gatesOf(a.pod("gated")); !slices.Equal(gates, []string{"example.com/approval"}) {
		t.Errorf("the pod has the gates %v, want that of another one", gates)
	}
	if zone := a.pod("pending").Labels["topology.kubernetes.io/zone"]; zone != "z" {
		t.Errorf("the pod that was bound has zone %q, want that of its node: the API server adds it to the binding", zone)
	}

	r := c.takeOver("muster-rescheduler")
	r.inForce()
	for _, attacks := range [][]write{changesOfStatus(), changesOfNodes(), requestsForNodes()} {
		r.try(attacks)
	}
	r.try([]write{
		patch("run another image", "pods/running", `{"spec": {"containers": [{"name": "main", "image": "evil.example/main"}]}}`, forbidden),
		patch("say that a pod is disrupted", "pods/running/status",
			`{"status": {"conditions": [{"type": "DisruptionTarget", "status": "True"}]}}`, ofConditions),
		patch("wake a pod", "pods/running/status", `{"metadata": {"annotations": {"muster.dev/woken": "now"}}}`, ofAnnotation),
		{"delete a pod", remove("running", metav1.DeleteOptions{}), forbidden},
		{"bind a pod", bind("gated", nil, nil), forbidden},
	})
	r.try(reschedulerWrites())
}

func TestAMusterWithoutGatesThatIsTakenOverCannotPatchPods(t *testing.T) {
	lab.Long(t)
	c := accounts(t, "--set=scheduler.mode=external")
	a := c.takeOver("muster")
	a.inForce()
	for _, attack := range changesOfPods() {
		attack.refusal = forbidden
		a.try([]write{attack})
	}
	a.try(changesOfStatus())
	a.try(bindingsAndDeletions())
	a.try([]write{liftGate(forbidden)})
	a.try(musterWrites())
	// After gates were in use, the remaining ones are lifted.
	c.helm("upgrade", release, chartDir, "--reuse-values", "--set=rbac.liftGates=true")
	c.Eventually("the right is there", func() error {
		return a.nominations().LiftGate(a.Context(), a.pod("gated"), v1alpha1.SchedulingGate)
	})
	for _, attack := range changesOfPods() {
		a.try([]write{attack})
	}
}

func TestAPodWithAKubeSchedulerThatIsTakenOverChangesNothingOfPodsThatItMustNot(t *testing.T) {
	lab.Long(t)
	c := accounts(t, everything)
	a := c.takeOver("muster")
	a.inForce()
	for _, attacks := range [][]write{
		changesOfPods(), changesOfStatus(), bindingsAndDeletions(), changesOfGroups(), changesOfNodes(), requestsForNodes(),
	} {
		a.try(attacks)
	}
	a.try(musterWrites())
	a.try(reschedulerWrites())
	a.try(schedulerWrites())
	a.try([]write{liftGate("")})
}

func TestOthersAreNotBoundByThePolicyOfMustersAccount(t *testing.T) {
	lab.Long(t)
	c := accounts(t, "--set=scheduler.mode=external")
	c.takeOver("muster").inForce()
	admin := &account{cluster: c, name: "the administrator", client: c.Client, dynamic: c.Dynamic}
	admin.try([]write{
		patch("change labels", "pods/running", `{"metadata": {"labels": {"app": "bank"}}}`, ""),
		patch("say that a pod is ready", "pods/running/status", `{"status": {"conditions": [{"type": "Ready", "status": "True"}]}}`, ""),
		{"delete a pod at once", remove("running", metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}), ""},
	})
}

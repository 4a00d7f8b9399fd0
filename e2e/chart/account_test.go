package chart

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/clock"

	reschedulingv1alpha1 "muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/workload"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/rescheduler/executor"
	"muster.dev/muster/rescheduler/scaleup"
)

// account is what somebody can do who has the token of a service account of the chart.
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
	// refusal is what the API server says of it: "" for what it lets be done.
	refusal string
}

// forbidden is said of what no role allows.
const forbidden = `is forbidden: User "system:serviceaccount:kube-system:`

// try makes writes, each of which is let be done or refused as it says.
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

// patch is a write to an object, which is given as resource/name, with a subresource behind it if that is what is written.
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
	ofMetadata   = "its metadata but for annotations stays as it is"
	ofAnnotation = "of annotations of pods, it writes its own"
	ofSpec       = "a pod's spec stays as it is, but for gates"
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

// changesOfPods are what an attacker would change of a pod itself.
func changesOfPods() []write {
	const pod = "pods/gated"
	return []write{
		patch("run another image", pod, `{"spec": {"containers": [{"name": "main", "image": "evil.example/main"}]}}`, ofSpec),
		patch("run another image as the gate goes", pod, change(liftsGang, `"containers": [{"name": "main", "image": "evil.example/main"}]`), ofSpec),
		patch(
			"tolerate a taint",
			pod,
			`{"spec": {"tolerations": [{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": `+
				`300}, {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}, `+
				`{"operator": "Exists"}]}}`,
			ofSpec,
		),
		patch("hold a pod to a node", pod,
			`{"spec": {"nodeSelector": {"kubernetes.io/hostname": "evil", "example.com/lab": "account"}}}`, ofSpec),
		patch("end a pod by a deadline", pod, `{"spec": {"activeDeadlineSeconds": 1}}`, ofSpec),
		patch("change labels", pod, `{"metadata": {"labels": {"app": "bank"}}}`, ofMetadata),
		patch("take a label off", pod, `{"metadata": {"labels": {"app": null}}}`, ofMetadata),
		patch("take a pod out of its controller", pod,
			`{"metadata": {"ownerReferences": [{"apiVersion": "v1", "kind": "Pod", "name": "x", "uid": "x"}]}}`, ofMetadata),
		patch("keep a pod from going", pod, `{"metadata": {"finalizers": ["evil.example/never"]}}`, ofMetadata),
		patch("annotate for others", pod, `{"metadata": {"annotations": {"evil.example/a": "b"}}}`, ofAnnotation),
		patch("change what a tenant said", pod, `{"metadata": {"annotations": {"muster.dev/min-member": "1"}}}`, ofAnnotation),
		patch("take an annotation off", pod, `{"metadata": {"annotations": {"example.com/note": null}}}`, ofAnnotation),
		patch("take the gate of another one off", pod,
			`{"spec": {"schedulingGates": [{"$patch": "delete", "name": "example.com/approval"}]}}`, ofGates),
		patch("take all gates off", pod, `{"spec": {"schedulingGates": [{"$patch": "replace"}]}}`, ofGates),
	}
}

// changesOfStatus are what an attacker would change of pods by their status.
func changesOfStatus() []write {
	const status = "pods/running/status"
	return []write{
		patch("change labels by the status", status, `{"metadata": {"labels": {"app": "bank"}}}`, ofMetadata),
		patch("keep a pod from going, by the status", status, `{"metadata": {"finalizers": ["evil.example/never"]}}`, ofMetadata),
		patch("annotate for others, by the status", status, `{"metadata": {"annotations": {"evil.example/a": "b"}}}`, ofAnnotation),
		patch("take an annotation off, by the status", status, `{"metadata": {"annotations": {"example.com/note": null}}}`, ofAnnotation),
		patch("be called in the place of a pod", status,
			`{"status": {"podIP": "192.0.2.66", "podIPs": [{"$patch": "replace"}, {"ip": "192.0.2.66"}]}}`, ofStatus),
		patch("say that a pod has failed", status, `{"status": {"phase": "Failed"}}`, ofStatus),
		patch(
			"say which image runs",
			status,
			`{"status": {"containerStatuses": [{"name": "main", "image": "evil.example/main", "imageID": "x", "ready": true, "restartCount": 0}]}}`,
			ofStatus,
		),
		patch("say that a pod is ready", status, `{"status": {"conditions": [{"type": "Ready", "status": "True"}]}}`, ofConditions),
		patch("say that a load balancer has a pod", status,
			`{"status": {"conditions": [{"type": "target-health.example.com/lb", "status": "True"}]}}`, ofConditions),
		patch("take a condition off", status, `{"status": {"conditions": [{"$patch": "delete", "type": "Initialized"}]}}`, ofConditions),
	}
}

// bind binds a pending pod, with annotations and labels, which the API server copies onto it.
func bind(pod string, annotations, labels map[string]string) func(a *account) error {
	return func(a *account) error {
		return a.client.CoreV1().Pods("default").Bind(a.Context(), &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: pod, Namespace: "default", Annotations: annotations, Labels: labels},
			Target:     corev1.ObjectReference{Kind: "Node", Name: "account"},
		}, metav1.CreateOptions{})
	}
}

func remove(pod string, o metav1.DeleteOptions) func(a *account) error {
	return func(a *account) error { return a.client.CoreV1().Pods("default").Delete(a.Context(), pod, o) }
}

// bindingsAndDeletions are what an attacker tries with bindings and deletions.
func bindingsAndDeletions() []write {
	return []write{
		{"label a pod as it is bound", bind("pending", nil, map[string]string{"app": "bank"}), ofBinding},
		{"annotate a pod as it is bound", bind("pending", map[string]string{"evil.example/a": "b"}, nil), ofBinding},
		{"delete a pod that nobody was told of", remove("running", metav1.DeleteOptions{}), ofDeletion},
		{"delete a pod at once", remove("disrupted", metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}), ofDeletion},
		{"delete a pod before its grace period ends", remove("disrupted", metav1.DeleteOptions{GracePeriodSeconds: new(int64(29))}), ofDeletion},
		{"delete a pod that nothing can preempt", remove("critical", metav1.DeleteOptions{}), ofDeletion},
	}
}

// changesOfNodes are what an attacker tries with nodes.
func changesOfNodes() []write {
	const node = "nodes/account"
	return []write{
		patch("label a node", node, `{"metadata": {"labels": {"pool": "evil"}}}`, ofMetadata),
		patch("taint a node", node, `{"spec": {"taints": [{"key": "evil", "effect": "NoExecute"}]}}`, ofTaints),
		patch("have pods go from a node", node,
			`{"spec": {"taints": [{"key": "rescheduling.muster.dev/closed", "effect": "NoExecute"}]}}`, ofTaints),
		patch("take the taint of another one off", "nodes/cordoned", `{"spec": {"taints": []}}`, ofTaints),
		patch("give a node to another provider", node, `{"spec": {"providerID": "evil"}}`, ofNode),
		patch("annotate a node for others", node, `{"metadata": {"annotations": {"evil.example/a": "b"}}}`, ofMarks),
		patch("cordon a node without a mark", node, `{"spec": {"unschedulable": true}}`, ofCordon),
		patch("uncordon a node of another one", "nodes/cordoned", `{"spec": {"unschedulable": false}}`, ofCordon),
		patch("uncordon a node of another one, marking it", "nodes/cordoned",
			`{"metadata": {"annotations": {"rescheduling.muster.dev/cordoned": "true"}}, "spec": {"unschedulable": false}}`, ofCordon),
	}
}

// custom patches a PodGroup.
func custom(about, change, refusal string) write {
	return write{about, func(a *account) error {
		_, err := a.dynamic.Resource(v1alpha1.ResourceOf(v1alpha1.GroupX)).Namespace("default").
			Patch(a.Context(), "g", types.MergePatchType, []byte(change), metav1.PatchOptions{FieldManager: "muster"})
		return err
	}, refusal}
}

func changesOfGroups() []write {
	return []write{
		custom("start a gang with fewer members", `{"spec": {"minMember": 1}}`, ofGroupSpec),
		custom("label a PodGroup", `{"metadata": {"labels": {"a": "b"}}}`, ofMetadata),
		custom("annotate a PodGroup for others", `{"metadata": {"annotations": {"muster.dev/groups": "[]"}}}`, ofGroupNote),
	}
}

// template creates a PodTemplate, or deletes one.
func requestsForNodes() []write {
	template := func(name string, labels map[string]string) func(a *account) error {
		return func(a *account) error {
			_, err := a.client.CoreV1().PodTemplates("default").Create(a.Context(), &corev1.PodTemplate{
				ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Template: corev1.PodTemplateSpec{Spec: newPod("", "account", "1").Spec},
			}, metav1.CreateOptions{})
			return err
		}
	}
	drop := func(name string) func(a *account) error {
		return func(a *account) error {
			return a.client.CoreV1().PodTemplates("default").Delete(a.Context(), name, metav1.DeleteOptions{})
		}
	}
	return []write{
		{"make a template for others", template("evil", nil), ofRequests},
		{"delete the template of another one", drop("others"), ofRequests},
		{"make a template for a request", template("ours", map[string]string{scaleup.LabelRequest: "true"}), ""},
		{"delete it again", drop("ours"), ""},
	}
}

// nominations is what muster's own client writes with.
func (a *account) nominations() *nomination.RESTClient {
	return nomination.NewClient(a.client.CoreV1().RESTClient(), clock.RealClock{})
}

// musterWrites are what muster does.
func musterWrites() []write {
	return []write{
		{"wake a pod", func(a *account) error { return a.nominations().Wake(a.Context(), a.pod("pending")) }, ""},
		{"nominate a pod", func(a *account) error { return a.nominations().Nominate(a.Context(), a.pod("pending"), "account") }, ""},
		{"take a nomination back", func(a *account) error { return a.nominations().Nominate(a.Context(), a.pod("pending"), "") }, ""},
		{"wake all", func(a *account) error { return a.nominations().WakeAll(a.Context(), a.pod("pending"), "account") }, ""},
		{"bind a pod", bind("pending", nil, nil), ""},
		{"preempt a pod", func(a *account) error { return a.nominations().Evict(a.Context(), a.pod("victim"), "default/g") }, ""},
		{"delete a pod that was told of it", remove("disrupted", metav1.DeleteOptions{}), ""},
		{"preempt a pod that is going", func(a *account) error { return a.nominations().Evict(a.Context(), a.pod("victim"), "default/g") }, ""},
		custom("record a start", `{"metadata": {"annotations": {"muster.dev/committed": "{}"}}}`, ""),
	}
}

// liftGate is what muster does where gates are in use.
func liftGate(refusal string) write {
	return write{"lift its gate", func(a *account) error {
		return a.nominations().LiftGate(a.Context(), a.pod("gated"), v1alpha1.SchedulingGate)
	}, refusal}
}

// reschedulerWrites are what the rescheduler does.
func reschedulerWrites() []write {
	node := func(edit func(*corev1.Node)) func(a *account) error {
		return func(a *account) error {
			node, err := a.cluster.Client.CoreV1().Nodes().Get(a.Context(), "account", metav1.GetOptions{})
			a.Must(err)
			return executor.NewClient(a.client, a.dynamic).EditNode(a.Context(), node, edit)
		}
	}
	condition := corev1.PodCondition{Type: scaleup.ConditionRearrangingHelps, Status: corev1.ConditionFalse, Reason: "x"}
	return []write{
		{"say that moving others does not help", func(a *account) error {
			return scaleup.NewClient(a.client.CoreV1().RESTClient()).SetCondition(a.Context(), a.pod("running"), condition)
		}, ""},
		{"take that back", func(a *account) error {
			return scaleup.NewClient(a.client.CoreV1().RESTClient()).RemoveCondition(a.Context(), a.pod("running"), condition.Type)
		}, ""},
		patch(
			"write down a request",
			"pods/running/status",
			`{"metadata": {"annotations": {"rescheduling.muster.dev/separate-from": "account", "rescheduling.muster.dev/separate-why": "noise"}}}`,
			"",
		),
		{"nominate what replaces a pod", func(a *account) error { return a.nominations().Nominate(a.Context(), a.pod("gated"), "account") }, ""},
		{"mark a node that is cordoned", node(func(n *corev1.Node) {
			n.Annotations[reschedulingv1alpha1.AnnotationEmptying] = "p"
			n.Annotations[reschedulingv1alpha1.AnnotationCordoned] = "true"
			n.Spec.Unschedulable = true
		}), ""},
		{"undo that", node(func(n *corev1.Node) {
			delete(n.Annotations, reschedulingv1alpha1.AnnotationEmptying)
			delete(n.Annotations, reschedulingv1alpha1.AnnotationCordoned)
			n.Spec.Unschedulable = false
		}), ""},
		{"taint a node that it empties", node(func(n *corev1.Node) {
			n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: reschedulingv1alpha1.TaintClosed, Effect: corev1.TaintEffectNoSchedule})
		}), ""},
		{"take its taint off", node(func(n *corev1.Node) {
			n.Spec.Taints = slices.DeleteFunc(n.Spec.Taints, func(t corev1.Taint) bool { return t.Key == reschedulingv1alpha1.TaintClosed })
		}), ""},
		{"evict a pod", func(a *account) error {
			eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "evicted", Namespace: "default"}}
			return a.client.CoreV1().Pods("default").EvictV1(a.Context(), eviction)
		}, ""},
	}
}

// schedulerWrites are what a kube-scheduler does, which has the same account in a pod with muster.
func schedulerWrites() []write {
	return []write{
		patch("say that a pod cannot be scheduled", "pods/gated/status",
			`{"status": {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}], "nominatedNodeName": null}}`, ""),
		patch(
			"say which claims stand for a pod's devices",
			"pods/gated/status",
			`{"status": {"extendedResourceClaimStatus": {"resourceClaimName": "c", "requestMappings": [{"containerName": "main", "resourceName": `+
				`"example.com/gpu", "requestName": "r"}]}}}`,
			"",
		),
		{"preempt a pod", func(a *account) error {
			told := fmt.Sprintf(`{"status": {"conditions": [{"type": "DisruptionTarget", "status": "True", `+
				`"reason": "PreemptionByScheduler", "lastTransitionTime": %q}]}}`, soon())
			if err := patch("", "pods/preempted/status", told, "").do(a); err != nil {
				return err
			}
			return remove("preempted", metav1.DeleteOptions{})(a)
		}, ""},
	}
}

// soon is when a condition became true that the disruption controller must not find old, and take back.
func soon() string { return time.Now().Add(time.Hour).UTC().Format(time.RFC3339) }

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
const everything = "--set=rescheduler.enabled=true,config.gangs.gates=UntilMembers,config.rescheduler.mode=Auto," +
	"config.rescheduler.coalesce.mark=Cordon,config.rescheduler.scaleUp.provisioningRequest.enabled=true"

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
	// After gates were in use, those that are left are lifted.
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

package chart

import (
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	reschedulingv1alpha1 "muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/rescheduler/executor"
	"muster.dev/muster/rescheduler/scaleup"
)

// changesOfPods are what an attacker would change of a pod itself.
func changesOfPods() []write {
	const pod = "pods/gated"
	return []write{
		patch("run another image", pod, `{"spec": {"containers": [{"name": "main", "image": "evil.example/main"}]}}`, ofSpec),
		patch("run another image as the gate goes", pod,
			change(liftsGang, `"containers": [{"name": "main", "image": "evil.example/main"}]`), ofSpec),
		patch("tolerate a taint", pod, `{"spec": {"tolerations": [`+
			`{"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}, `+
			`{"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}, `+
			`{"operator": "Exists"}]}}`, ofSpec),
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
		patch("say which image runs", status,
			`{"status": {"containerStatuses": [{"name": "main", "image": "evil.example/main", "imageID": "x", "ready": true, "restartCount": 0}]}}`,
			ofStatus),
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

// nominations imitates the writes of muster's own client.
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

// liftGate does what muster does where gates are in use.
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
		patch("write down a request", "pods/running/status",
			`{"metadata": {"annotations": {"rescheduling.muster.dev/separate-from": "account", `+
				`"rescheduling.muster.dev/separate-why": "noise"}}}`, ""),
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

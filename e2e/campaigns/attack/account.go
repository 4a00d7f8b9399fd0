package attack

import (
	"context"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

// patch writes to a pod of others, or to a node, given as resource/name, with a subresource behind it if
// the write is to one.
func patch(about, object, change string) write {
	return write{about, func(ctx context.Context, u *user) error {
		parts := strings.Split(object, "/")
		request := u.client.CoreV1().RESTClient().Patch(strategicMerge).Resource(parts[0]).Name(parts[1])
		if parts[0] != "nodes" {
			request = request.Namespace(othersNamespace)
		}
		if len(parts) > 2 {
			request = request.SubResource(parts[2])
		}
		return request.Body([]byte(change)).Do(ctx).Error()
	}}
}

func bindWith(pod string, annotations, labels map[string]string) func(context.Context, *user) error {
	return func(ctx context.Context, u *user) error {
		return u.client.CoreV1().Pods(othersNamespace).Bind(ctx, &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Name: pod, Namespace: othersNamespace, Annotations: annotations, Labels: labels},
			Target:     corev1.ObjectReference{Kind: "Node", Name: "loot-0"},
		}, metav1.CreateOptions{})
	}
}

func remove(pod string, o metav1.DeleteOptions) func(context.Context, *user) error {
	return func(ctx context.Context, u *user) error {
		return u.client.CoreV1().Pods(othersNamespace).Delete(ctx, pod, o)
	}
}

// accountAttacks returns the attacks by somebody who has the credentials of muster.
func accountAttacks() (attacks []Attack) {
	for _, a := range []struct {
		name, tries string
		writes      []write
	}{
		{"account-changes-specs", "to run its own code in pods, or to have them where it likes", []write{
			patch("run another image", "pods/gated", `{"spec": {"containers": [{"name": "main", "image": "evil.example/main"}]}}`),
			patch(
				"run another image as a gate goes", "pods/gated",
				`{"spec": {"schedulingGates": [{"$patch": "delete", "name": "muster.dev/gang"}], "containers": [{"name": "main", "image": `+
					`"evil.example/main"}]}}`,
			),
			patch("tolerate all taints", "pods/gated", `{"spec": {"tolerations": [{"operator": "Exists"}]}}`),
			patch("hold a pod to a node", "pods/gated", `{"spec": {"nodeSelector": {"kubernetes.io/hostname": "evil"}}}`),
			patch(
				"take the gate of another one off", "pods/gated",
				`{"spec": {"schedulingGates": [{"$patch": "delete", "name": "example.com/approval"}]}}`,
			),
			patch("take all gates off", "pods/gated", `{"spec": {"schedulingGates": [{"$patch": "replace"}]}}`),
			patch("end a pod by a deadline", "pods/running", `{"spec": {"activeDeadlineSeconds": 1}}`),
		}},
		{"account-changes-metadata", "to have Services send traffic to pods, or controllers take them for others", []write{
			patch("change labels", "pods/running", `{"metadata": {"labels": {"app": "bank"}}}`),
			patch("change labels by the status", "pods/running/status", `{"metadata": {"labels": {"app": "bank"}}}`),
			patch("annotate for others", "pods/running", `{"metadata": {"annotations": {"evil.example/a": "b"}}}`),
			patch("annotate for others by the status", "pods/running/status", `{"metadata": {"annotations": {"evil.example/a": "b"}}}`),
			patch("keep a pod from going", "pods/running", `{"metadata": {"finalizers": ["evil.example/never"]}}`),
			{"label a pod as it is bound", bindWith("pending", nil, map[string]string{"app": "bank"})},
			{"annotate a pod as it is bound", bindWith("pending", map[string]string{"evil.example/a": "b"}, nil)},
		}},
		{"account-forges-status", "to say of pods what kubelets and load balancers say", []write{
			patch(
				"be called in the place of a pod", "pods/running/status",
				`{"status": {"podIP": "192.0.2.66", "podIPs": [{"$patch": "replace"}, {"ip": "192.0.2.66"}]}}`,
			),
			patch("say that a pod has failed", "pods/running/status", `{"status": {"phase": "Failed"}}`),
			patch("say that a pod is ready", "pods/running/status", `{"status": {"conditions": [{"type": "Ready", "status": "True"}]}}`),
			patch(
				"say what a rescheduler says", "pods/running/status",
				`{"status": {"conditions": [{"type": "muster.dev/RearrangingHelps", "status": "False"}]}}`,
			),
		}},
		{"account-deletes-pods", "to delete pods that nobody was told of, at once, or of system-node-critical", []write{
			{"delete a pod that nobody was told of", remove("running", metav1.DeleteOptions{})},
			{"delete a pod at once", remove("disrupted", metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})},
			{"delete a pod that nothing can preempt", remove("critical", metav1.DeleteOptions{})},
			{"delete all pods", func(ctx context.Context, u *user) error {
				return u.client.CoreV1().Pods(othersNamespace).DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
			}},
		}},
		{"account-reaches-further", "to create pods, read secrets, change nodes or loosen its own bounds", []write{
			{"create a pod", func(ctx context.Context, u *user) error {
				_, err := u.client.CoreV1().Pods(othersNamespace).Create(ctx, newPod(othersNamespace, "evil", "1"), metav1.CreateOptions{})
				return err
			}},
			{"read secrets", func(ctx context.Context, u *user) error {
				_, err := u.client.CoreV1().Secrets(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{})
				return err
			}},
			{"run a command in a pod", func(ctx context.Context, u *user) error {
				return u.client.CoreV1().RESTClient().Post().Namespace(othersNamespace).Resource("pods").Name("running").SubResource("exec").
					Do(ctx).Error()
			}},
			{"evict a pod", func(ctx context.Context, u *user) error {
				return u.client.CoreV1().RESTClient().Post().Namespace(othersNamespace).Resource("pods").Name("running").SubResource("eviction").
					Body([]byte(`{"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "running"}}`)).Do(ctx).Error()
			}},
			patch("label a node", "nodes/loot-0", `{"metadata": {"labels": {"pool": "evil"}}}`),
			patch("taint a node", "nodes/loot-0", `{"spec": {"taints": [{"key": "evil", "effect": "NoExecute"}]}}`),
			{"delete its policy", func(ctx context.Context, u *user) error {
				return u.client.AdmissionregistrationV1().ValidatingAdmissionPolicies().Delete(ctx, "muster-account", metav1.DeleteOptions{})
			}},
			{"start a gang with fewer members", patchGroup(`{"spec": {"minMember": 1}}`)},
			{"annotate a PodGroup for others", patchGroup(`{"metadata": {"annotations": {"muster.dev/groups": "[]"}}}`)},
		}},
	} {
		attacks = append(attacks, writeAttack(Account, a.name, a.tries, func(ctx context.Context, g *ground) (refusals, error) {
			if err := g.loot(ctx); err != nil {
				return refusals{}, err
			}
			return g.account.try(ctx, a.writes)
		}))
	}
	return attacks
}

func patchGroup(change string) func(context.Context, *user) error {
	return func(ctx context.Context, u *user) error {
		groups := u.dynamic.Resource(v1alpha1.ResourceOf(v1alpha1.GroupX)).Namespace(othersNamespace)
		_, err := groups.Patch(ctx, "group", "application/merge-patch+json", []byte(change), metav1.PatchOptions{})
		return err
	}
}

// loot lists the targets for an attacker who has taken over muster's account.
func (g *ground) loot(ctx context.Context) error {
	slowly := func(pod *corev1.Pod) { pod.Spec.TerminationGracePeriodSeconds = new(int64(30)) }
	_, err := g.stage(
		ctx,
		newNodes("loot", 1, "8"),
		newPod(othersNamespace, "running", "1", on("loot-0"), slowly),
		newPod(othersNamespace, "disrupted", "1", on("loot-0"), slowly),
		newPod(
			othersNamespace, "critical", "1", on("loot-0"), slowly, func(pod *corev1.Pod) { pod.Spec.PriorityClassName = "system-node-critical" },
		),
		newPod(othersNamespace, "pending", "1", scheduledBy("nobody")),
		newPod(othersNamespace, "gated", "1", scheduledBy("nobody"), gated("example.com/approval"), func(pod *corev1.Pod) {
			pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: v1alpha1.SchedulingGate})
		}),
	)
	if err != nil {
		return err
	}
	for _, name := range []string{"disrupted", "critical"} {
		told := fmt.Sprintf(
			`{"status": {"conditions": [{"type": "DisruptionTarget", "status": "True", "lastTransitionTime": %q}]}}`,
			time.Now().UTC().Format(time.RFC3339),
		)
		if _, err := g.client.CoreV1().
			Pods(othersNamespace).
			Patch(ctx, name, strategicMerge, []byte(told), metav1.PatchOptions{}, "status"); err != nil {
			return fmt.Errorf("say that a pod is disrupted: %w", err)
		}
	}
	return g.createGroup(ctx, g.dynamic, newGroup(othersNamespace, "group", 3))
}

// write is a request to the API server.
type write struct {
	about string
	do    func(context.Context, *user) error
}

// refusals are the API server's answers to writes.
type refusals struct {
	let     []string // done
	refused int
}

func (r refusals) judge() verdict {
	if len(r.let) > 0 {
		return succeeded("it may %s", r.let[0])
	}
	return held("all %d writes are refused", r.refused)
}

// try makes writes that all should be refused: by its rights, by a policy or as they make no sense.
func (u *user) try(ctx context.Context, writes []write) (r refusals, err error) {
	for _, w := range writes {
		switch err := w.do(ctx, u); {
		case err == nil:
			r.let = append(r.let, w.about)
		case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
			r.refused++
		default:
			return r, fmt.Errorf("to %s: %w", w.about, err)
		}
	}
	return r, nil
}

func writeAttack(by Attacker, name, tries string, do func(context.Context, *ground) (refusals, error)) Attack {
	return plan[refusals]{
		name:      name,
		by:        by,
		tries:     tries,
		do:        do,
		check:     refusals.judge,
		successes: []refusals{{let: []string{"write"}}},
	}.attack()
}

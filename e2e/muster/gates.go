package muster

import (
	"context"
	"fmt"
	"slices"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/await"
	"muster.dev/muster/e2e/workload"
)

// gatesName is the name of the objects by which members are gated.
const gatesName = "muster"

// CreateWebhook has the API server ask a muster whether each pod is to be gated as a member of a gang, and every pod that is opted in
// as one to be placed ahead, and returns when it does so. ca is the PEM of the authority that signed muster's certificate.
func CreateWebhook(ctx context.Context, client kubernetes.Interface, url string, ca []byte) error {
	webhook := func(name, path string, objects, namespaces *metav1.LabelSelector) admissionregistrationv1.MutatingWebhook {
		return admissionregistrationv1.MutatingWebhook{
			Name:         name + ".gates.muster.dev",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{URL: new(url + path), CABundle: ca},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}},
			ObjectSelector: objects, NamespaceSelector: namespaces,
			ReinvocationPolicy: new(admissionregistrationv1.IfNeededReinvocationPolicy),
			FailurePolicy:      new(admissionregistrationv1.Ignore), SideEffects: new(admissionregistrationv1.SideEffectClassNone),
			TimeoutSeconds: new(int32(2)), AdmissionReviewVersions: []string{"v1"},
		}
	}
	unlabelled := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{
		{Key: v1alpha1.LabelAhead, Operator: metav1.LabelSelectorOpDoesNotExist},
	}}
	optedIn := &metav1.LabelSelector{MatchLabels: map[string]string{v1alpha1.LabelAhead: "true"}}
	_, err := client.AdmissionregistrationV1().
		MutatingWebhookConfigurations().
		Create(ctx, &admissionregistrationv1.MutatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: gatesName}, Webhooks: []admissionregistrationv1.MutatingWebhook{
				webhook("members", "/webhook/gates", nil, nil),
				webhook("pods.ahead", "/webhook/ahead", optedIn, nil),
				webhook("namespaces.ahead", "/webhook/ahead", unlabelled, optedIn),
			},
		}, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create the webhook: %w", err)
	}
	return awaitTrial(ctx, client, true)
}

// DeleteWebhook takes back what CreateWebhook did, and returns when the API server does not
// ask any more.
func DeleteWebhook(ctx context.Context, client kubernetes.Interface) error {
	err := client.AdmissionregistrationV1().MutatingWebhookConfigurations().Delete(ctx, gatesName, metav1.DeleteOptions{})
	if err != nil {
		return fmt.Errorf("delete the webhook: %w", err)
	}
	return awaitTrial(ctx, client, false)
}

// awaitTrial returns when the API server gates a pod of a gang, which it is not asked to keep,
// or when it does not.
func awaitTrial(ctx context.Context, client kubernetes.Interface, gated bool) error {
	trial := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "trial", Labels: map[string]string{v1alpha1.LabelX: "trial"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: "example.com/main"}}},
	}
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, await.Patience, true, func(ctx context.Context) (bool, error) {
		pod, err := client.CoreV1().Pods(workload.Namespace).Create(ctx, trial, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err == nil && Gated(pod) == gated, err
	})
	if err != nil {
		return fmt.Errorf("wait until a member is gated, %t: %w", gated, err)
	}
	return nil
}

// Gated says that a pod has muster's gate.
func Gated(pod *corev1.Pod) bool {
	return slices.ContainsFunc(
		pod.Spec.SchedulingGates, func(gate corev1.PodSchedulingGate) bool { return gate.Name == v1alpha1.SchedulingGate },
	)
}

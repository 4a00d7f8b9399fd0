package extender_test

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// labelPatch is the label of pods that the webhook of a test changes: by the one of its patches that the label names.
const labelPatch = "test.muster.dev/patch"

// changeByWebhook has the API server ask a webhook about pods with labelPatch until the test ends. Patches are JSON patches by
// name. All that is created is asked about after the policies, as Kubernetes orders it.
func (c *cluster) changeByWebhook(patches map[string]string) {
	c.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		var pod corev1.Pod
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if err := json.Unmarshal(review.Request.Object.Raw, &pod); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{
			UID: review.Request.UID, Allowed: true, Patch: []byte(patches[pod.Labels[labelPatch]]), PatchType: new(admissionv1.PatchTypeJSONPatch),
		}
		_ = json.NewEncoder(w).Encode(review) // the API server may be gone
	}))
	c.Cleanup(server.Close)
	const name = "changes-pods"
	c.Create(&admissionregistrationv1.MutatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionregistrationv1.MutatingWebhook{{
			Name: "changes-pods.test.muster.dev",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL: &server.URL, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
			}},
			ObjectSelector: &metav1.LabelSelector{
				MatchExpressions: []metav1.LabelSelectorRequirement{{Key: labelPatch, Operator: metav1.LabelSelectorOpExists}},
			},
			FailurePolicy: new(admissionregistrationv1.Fail), SideEffects: new(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
		}},
	})
	c.Eventually("the webhook is asked", func() error {
		if made := c.trial(patched("says-so")); made.Annotations["asked"] == "" {
			return fmt.Errorf("a pod has the annotations %v", made.Annotations)
		}
		return nil
	})
}

// patched changes a pod by a patch of the webhook.
func patched(patch string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { metav1.SetMetaDataLabel(&pod.ObjectMeta, labelPatch, patch) }
}

// trial is a pod as the API server would create it.
func (c *cluster) trial(change ...func(*corev1.Pod)) *corev1.Pod {
	c.Helper()
	made, err := c.wouldBe(workload.NewPod("trial", "1", change...))
	c.Must(err)
	return made
}

// The API server runs a policy again for what a webhook has changed only if it ran before, for the pod as it was. So a webhook
// undoes nothing that a policy has done, and makes no pod one that a policy is about.
func TestPoliciesRunAgainAfterAWebhookIfTheyRanBefore(t *testing.T) {
	c := newCluster(t)
	s := c.serve(muster.Options{Gates: muster.UntilMembers})
	c.applyManagedPolicy(s)
	isManaged := func(pod *corev1.Pod) bool {
		_, requested := pod.Spec.Containers[0].Resources.Requests[v1alpha1.ResourceManaged]
		return requested
	}
	c.Eventually("members are managed", func() error {
		if made := c.trial(workload.InGang("g")); !isManaged(made) {
			return fmt.Errorf("one requests %v", made.Spec.Containers[0].Resources.Requests)
		}
		return nil
	})
	c.changeByWebhook(map[string]string{
		"says-so":   `[{"op": "add", "path": "/metadata/annotations", "value": {"asked": "yes"}}]`,
		"ungates":   `[{"op": "remove", "path": "/spec/schedulingGates"}]`,
		"unmanages": `[{"op": "replace", "path": "/spec/containers/0/resources", "value": {}}]`,
		"labels":    `[{"op": "add", "path": "/metadata/labels/` + strings.ReplaceAll(v1alpha1.LabelX, "/", "~1") + `", "value": "g"}]`,
	})
	for name, test := range map[string]struct {
		pod  []func(*corev1.Pod)
		want bool
	}{
		"a member that it changes in nothing":     {[]func(*corev1.Pod){workload.InGang("g"), patched("says-so")}, true},
		"a member whose gates it takes away":      {[]func(*corev1.Pod){workload.InGang("g"), patched("ungates")}, true},
		"a member whose resources it takes away":  {[]func(*corev1.Pod){workload.InGang("g"), patched("unmanages")}, true},
		"a pod that it makes a member by a label": {[]func(*corev1.Pod){patched("labels")}, false},
	} {
		t.Run(name, func(t *testing.T) {
			made := c.trial(test.pod...)
			if muster.Gated(made) != test.want {
				t.Errorf("it has the gates %v, want one: %t", made.Spec.SchedulingGates, test.want)
			}
			if isManaged(made) != test.want {
				t.Errorf("it requests %v, want it managed: %t", made.Spec.Containers[0].Resources.Requests, test.want)
			}
		})
	}
}

package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/config/v1alpha2"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/gang"
	"muster.dev/muster/predicates"
)

// gates is the mutating webhook that puts a scheduling gate on the members of gangs when they
// are created. It knows nothing but the pod and the profiles, so that every replica can
// answer, and it denies nothing: a pod that is not gated starts as it would without it. Its
// rule is that of GatePolicy. It answers beside one as well (gangs.gatedBy: Policy), so that
// to change from one to the other leaves no pod ungated.
type gates struct {
	policy       v1alpha2.GangGates
	profiles     *predicates.Profiles
	maxBodyBytes int64
	added        prometheus.Counter
}

func newGates(config *v1alpha2.MusterConfiguration, profiles *predicates.Profiles, r prometheus.Registerer) *gates {
	g := &gates{
		policy: config.Gangs.Gates, profiles: profiles, maxBodyBytes: config.Serving.MaxBodyBytes,
		added: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "muster_gang_gates_added_total",
			Help: "Pods on which the webhook put a scheduling gate, as members of a gang.",
		}),
	}
	r.MustRegister(g.added)
	return g
}

// ServeHTTP answers an AdmissionReview of admission.k8s.io/v1 about a pod.
func (g *gates) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, g.maxBodyBytes))
	if tooLarge := (*http.MaxBytesError)(nil); errors.As(err, &tooLarge) {
		http.Error(w, fmt.Sprintf("the body has more than %d bytes (serving.maxBodyBytes)", tooLarge.Limit), http.StatusRequestEntityTooLarge)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	answer, err := g.review(body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer) // the caller may be gone
}

func (g *gates) review(body []byte) (answer []byte, err error) {
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(body, &review); err != nil {
		return nil, fmt.Errorf("not an AdmissionReview: %w", err)
	}
	if want := admissionv1.SchemeGroupVersion.String(); review.APIVersion != want {
		return nil, fmt.Errorf("apiVersion: %q, want %q", review.APIVersion, want)
	}
	request := review.Request
	if request == nil {
		return nil, errors.New("request: missing")
	}
	if resource := request.Resource; resource.Group != "" || resource.Resource != "pods" {
		return nil, fmt.Errorf("request.resource: %q of group %q, want pods of the core group", resource.Resource, resource.Group)
	}
	review.Response = &admissionv1.AdmissionResponse{UID: request.UID, Allowed: true}
	review.Request = nil
	if request.Operation == admissionv1.Create && request.SubResource == "" { // gates cannot be added later
		var pod corev1.Pod
		if err := json.Unmarshal(request.Object.Raw, &pod); err != nil {
			return nil, fmt.Errorf("request.object: not a Pod: %w", err)
		}
		if g.wants(&pod) {
			if review.Response.Patch, err = patchWithGate(&pod); err != nil {
				return nil, err
			}
			review.Response.PatchType = new(admissionv1.PatchTypeJSONPatch)
			g.added.Inc()
		}
	}
	return json.Marshal(review)
}

// wants says that a pod is to be gated.
func (g *gates) wants(pod *corev1.Pod) bool {
	_, member := gang.Of(pod)
	return member && g.policy != v1alpha2.GatesNever && pod.Spec.NodeName == "" &&
		g.profiles.Of(pod.Spec.SchedulerName) != nil && !gang.Gated(pod)
}

// patchWithGate is a JSON patch that adds the gate to those that a pod has.
func patchWithGate(pod *corev1.Pod) ([]byte, error) {
	gate := corev1.PodSchedulingGate{Name: v1alpha1.SchedulingGate}
	operation := map[string]any{"op": "add", "path": "/spec/schedulingGates", "value": []any{gate}}
	if len(pod.Spec.SchedulingGates) > 0 {
		operation["path"], operation["value"] = "/spec/schedulingGates/-", gate
	}
	return json.Marshal([]any{operation})
}

package admission

import (
	"encoding/json"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/predicates"
	"muster.dev/muster/server/body"
)

// Gates is the mutating webhook that puts a scheduling gate on the members of gangs when they
// are created. It knows nothing but the pod and the profiles, so that every replica can
// answer, and it denies nothing: a pod that is not gated starts as it would without it. Its
// rule is that of GatePolicy. It answers beside one as well (gangs.gatedBy: Policy), so that
// to change from one to the other leaves no pod ungated.
type Gates struct {
	policy   config.GangGates
	profiles *predicates.Profiles
	bodies   *body.Readers
	added    prometheus.Counter
}

// NewGates returns the webhook of a policy, for the pods of some profiles.
func NewGates(policy config.GangGates, profiles *predicates.Profiles, r prometheus.Registerer, bodies *body.Readers) *Gates {
	g := &Gates{
		policy: policy, profiles: profiles, bodies: bodies,
		added: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "muster_gang_gates_added_total",
			Help: "Pods on which the webhook put a scheduling gate, as members of a gang.",
		}),
	}
	r.MustRegister(g.added)
	return g
}

// ServeHTTP answers an AdmissionReview of admission.k8s.io/v1 about a pod.
func (g *Gates) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	share := g.bodies.Any.Budget.Share()
	defer share.GiveBack()
	var answer []byte
	text, err := g.bodies.Any.Read(w, r, nil, &share)
	if err == nil {
		answer, err = g.review(text)
	}
	if err != nil {
		http.Error(w, err.Error(), body.Status(err))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer) // the caller may be gone
}

func (g *Gates) review(body []byte) (answer []byte, err error) {
	review, err := readReview(body)
	if err != nil {
		return nil, err
	}
	told := admissionv1.AdmissionReview{Response: &admissionv1.AdmissionResponse{UID: review.uid, Allowed: true}}
	told.APIVersion, told.Kind = admissionv1.SchemeGroupVersion.String(), "AdmissionReview"
	if review.creates() && g.wants(&review.pod) { // gates cannot be added later
		if told.Response.Patch, err = patchWithGate(&review.pod); err != nil {
			return nil, err
		}
		told.Response.PatchType = new(admissionv1.PatchTypeJSONPatch)
		g.added.Inc()
	}
	return json.Marshal(told)
}

// wants reports whether a pod is to be gated.
func (g *Gates) wants(pod *corev1.Pod) bool {
	_, member := membership.Of(pod)
	return member && g.policy != config.GatesNever && pod.Spec.NodeName == "" &&
		g.profiles.Of(pod.Spec.SchedulerName) != nil && !membership.Gated(pod)
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

package admission

import (
	"encoding/json"
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/operators"
	"muster.dev/muster/predicates"
	"muster.dev/muster/server/body"
)

// Gates are the mutating webhooks that put a scheduling gate on pods that are created. They know
// nothing but the pod and the profiles, so that every replica can answer, and deny nothing: a pod
// that is not gated starts as it would without them. Gates follow the rules of
// GatePolicies. They answer beside those as well, so that to change from one to the other leaves no
// pod ungated.
type Gates struct {
	// Members gates members of gangs.
	Members *Gate
	// Ahead gates pods of no group that are opted in. The API server asks it about those whose own
	// label says so, and about those without one in namespaces whose label does: selectors see
	// to it, as a pod does not say what its namespace's labels are.
	Ahead *Gate
}

// Gate is one of them.
type Gate struct {
	name   string
	wants  func(pod *corev1.Pod, profile *predicates.Profile) bool // of pods that may be gated at all
	added  prometheus.Counter
	bodies *body.Readers

	profiles *predicates.Profiles
	signs    operators.Signs
}

// NewGates returns the webhooks for the pods of some profiles. Pods with one of the signs count as members of gangs: muster
// lifts the gate of one that turns out to be none.
func NewGates(profiles *predicates.Profiles, signs operators.Signs, r prometheus.Registerer, bodies *body.Readers) *Gates {
	isMember := func(pod *corev1.Pod) bool {
		_, marked := membership.Marked(pod)
		return marked || signs.On(pod)
	}
	g := &Gates{
		Members: &Gate{
			name: v1alpha1.SchedulingGate, profiles: profiles, signs: signs, bodies: bodies,
			wants: func(pod *corev1.Pod, profile *predicates.Profile) bool {
				return isMember(pod) && profile.Gates != config.GatesNever
			},
			added: prometheus.NewCounter(prometheus.CounterOpts{
				Name: "muster_gang_gates_added_total",
				Help: "Pods on which the webhook put a scheduling gate, as members of a gang.",
			}),
		},
		Ahead: &Gate{
			name: v1alpha1.AheadGate, profiles: profiles, signs: signs, bodies: bodies,
			wants: func(pod *corev1.Pod, profile *predicates.Profile) bool {
				return !isMember(pod) && profile.PlacesGated() && mayBeOptedIn(pod)
			},
			added: prometheus.NewCounter(prometheus.CounterOpts{
				Name: "muster_ahead_gates_added_total",
				Help: "Pods of no group on which the webhook put a scheduling gate, as they are opted in to be placed ahead.",
			}),
		},
	}
	r.MustRegister(g.Members.added, g.Ahead.added)
	return g
}

// ServeHTTP answers an AdmissionReview of admission.k8s.io/v1 about a pod.
func (g *Gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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

func (g *Gate) review(body []byte) (answer []byte, err error) {
	review, err := readReview(body, &g.signs)
	if err != nil {
		return nil, err
	}
	told := admissionv1.AdmissionReview{Response: &admissionv1.AdmissionResponse{UID: review.uid, Allowed: true}}
	told.APIVersion, told.Kind = admissionv1.SchemeGroupVersion.String(), "AdmissionReview"
	if review.creates() && g.gates(&review.pod) { // gates cannot be added later
		if told.Response.Patch, err = patchWithGate(&review.pod, g.name); err != nil {
			return nil, err
		}
		told.Response.PatchType = new(admissionv1.PatchTypeJSONPatch)
		g.added.Inc()
	}
	return json.Marshal(told)
}

// gates reports whether a pod is to be gated.
func (g *Gate) gates(pod *corev1.Pod) bool {
	store := g.profiles.Of(pod.Spec.SchedulerName)
	return store != nil && pod.Spec.NodeName == "" && pod.Spec.SchedulingGroup == nil && g.wants(pod, store.Profile) &&
		!hasGate(pod, g.name)
}

func hasGate(pod *corev1.Pod, name string) bool {
	return slices.ContainsFunc(pod.Spec.SchedulingGates, func(gate corev1.PodSchedulingGate) bool { return gate.Name == name })
}

// patchWithGate returns a JSON patch that adds the gate to a pod's own gates.
func patchWithGate(pod *corev1.Pod, name string) ([]byte, error) {
	gate := corev1.PodSchedulingGate{Name: name}
	operation := map[string]any{"op": "add", "path": "/spec/schedulingGates", "value": []any{gate}}
	if len(pod.Spec.SchedulingGates) > 0 {
		operation["path"], operation["value"] = "/spec/schedulingGates/-", gate
	}
	return json.Marshal([]any{operation})
}

// kindDaemonSet is the controller whose pods are not gated, though they are opted in: where they run is for nobody to put off.
const kindDaemonSet = "DaemonSet"

// systemClasses are the priority classes of what a cluster needs to work.
func systemClasses() []string { return []string{"system-node-critical", "system-cluster-critical"} }

// mayBeOptedIn reports whether GatePolicies gate a pod of no group like this one, whatever its scheduler and its node. What
// the label of its namespace says, the selectors of a webhook have to tell.
func mayBeOptedIn(pod *corev1.Pod) bool {
	if label, labelled := pod.Labels[v1alpha1.LabelAhead]; labelled && label != "true" {
		return false
	}
	for i := range pod.OwnerReferences {
		if pod.OwnerReferences[i].Kind == kindDaemonSet {
			return false
		}
	}
	return !slices.Contains(systemClasses(), pod.Spec.PriorityClassName)
}

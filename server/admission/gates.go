package admission

import (
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/operators"
	"muster.dev/muster/predicates"
	"muster.dev/muster/server/body"
)

// Webhooks are the mutating webhooks that change pods that are created. They know nothing but the pod
// and the profiles, so that every replica can answer, and deny nothing: a pod that is not changed starts
// as it would without them. They follow the rules of GatePolicies and of SchedulerPolicy, and answer
// beside those as well, so that to change from one to the other leaves no pod out.
type Webhooks struct {
	// Members gates members of gangs.
	Members *Gate
	// Ahead gates pods of no group that are opted in. The API server asks it about those whose own
	// label says so, and about those without one in namespaces whose label does: selectors see
	// to it, as a pod does not say what its namespace's labels are.
	Ahead *Gate
	// Assigner sets schedulers.
	Assigner *Assigner
}

// Gate puts a scheduling gate on pods.
type Gate struct {
	*reviewer
	name  string
	wants func(pod *corev1.Pod, profile *predicates.Profile) bool // of pods that may be gated at all
	added prometheus.Counter
}

// NewWebhooks returns the webhooks for the pods of some profiles. Pods with one of the signs count as members of gangs: muster
// lifts the gate of one that turns out to be none.
func NewWebhooks(profiles *predicates.Profiles, signs operators.Signs, r prometheus.Registerer, bodies *body.Readers) *Webhooks {
	isMember := func(pod *corev1.Pod) bool {
		_, marked := membership.Marked(pod)
		return marked || signs.On(pod)
	}
	reviews := &reviewer{bodies: bodies, profiles: profiles, signs: signs}
	w := &Webhooks{
		Members: &Gate{
			reviewer: reviews, name: v1alpha1.SchedulingGate,
			wants: func(pod *corev1.Pod, profile *predicates.Profile) bool {
				return isMember(pod) && profile.Gates != config.GatesNever
			},
			added: prometheus.NewCounter(prometheus.CounterOpts{
				Name: "muster_gang_gates_added_total",
				Help: "Pods on which the webhook put a scheduling gate, as members of a gang.",
			}),
		},
		Ahead: &Gate{
			reviewer: reviews, name: v1alpha1.AheadGate,
			wants: func(pod *corev1.Pod, profile *predicates.Profile) bool {
				return !isMember(pod) && profile.PlacesGated() && mayBeOptedIn(pod)
			},
			added: prometheus.NewCounter(prometheus.CounterOpts{
				Name: "muster_ahead_gates_added_total",
				Help: "Pods of no group on which the webhook put a scheduling gate, as they are opted in to be placed ahead.",
			}),
		},
		Assigner: &Assigner{
			reviewer: reviews,
			set: prometheus.NewCounter(prometheus.CounterOpts{
				Name: "muster_schedulers_set_total",
				Help: "Pods whose schedulerName the webhook set.",
			}),
		},
	}
	r.MustRegister(w.Members.added, w.Ahead.added, w.Assigner.set)
	return w
}

// ServeHTTP answers an AdmissionReview of admission.k8s.io/v1 about a pod.
func (g *Gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.answer(w, r, func(pod *corev1.Pod) []operation {
		if !g.gates(pod) {
			return nil
		}
		g.added.Inc()
		gate := corev1.PodSchedulingGate{Name: g.name}
		if len(pod.Spec.SchedulingGates) > 0 {
			return []operation{{"add", "/spec/schedulingGates/-", gate}}
		}
		return []operation{{"add", "/spec/schedulingGates", []any{gate}}}
	})
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

// kindDaemonSet is the controller whose pods are left alone, though they are opted in: where they run is for nobody to put off.
const kindDaemonSet = "DaemonSet"

// systemClasses are the priority classes of what a cluster needs to work.
func systemClasses() []string { return []string{"system-node-critical", "system-cluster-critical"} }

// mayBeOptedIn reports whether GatePolicies gate a pod of no group like this one, whatever its scheduler and its node. What
// the label of its namespace says, the selectors of a webhook have to tell.
func mayBeOptedIn(pod *corev1.Pod) bool {
	label, labelled := pod.Labels[v1alpha1.LabelAhead]
	return (!labelled || label == "true") && mayBePutOff(pod)
}

// mayBePutOff reports whether it is for anybody but the pod to say when it runs, and by whose choice.
func mayBePutOff(pod *corev1.Pod) bool {
	return !slices.Contains(systemClasses(), pod.Spec.PriorityClassName) &&
		!slices.ContainsFunc(pod.OwnerReferences, func(owner metav1.OwnerReference) bool { return owner.Kind == kindDaemonSet })
}

package admission

import (
	"net/http"
	"slices"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
)

// ParameterScheduler is the parameter of the path of [Assigner].
const ParameterScheduler = "scheduler"

// Assigner gives pods that name no scheduler to the one that the path of the request names. Whose pods these are, the API
// server tells by the selectors and conditions of the webhook, as a pod does not say what its namespace's labels are. Gates
// are for those who are asked next, or again.
type Assigner struct {
	*reviewer
	set prometheus.Counter
}

// ServeHTTP answers an AdmissionReview of admission.k8s.io/v1 about a pod.
func (a *Assigner) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name := chi.URLParam(r, ParameterScheduler)
	a.answer(w, r, func(pod *corev1.Pod) []operation {
		if !a.takes(pod, name) {
			return nil
		}
		a.set.Inc()
		return []operation{{"add", "/spec/schedulerName", name}}
	})
}

// takes reports whether a pod is to get the scheduler of a name. A name that no profile has is one of a former configuration.
func (a *Assigner) takes(pod *corev1.Pod, name string) bool {
	return a.profiles.Of(name) != nil && (pod.Spec.SchedulerName == "" || pod.Spec.SchedulerName == corev1.DefaultSchedulerName) &&
		name != corev1.DefaultSchedulerName && pod.Spec.NodeName == "" && !slices.Contains(ownNames(), pod.Labels[labelName]) && mayBePutOff(pod)
}

// labelName is the label by which muster's own pods are known. Who has it in vain keeps the scheduler of the cluster.
const labelName = "app.kubernetes.io/name"

// ownNames are the values of labelName of muster's pods, which must not wait for muster.
func ownNames() []string { return []string{"muster", "muster-rescheduler"} }

package placeable

import (
	"cmp"
	"maps"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
)

// What Kueue calls things.
const (
	annotationWorkload = "kueue.x-k8s.io/workload" // on pods
	labelSet           = "kueue.x-k8s.io/podset"   // on pods
	quotaReserved      = "QuotaReserved"
	admitted           = "Admitted"
	evicted            = "Evicted"
	finished           = "Finished"
	podsReady          = "PodsReady"
)

// state is the word of an admission check.
type state string

const (
	pending state = "Pending"
	ready   state = "Ready"
	retry   state = "Retry"
)

// workload is a Workload of Kueue whose quota is reserved. It is immutable.
type workload struct {
	types.NamespacedName
	uid      types.UID
	object   *unstructured.Unstructured
	priority int32
	reserved time.Time // when the quota was, which tells one admission from the next
	admitted bool
	come     bool // all pods were ready at some time
	sets     []podSet
	checks   map[string]check
	owners   sets.Set[types.UID]
}

// check is the state of an admission check.
type check struct {
	state   state
	message string
}

// podSet is pods of one template.
type podSet struct {
	name     string
	count    int // that need room
	template *corev1.PodTemplateSpec
	priority *int32
	flavors  []string
	updates  []podSetUpdate
	domains  []domain // where Kueue wants them, nil for anywhere
}

// podSetUpdate has what Kueue adds to a template by the word of an admission check.
type podSetUpdate struct {
	Name         string              `json:"name"`
	Labels       map[string]string   `json:"labels"`
	Annotations  map[string]string   `json:"annotations"`
	NodeSelector map[string]string   `json:"nodeSelector"`
	Tolerations  []corev1.Toleration `json:"tolerations"`
}

// workloadFields are the fields of a Workload that are read.
type workloadFields struct {
	Spec struct {
		PodSets []struct {
			Name     string                 `json:"name"`
			Count    int32                  `json:"count"`
			Template corev1.PodTemplateSpec `json:"template"`
		} `json:"podSets"`
		Priority         *int32 `json:"priority"`
		PriorityClassRef *struct {
			Group string `json:"group"`
		} `json:"priorityClassRef"`
	} `json:"spec"`
	Status struct {
		Conditions []metav1.Condition `json:"conditions"`
		Admission  *struct {
			PodSetAssignments []struct {
				Name               string                         `json:"name"`
				Flavors            map[corev1.ResourceName]string `json:"flavors"`
				Count              *int32                         `json:"count"`
				TopologyAssignment *topologyAssignment            `json:"topologyAssignment"`
			} `json:"podSetAssignments"`
		} `json:"admission"`
		ReclaimablePods []struct {
			Name  string `json:"name"`
			Count int32  `json:"count"`
		} `json:"reclaimablePods"`
		AdmissionChecks []struct {
			Name          string         `json:"name"`
			State         state          `json:"state"`
			Message       string         `json:"message"`
			PodSetUpdates []podSetUpdate `json:"podSetUpdates"`
		} `json:"admissionChecks"`
	} `json:"status"`
}

// read returns a Workload. It reports false if that has no admission check to pass now, as no quota is reserved for it, say.
func read(object *unstructured.Unstructured) (w *workload, concerns bool, err error) {
	if checks, _, _ := unstructured.NestedFieldNoCopy(object.Object, "status", "admissionChecks"); checks == nil {
		return nil, false, nil
	}
	var fields workloadFields
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &fields); err != nil {
		return nil, false, err
	}
	status := &fields.Status
	is := func(condition string) bool { return meta.IsStatusConditionTrue(status.Conditions, condition) }
	if !is(quotaReserved) || is(finished) || is(evicted) || status.Admission == nil || object.GetDeletionTimestamp() != nil {
		return nil, false, nil
	}
	w = &workload{
		NamespacedName: types.NamespacedName{Namespace: object.GetNamespace(), Name: object.GetName()},
		uid:            object.GetUID(), object: object, admitted: is(admitted), come: is(podsReady), checks: map[string]check{},
		reserved: meta.FindStatusCondition(status.Conditions, quotaReserved).LastTransitionTime.Time,
		owners:   sets.New[types.UID](),
	}
	if fields.Spec.Priority != nil {
		w.priority = *fields.Spec.Priority
	}
	for _, owner := range object.GetOwnerReferences() {
		w.owners.Insert(owner.UID)
	}
	for _, c := range status.AdmissionChecks {
		w.checks[c.Name] = check{c.State, c.Message}
	}
	for i := range fields.Spec.PodSets {
		w.sets = append(w.sets, fields.set(i))
	}
	return w, true, nil
}

// set returns a podSet as it is admitted.
func (f *workloadFields) set(i int) podSet {
	given := &f.Spec.PodSets[i]
	set := podSet{name: given.Name, count: int(given.Count), template: &given.Template}
	if ref := f.Spec.PriorityClassRef; ref != nil && ref.Group == "scheduling.k8s.io" {
		set.priority = f.Spec.Priority
	}
	for i := range f.Status.Admission.PodSetAssignments {
		assigned := &f.Status.Admission.PodSetAssignments[i]
		if assigned.Name != set.name {
			continue
		}
		if assigned.Count != nil {
			set.count = int(*assigned.Count)
		}
		set.flavors = slices.Compact(slices.Sorted(maps.Values(assigned.Flavors)))
		set.domains = assigned.TopologyAssignment.domains()
	}
	for _, reclaimable := range f.Status.ReclaimablePods {
		if reclaimable.Name == set.name {
			set.count = max(set.count-int(reclaimable.Count), 0)
		}
	}
	for _, c := range f.Status.AdmissionChecks {
		for _, update := range c.PodSetUpdates {
			if update.Name == set.name {
				set.updates = append(set.updates, update)
			}
		}
	}
	return set
}

// state returns what checks of some names say, "" where a workload has none of them, or one says something else. They are all answered
// alike, so one that is pending counts.
func (w *workload) state(checks sets.Set[string]) (is state) {
	for name, c := range w.checks {
		if checks.Has(name) && is != pending {
			is = c.state
		}
	}
	return is
}

// pods returns how many pods of the workload need room.
func (w *workload) pods() (count int) {
	for i := range w.sets {
		count += w.sets[i].count
	}
	return count
}

// setOf returns the set of pods that a pod of the workload is of, and false for other pods. Kueue says it on the template that pods
// are made of; where it does not, the workload's owner is the pod's.
func (w *workload) setOf(pod *cluster.Pod) (set string, is bool) {
	if pod.Namespace != w.Namespace || pod.Placeholder {
		return "", false
	}
	if pod.Annotations[annotationWorkload] != w.Name {
		owner := metav1.GetControllerOfNoCopy(pod.Pod)
		if (owner == nil || !w.owners.Has(owner.UID)) && !w.owners.Has(pod.UID) {
			return "", false
		}
	}
	name, named := pod.Labels[labelSet]
	for i := range w.sets {
		if w.sets[i].name == name || !named && len(w.sets) == 1 {
			return w.sets[i].name, true
		}
	}
	return "", false
}

// byTurn orders workloads as Kueue does: the most important first, and of these the one whose quota was reserved first.
func byTurn(a, b *workload) int {
	return cmp.Or(
		cmp.Compare(b.priority, a.priority), a.reserved.Compare(b.reserved), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name),
	)
}

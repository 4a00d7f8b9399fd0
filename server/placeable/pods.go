package placeable

import (
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
)

// mostPods is how many pods a workload may have for room to be looked for, the same number that a gang may have. Who creates a
// Workload says how many it has: without a bound one object would take any time and memory.
const mostPods = 10_000

// flavor is a ResourceFlavor of Kueue: what it adds to the pods that it is assigned to.
type flavor struct {
	NodeLabels  map[string]string   `json:"nodeLabels"`
	Tolerations []corev1.Toleration `json:"tolerations"`
}

// problemError says why it cannot be known which pods a workload will have.
type problemError string

func (e problemError) Error() string { return string(e) }

// made returns pods as they will be made of a set's template once Kueue has admitted the workload: the first ones are the set's last.
// The number tells them from others of the set that were made before.
func (w *workload) made(set *podSet, flavors map[string]*flavor, count, number int) ([]*cluster.Pod, error) {
	example, err := w.example(set, flavors)
	if err != nil {
		return nil, err
	}
	pods := make([]*cluster.Pod, 0, count)
	of := map[int]*cluster.Pod{} // examples by domain
	for i := range count {
		at := set.domainOf(set.count - 1 - i)
		kind := of[at]
		if kind == nil {
			if kind, err = newPod(example, set.selector(at)); err != nil {
				return nil, err
			}
			of[at] = kind
		}
		object, pod := *kind.Pod, *kind
		object.UID = types.UID(fmt.Sprintf("workload/%s/%s/%d", w.uid, set.name, number+i))
		object.Name = string(object.UID)
		pod.Pod = &object
		pods = append(pods, &pod)
	}
	return pods, nil
}

// example returns a pod of a set without a name, anywhere.
func (w *workload) example(set *podSet, flavors map[string]*flavor) (*corev1.Pod, error) {
	template := set.template.DeepCopy()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Labels: template.Labels, Annotations: template.Annotations}, Spec: template.Spec,
	}
	pod.Spec.SchedulingGates, pod.Spec.NodeName = nil, ""
	if set.priority != nil && pod.Spec.Priority == nil {
		pod.Spec.Priority = set.priority
	}
	if pod.Spec.SchedulerName == "" {
		pod.Spec.SchedulerName = corev1.DefaultSchedulerName
	}
	for _, name := range set.flavors {
		added := flavors[name]
		if added == nil {
			return nil, problemError(fmt.Sprintf("the ResourceFlavor %s is not there", name))
		}
		add(pod, &podSetUpdate{NodeSelector: added.NodeLabels, Tolerations: added.Tolerations})
	}
	for i := range set.updates {
		add(pod, &set.updates[i])
	}
	add(pod, &podSetUpdate{Labels: map[string]string{labelSet: set.name}, Annotations: map[string]string{annotationWorkload: w.Name}})
	return pod, nil
}

// add adds to a pod what Kueue adds.
func add(pod *corev1.Pod, update *podSetUpdate) {
	for to, from := range map[*map[string]string]map[string]string{
		&pod.Labels: update.Labels, &pod.Annotations: update.Annotations, &pod.Spec.NodeSelector: update.NodeSelector,
	} {
		if *to == nil {
			*to = map[string]string{}
		}
		maps.Copy(*to, from)
	}
	for _, toleration := range update.Tolerations {
		if !slices.Contains(pod.Spec.Tolerations, toleration) {
			pod.Spec.Tolerations = append(pod.Spec.Tolerations, toleration)
		}
	}
}

// newPod returns a pod in a domain.
func newPod(example *corev1.Pod, selector map[string]string) (*cluster.Pod, error) {
	object := example.DeepCopy()
	add(object, &podSetUpdate{NodeSelector: selector})
	if _, err := cluster.Trim(object); err != nil {
		return nil, err
	}
	return cluster.NewPod(object), nil
}

// domainOf returns the domain of a pod by its place in the set, -1 where Kueue names none.
func (s *podSet) domainOf(pod int) int {
	for i := range s.domains {
		if pod -= s.domains[i].count; pod < 0 {
			return i
		}
	}
	return -1
}

func (s *podSet) selector(domain int) map[string]string {
	if domain < 0 {
		return nil
	}
	return s.domains[domain].selector
}

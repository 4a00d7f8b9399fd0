package predicates

import (
	"hash/maphash"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/config/v1alpha2"
	"muster.dev/muster/cluster"
)

// Class is an equivalence class: pods that every predicate and every score
// treats alike, so that what is known of one is known of all ("Equivalence class based
// scheduling in Kubernetes", a proposal of the Kubernetes community; the name is Borg's).
//
// The proposal takes the controllerRef as the class. Pods of one controller may
// differ, though (the volumes of a StatefulSet, a resize), so the class is the controller and all that predicates and scores
// read of the pod itself.
type Class struct {
	// Hash identifies the class in logs and at debug endpoints.
	Hash uint64
	// Controller is the UID of the controller of its pods, "" when the profile has
	// pods share across controllers.
	Controller string

	canonical string
}

// classes interns the classes of a profile. It is safe for concurrent use.
type classes struct {
	equivalence v1alpha2.Equivalence
	// kin says that a plugin reads which pods the controller of a pod selects.
	kin  bool
	hash func(canonical string) uint64

	mu     sync.Mutex
	byHash map[uint64][]*Class // more than one where hashes collide
	count  int
}

func newClasses(equivalence v1alpha2.Equivalence, kin bool) *classes {
	seed := maphash.MakeSeed()
	return &classes{
		equivalence: equivalence, kin: kin,
		hash:   func(canonical string) uint64 { return maphash.String(seed, canonical) },
		byHash: map[uint64][]*Class{},
	}
}

// of is the class of a pod. It is nil for a pod that is evaluated for itself: one that
// names its node, since it would have a class of its own and is asked about on that node
// alone; and one without a controller in a profile whose classes are those of
// controllers.
func (c *classes) of(pod *cluster.Pod) *Class {
	if namesItsNode(pod.Pod) {
		return nil
	}
	controller := ""
	if c.equivalence == v1alpha2.EquivalenceControllerRef {
		owner := metav1.GetControllerOfNoCopy(pod.Pod)
		if owner == nil {
			return nil
		}
		controller = string(owner.UID)
	}
	key := controller + "\x00" + c.spreadWith(pod.Pod) + "\x00" + canonical(pod.Pod)
	hash := c.hash(key)

	c.mu.Lock()
	defer c.mu.Unlock()
	for _, class := range c.byHash[hash] {
		if class.canonical == key {
			return class
		}
	}
	class := &Class{Hash: hash, Controller: controller, canonical: key}
	c.byHash[hash] = append(c.byHash[hash], class)
	c.count++
	return class
}

// namesItsNode says that a pod can run on one node only, by its name, as the pods of a
// DaemonSet.
func namesItsNode(pod *corev1.Pod) bool {
	affinity := pod.Spec.Affinity
	if affinity == nil || affinity.NodeAffinity == nil || affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution == nil {
		return pod.Spec.NodeName != ""
	}
	terms := affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms
	return len(terms) == 1 && slices.ContainsFunc(terms[0].MatchFields, func(r corev1.NodeSelectorRequirement) bool {
		return r.Key == metav1.ObjectNameField && r.Operator == corev1.NodeSelectorOpIn && len(r.Values) == 1
	})
}

// spreadWith names the controller of a pod that is spread with the pods of the same
// controller for want of constraints of its own (see podKin). Equal pods of two such
// controllers are not equal to that. With ControllerRef they have two classes anyway.
func (c *classes) spreadWith(pod *corev1.Pod) string {
	if !c.kin || c.equivalence == v1alpha2.EquivalenceControllerRef || len(pod.Spec.TopologySpreadConstraints) > 0 {
		return ""
	}
	controller := selectingControllerOf(pod)
	return controller.kind + "/" + controller.name
}

// forget drops a class. Pods of it get a new one.
func (c *classes) forget(class *Class) {
	c.mu.Lock()
	defer c.mu.Unlock()
	same := c.byHash[class.Hash]
	for i := range same {
		if same[i] == class {
			c.byHash[class.Hash] = append(same[:i:i], same[i+1:]...)
			c.count--
		}
	}
	if len(c.byHash[class.Hash]) == 0 {
		delete(c.byHash, class.Hash)
	}
}

// retain drops the classes that are not in use, such as those that were only compared,
// when they are many more than the others.
func (c *classes) retain(used int, inUse func(*Class) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.count <= 2*used+manyClasses {
		return
	}
	for hash, same := range c.byHash {
		same = slices.DeleteFunc(slices.Clone(same), func(class *Class) bool { return !inUse(class) })
		c.count += len(same) - len(c.byHash[hash])
		if len(same) == 0 {
			delete(c.byHash, hash)
		} else {
			c.byHash[hash] = same
		}
	}
}

// manyClasses are so many that it is worth to look which of them are in use.
const manyClasses = 1000

// canonical is all that predicates and scores read of a pod, in a form that is
// equal for equal pods: protobuf, which writes maps in the order of their keys. A
// test fails when PodSpec gains a field that is neither here nor known not to
// matter.
func canonical(pod *corev1.Pod) string {
	spec := &pod.Spec
	relevant := corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Labels: pod.Labels},
		Spec: corev1.PodSpec{
			Volumes:                   spec.Volumes,
			InitContainers:            canonicalContainers(spec.InitContainers),
			Containers:                canonicalContainers(spec.Containers),
			NodeSelector:              spec.NodeSelector,
			NodeName:                  spec.NodeName,
			HostNetwork:               spec.HostNetwork,
			Affinity:                  spec.Affinity,
			Tolerations:               spec.Tolerations,
			Overhead:                  spec.Overhead,
			TopologySpreadConstraints: spec.TopologySpreadConstraints,
			ResourceClaims:            spec.ResourceClaims,
			Resources:                 spec.Resources,
		},
	}
	// The claim of an ephemeral volume is named after its pod and owned by it.
	if slices.ContainsFunc(spec.Volumes, func(volume corev1.Volume) bool { return volume.Ephemeral != nil }) {
		relevant.Name, relevant.UID = pod.Name, pod.UID
	}
	encoded, err := relevant.Marshal()
	if err != nil {
		panic(err) // a pod that was decoded can be encoded
	}
	return string(encoded)
}

func canonicalContainers(containers []corev1.Container) []corev1.Container {
	relevant := make([]corev1.Container, len(containers))
	for i := range containers {
		c := &containers[i]
		relevant[i] = corev1.Container{Image: c.Image, Ports: c.Ports, Resources: c.Resources, RestartPolicy: c.RestartPolicy}
	}
	return relevant
}

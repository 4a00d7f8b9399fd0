package predicates

import (
	"slices"
	"strconv"
	"strings"
	"unique"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// Class is an equivalence class: pods that every predicate and every score treats alike,
// so that what is known of one is known of all ("Equivalence class based scheduling in
// Kubernetes", a proposal of the Kubernetes community; the name is Borg's).
//
// The proposal takes the controllerRef as the class. Pods of one controller may differ,
// though (the volumes of a StatefulSet, a resize), so the class is the controller and all
// that predicates and scores read of the pod itself.
//
// Two classes are equal exactly when their pods are. A pod without a class has the zero Class.
type Class struct{ form unique.Handle[string] }

// None reports whether there is no class.
func (c Class) None() bool { return c == Class{} }

// classes tells the classes of a profile. It is immutable.
type classes struct {
	equivalence config.Equivalence
	// kin says that a plugin reads which pods the controller of a pod selects.
	kin bool
	// plugins may read more than what is canonical.
	plugins []Plugin
}

// of returns the class of a pod. Two kinds of pods have none, and are evaluated one by one: a pod that names its node,
// which would be alone in its class and is asked about on that node only; and, with equivalence ControllerRef, a pod
// without a controller.
func (c classes) of(pod *cluster.Pod) Class {
	if NamesItsNode(pod.Pod) {
		return Class{}
	}
	controller := ""
	if c.equivalence == config.EquivalenceControllerRef {
		owner := metav1.GetControllerOfNoCopy(pod.Pod)
		if owner == nil {
			return Class{}
		}
		controller = string(owner.UID)
	}
	return Class{unique.Make(controller + "\x00" + c.spreadWith(pod.Pod) + "\x00" + claimsForm(pod) + form(pod, c.plugins))}
}

// controller returns the UID of the controller of its pods, "" when the profile has pods share
// across controllers.
func (c Class) controller() string {
	controller, _, _ := strings.Cut(c.form.Value(), "\x00")
	return controller
}

// form returns everything that the plugins of a profile read of a pod, plugins of other packages included.
func form(pod *cluster.Pod, others []Plugin) string {
	form := canonical(pod.Pod)
	for _, plugin := range others {
		form = strconv.Quote(plugin.Reads(pod)) + form // quoted, so that it is clear where it ends
	}
	return form
}

// AloneAs returns a class, for the time of a comparison, of pods that are judged for themselves:
// those are of one that no plugin of the profile can tell apart.
func (p *Profile) AloneAs(pod *cluster.Pod) Class {
	controller := selectingControllerOf(pod.Pod) // of one that names its node
	return Class{unique.Make("alone\x00" + controller.kind + "/" + controller.name + "\x00" + claimsForm(pod) + form(pod, p.plugins))}
}

// NamesItsNode reports whether a pod can run on one node only, by its name, as the pods of a
// DaemonSet.
func NamesItsNode(pod *corev1.Pod) bool {
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
func (c classes) spreadWith(pod *corev1.Pod) string {
	if !c.kin || c.equivalence == config.EquivalenceControllerRef || len(pod.Spec.TopologySpreadConstraints) > 0 {
		return ""
	}
	controller := selectingControllerOf(pod)
	return controller.kind + "/" + controller.name
}

// canonical returns all that the predicates and scores of this package read of a pod, in a form that is
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
			HostUsers:                 spec.HostUsers,
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

// claimsForm returns what the plugins read of the claims of a pod. Of claims that were made for the pod these
// are the requests and the places of allocation, whatever their names. Pods without claims have none.
func claimsForm(pod *cluster.Pod) string {
	if len(pod.Claims) == 0 && pod.ClaimProblem == "" {
		return ""
	}
	var form strings.Builder
	form.WriteString(string(pod.ClaimProblem))
	shared := claimsNamedBy(pod)
	for _, claim := range pod.Claims {
		relevant := resourcev1.ResourceClaim{Spec: claim.Spec, Status: resourcev1.ResourceClaimStatus{Allocation: claim.Status.Allocation}}
		if shared.Has(claim.Name) { // which one it is matters, who else has it, too
			relevant.UID = claim.UID
		}
		if relevant.Status.Allocation != nil { // whose it is matters
			relevant.UID, relevant.Status.ReservedFor = claim.UID, claim.Status.ReservedFor
		}
		encoded, err := relevant.Marshal()
		if err != nil {
			panic(err) // a claim that was decoded can be encoded
		}
		form.WriteString(strconv.Quote(string(encoded)))
	}
	return form.String() + "\x00"
}

func canonicalContainers(containers []corev1.Container) []corev1.Container {
	relevant := make([]corev1.Container, len(containers))
	for i := range containers {
		c := &containers[i]
		relevant[i] = corev1.Container{
			Image: c.Image, Ports: c.Ports, Resources: c.Resources, RestartPolicy: c.RestartPolicy, RestartPolicyRules: c.RestartPolicyRules,
		}
	}
	return relevant
}

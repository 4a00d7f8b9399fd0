package cluster

import (
	"bytes"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"muster.dev/muster/api/quantity"
)

// Trim drops from an object what muster never reads, before it is kept: what
// stays of a pod is a small part of it. Amounts that no quantity stands for are capped, as
// sums of them would take for ever. It returns the object that it was given,
// changed in place, so the caller must be the only one to hold it. Doing it
// twice is doing it once. A tombstone, whose object was trimmed when it came,
// is returned untouched.
//
// It is a [cache.TransformFunc]. An object without metadata is an error.
func Trim(object any) (any, error) {
	if _, deleted := object.(cache.DeletedFinalStateUnknown); deleted {
		return object, nil
	}
	metadata, err := meta.Accessor(object)
	if err != nil {
		return nil, fmt.Errorf("trim %T: %w", object, err)
	}
	if managers := metadata.GetManagedFields(); len(managers) > 0 {
		metadata.SetManagedFields(trimManagers(managers))
	}
	if annotations := metadata.GetAnnotations(); annotations[corev1.LastAppliedConfigAnnotation] != "" {
		delete(annotations, corev1.LastAppliedConfigAnnotation)
		metadata.SetAnnotations(annotations)
	}
	switch o := object.(type) {
	case *corev1.Pod:
		trimPod(o)
	case *corev1.Node:
		trimNode(o)
	case *corev1.PersistentVolume:
		trimPersistentVolume(o)
	case *corev1.PersistentVolumeClaim:
		o.ObjectMeta = trimMeta(&o.ObjectMeta)
		o.Status = corev1.PersistentVolumeClaimStatus{Phase: o.Status.Phase}
	case *storagev1.VolumeAttachment:
		o.ObjectMeta = identity(&o.ObjectMeta)
		o.Spec.Source.InlineVolumeSpec = nil
		o.Status = storagev1.VolumeAttachmentStatus{}
	case *storagev1.CSIDriver:
		o.ObjectMeta = identity(&o.ObjectMeta)
		o.Spec = storagev1.CSIDriverSpec{PreventPodSchedulingIfMissing: o.Spec.PreventPodSchedulingIfMissing}
	case *corev1.Namespace:
		labels := o.Labels
		o.ObjectMeta = identity(&o.ObjectMeta)
		o.Labels = labels
		o.Spec, o.Status = corev1.NamespaceSpec{}, corev1.NamespaceStatus{}
	case *resourcev1.DeviceClass, *resourcev1.ResourceSlice, *DeviceTaintRule,
		*resourcev1.ResourceClaim, *resourcev1.ResourceClaimTemplate:
		trimDevices(object)
	default:
		trimToSelector(object)
	}
	return object, nil
}

// trimDevices reduces objects about devices to the parts that decide which pods may have them.
func trimDevices(object any) {
	switch o := object.(type) {
	case *resourcev1.DeviceClass:
		created := o.CreationTimestamp // of two classes for one extended resource the younger one counts
		o.ObjectMeta = identity(&o.ObjectMeta)
		o.CreationTimestamp = created
	case *resourcev1.ResourceSlice:
		o.ObjectMeta = identity(&o.ObjectMeta)
		capSlice(&o.Spec)
	case *DeviceTaintRule:
		*o = DeviceTaintRule{ObjectMeta: identity(&o.ObjectMeta), Spec: o.Spec}
	case *resourcev1.ResourceClaim:
		capClaim(&o.Spec.Devices)
		owners, extended := o.OwnerReferences, o.Annotations[resourcev1.ExtendedResourceClaimAnnotation]
		o.ObjectMeta = mortal(&o.ObjectMeta)
		if o.OwnerReferences = owners; extended != "" {
			o.Annotations = map[string]string{resourcev1.ExtendedResourceClaimAnnotation: extended}
		}
		o.Status = resourcev1.ResourceClaimStatus{Allocation: o.Status.Allocation, ReservedFor: o.Status.ReservedFor}
	case *resourcev1.ResourceClaimTemplate:
		o.ObjectMeta = identity(&o.ObjectMeta)
		o.Spec.ObjectMeta = metav1.ObjectMeta{}
		capClaim(&o.Spec.Spec.Devices)
	}
}

func capClaim(claim *resourcev1.DeviceClaim) {
	capacity := func(of *resourcev1.CapacityRequirements) {
		if of != nil {
			quantity.Cap(of.Requests)
		}
	}
	for i := range claim.Requests {
		request := &claim.Requests[i]
		if request.Exactly != nil {
			capacity(request.Exactly.Capacity)
		}
		for j := range request.FirstAvailable {
			capacity(request.FirstAvailable[j].Capacity)
		}
	}
}

func capSlice(slice *resourcev1.ResourceSliceSpec) {
	counters := func(of map[string]resourcev1.Counter) {
		for name, counter := range of {
			value := map[string]resource.Quantity{name: counter.Value}
			quantity.Cap(value)
			of[name] = resourcev1.Counter{Value: value[name]}
		}
	}
	for i := range slice.SharedCounters {
		counters(slice.SharedCounters[i].Counters)
	}
	for i := range slice.Devices {
		device := &slice.Devices[i]
		for j := range device.ConsumesCounters {
			counters(device.ConsumesCounters[j].Counters)
		}
		for name, capacity := range device.Capacity {
			value := map[resourcev1.QualifiedName]resource.Quantity{name: capacity.Value}
			quantity.Cap(value)
			capacity.Value = value[name]
			device.Capacity[name] = capacity
		}
	}
}

// mortal returns the identity of an object, and whether it is being deleted.
func mortal(m *metav1.ObjectMeta) metav1.ObjectMeta {
	kept := identity(m)
	kept.DeletionTimestamp = m.DeletionTimestamp
	return kept
}

// owned is mortal with the controller of the object.
func owned(m *metav1.ObjectMeta) metav1.ObjectMeta {
	kept := mortal(m)
	if controller := metav1.GetControllerOf(m); controller != nil {
		kept.OwnerReferences = []metav1.OwnerReference{*controller}
	}
	return kept
}

// identity returns the metadata that tell one object of a kind from another, and from its former states.
func identity(m *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: m.Name, Namespace: m.Namespace, UID: m.UID, ResourceVersion: m.ResourceVersion}
}

// trimMeta lists what is kept of the metadata of pods, nodes and volumes.
func trimMeta(m *metav1.ObjectMeta) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:              m.Name,
		Namespace:         m.Namespace,
		UID:               m.UID,
		ResourceVersion:   m.ResourceVersion,
		CreationTimestamp: m.CreationTimestamp,
		DeletionTimestamp: m.DeletionTimestamp,
		Labels:            m.Labels,
		Annotations:       m.Annotations,
		OwnerReferences:   m.OwnerReferences,
		ManagedFields:     m.ManagedFields,
	}
}

// trimManagers keeps who wrote the nominated node of a pod.
func trimManagers(managers []metav1.ManagedFieldsEntry) []metav1.ManagedFieldsEntry {
	for i := range managers {
		if m := &managers[i]; m.FieldsV1 != nil && bytes.Contains(m.FieldsV1.GetRawBytes(), []byte(`"f:nominatedNodeName":`)) {
			return []metav1.ManagedFieldsEntry{{
				Manager:  m.Manager,
				FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:nominatedNodeName":{}}}`),
			}}
		}
	}
	return nil
}

func trimPod(pod *corev1.Pod) {
	pod.ObjectMeta = trimMeta(&pod.ObjectMeta)
	spec, status := &pod.Spec, &pod.Status
	pod.Spec = corev1.PodSpec{
		Volumes:                       trimVolumes(spec.Volumes),
		InitContainers:                trimContainers(spec.InitContainers),
		Containers:                    trimContainers(spec.Containers),
		TerminationGracePeriodSeconds: spec.TerminationGracePeriodSeconds,
		ActiveDeadlineSeconds:         spec.ActiveDeadlineSeconds,
		NodeSelector:                  spec.NodeSelector,
		NodeName:                      spec.NodeName,
		HostNetwork:                   spec.HostNetwork,
		HostUsers:                     spec.HostUsers,
		Affinity:                      spec.Affinity,
		SchedulerName:                 spec.SchedulerName,
		Tolerations:                   spec.Tolerations,
		PriorityClassName:             spec.PriorityClassName,
		Priority:                      spec.Priority,
		PreemptionPolicy:              spec.PreemptionPolicy,
		Overhead:                      spec.Overhead,
		TopologySpreadConstraints:     spec.TopologySpreadConstraints,
		SchedulingGates:               spec.SchedulingGates,
		ResourceClaims:                spec.ResourceClaims,
		Resources:                     spec.Resources,
		SchedulingGroup:               spec.SchedulingGroup,
	}
	pod.Status = corev1.PodStatus{
		Phase:                 status.Phase,
		Conditions:            trimConditions(status.Conditions),
		NominatedNodeName:     status.NominatedNodeName,
		StartTime:             status.StartTime,
		InitContainerStatuses: trimContainerStatuses(status.InitContainerStatuses),
		ContainerStatuses:     trimContainerStatuses(status.ContainerStatuses),
		QOSClass:              status.QOSClass,
		AllocatedResources:    status.AllocatedResources,
		ResourceClaimStatuses: status.ResourceClaimStatuses,
		Resources:             status.Resources,
	}
	capRequirements(pod.Spec.Resources, pod.Status.Resources)
	quantity.Cap(pod.Spec.Overhead)
	quantity.Cap(pod.Status.AllocatedResources)
}

func capRequirements(all ...*corev1.ResourceRequirements) {
	for _, requirements := range all {
		if requirements != nil {
			quantity.Cap(requirements.Requests)
			quantity.Cap(requirements.Limits)
		}
	}
}

// trimVolumes keeps the volumes that can tie a pod to a node, make it prefer one
// or keep it from being moved. Most pods have none: the token of a service account is no such.
func trimVolumes(volumes []corev1.Volume) []corev1.Volume {
	var kept []corev1.Volume
	for i := range volumes {
		from := &volumes[i]
		source := corev1.VolumeSource{
			HostPath:              from.HostPath,
			EmptyDir:              from.EmptyDir,
			GCEPersistentDisk:     from.GCEPersistentDisk,
			AWSElasticBlockStore:  from.AWSElasticBlockStore,
			ISCSI:                 from.ISCSI,
			PersistentVolumeClaim: from.PersistentVolumeClaim,
			RBD:                   from.RBD,
			Cinder:                from.Cinder,
			VsphereVolume:         from.VsphereVolume,
			AzureDisk:             from.AzureDisk,
			PortworxVolume:        from.PortworxVolume,
			CSI:                   from.CSI,
			Ephemeral:             from.Ephemeral,
			Image:                 from.Image,
		}
		if source != (corev1.VolumeSource{}) {
			kept = append(kept, corev1.Volume{Name: from.Name, VolumeSource: source})
		}
	}
	return kept
}

func trimContainers(containers []corev1.Container) []corev1.Container {
	for i := range containers {
		c := &containers[i]
		capRequirements(&c.Resources)
		*c = corev1.Container{
			Name:               c.Name,
			Image:              c.Image,
			Ports:              c.Ports,
			Resources:          c.Resources,
			ResizePolicy:       c.ResizePolicy,
			RestartPolicy:      c.RestartPolicy,
			RestartPolicyRules: c.RestartPolicyRules,
		}
	}
	return containers
}

// trimContainerStatuses keeps what a resize in progress is read from: the
// requests that were allocated and actuated. Without those a status says
// nothing to muster.
func trimContainerStatuses(statuses []corev1.ContainerStatus) []corev1.ContainerStatus {
	var kept []corev1.ContainerStatus
	for i := range statuses {
		s := &statuses[i]
		if s.Resources == nil && s.AllocatedResources == nil {
			continue
		}
		next := corev1.ContainerStatus{Name: s.Name, AllocatedResources: s.AllocatedResources}
		if s.Resources != nil {
			next.Resources = &corev1.ResourceRequirements{Requests: s.Resources.Requests}
			quantity.Cap(s.Resources.Requests)
		}
		quantity.Cap(s.AllocatedResources)
		kept = append(kept, next)
	}
	return kept
}

// trimConditions leaves out the messages: that of a pending pod is long and
// new with every attempt to schedule it.
func trimConditions(conditions []corev1.PodCondition) []corev1.PodCondition {
	for i := range conditions {
		c := &conditions[i]
		*c = corev1.PodCondition{Type: c.Type, Status: c.Status, Reason: c.Reason, LastTransitionTime: c.LastTransitionTime}
	}
	return conditions
}

func trimNode(node *corev1.Node) {
	node.ObjectMeta = trimMeta(&node.ObjectMeta)
	node.Spec = corev1.NodeSpec{
		ProviderID:    node.Spec.ProviderID,
		Unschedulable: node.Spec.Unschedulable,
		Taints:        node.Spec.Taints,
	}
	for i := range node.Status.Conditions {
		node.Status.Conditions[i].LastHeartbeatTime = metav1.Time{}
	}
	node.Status = corev1.NodeStatus{
		Capacity:         node.Status.Capacity,
		Allocatable:      node.Status.Allocatable,
		Conditions:       node.Status.Conditions,
		Images:           node.Status.Images,
		DeclaredFeatures: node.Status.DeclaredFeatures,
	}
	quantity.Cap(node.Status.Capacity)
	quantity.Cap(node.Status.Allocatable)
}

func trimPersistentVolume(volume *corev1.PersistentVolume) {
	volume.ObjectMeta = trimMeta(&volume.ObjectMeta)
	spec := &volume.Spec
	volume.Spec = corev1.PersistentVolumeSpec{
		Capacity:                  spec.Capacity,
		PersistentVolumeSource:    spec.PersistentVolumeSource,
		AccessModes:               spec.AccessModes,
		ClaimRef:                  spec.ClaimRef,
		StorageClassName:          spec.StorageClassName,
		VolumeMode:                spec.VolumeMode,
		NodeAffinity:              spec.NodeAffinity,
		VolumeAttributesClassName: spec.VolumeAttributesClassName,
	}
	volume.Status = corev1.PersistentVolumeStatus{Phase: volume.Status.Phase}
	quantity.Cap(volume.Spec.Capacity)
}

//go:build kubernetes136

package cluster

import (
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// DeviceTaintRule stands for what the API of Kubernetes 1.36 lacks, where tests compile with that: none is read.
type DeviceTaintRule struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	Spec   DeviceTaintRuleSpec
	Status struct{}
}

// DeviceTaintRuleSpec says which devices, and how.
type DeviceTaintRuleSpec struct {
	DeviceSelector *DeviceTaintSelector
	Taint          resourcev1.DeviceTaint
}

// DeviceTaintSelector selects the devices that match all fields it sets.
type DeviceTaintSelector struct{ Driver, Pool, Device *string }

// DeepCopyObject implements runtime.Object.
func (r *DeviceTaintRule) DeepCopyObject() runtime.Object {
	next := *r
	r.ObjectMeta.DeepCopyInto(&next.ObjectMeta)
	return &next
}

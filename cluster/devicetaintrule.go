//go:build !kubernetes136

package cluster

import resourcev1 "k8s.io/api/resource/v1"

// DeviceTaintRule taints devices beside what their ResourceSlices say. The API of Kubernetes has it since 1.37.
type DeviceTaintRule = resourcev1.DeviceTaintRule

// DeviceTaintRuleSpec says which devices, and how.
type DeviceTaintRuleSpec = resourcev1.DeviceTaintRuleSpec

// DeviceTaintSelector selects the devices that match all fields it sets.
type DeviceTaintSelector = resourcev1.DeviceTaintSelector

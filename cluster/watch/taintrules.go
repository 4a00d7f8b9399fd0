//go:build !kubernetes136

package watch

import (
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/cluster"
)

func taintRuleSources(client kubernetes.Interface) []source {
	return []source{{
		resource: "devicetaintrules", example: &cluster.DeviceTaintRule{}, optional: true,
		calls: listWatch(client.ResourceV1().DeviceTaintRules(), ""),
	}}
}

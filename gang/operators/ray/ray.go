// Package ray has the head of a RayCluster start with its workers. RayJobs and RayServices make RayClusters.
package ray

import (
	"cmp"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/operators"
)

const (
	labelGroup = "ray.io/group"
	head       = "headgroup" // its value for the head
)

// Kind returns RayClusters.
func Kind() operators.Kind {
	return operators.Kind{
		Name: config.GangKindRayCluster,
		Owners: []operators.Resource{{
			GroupVersionResource: schema.GroupVersionResource{Group: "ray.io", Version: "v1", Resource: "rayclusters"}, Kind: "RayCluster",
		}},
		Asks:  asks,
		Place: func(pod *corev1.Pod) (instance, role string) { return "", pod.Labels[labelGroup] },
		Dress: dress,
	}
}

// asks counts the replicas of each group of workers. With autoscaling those are the autoscaler's, and there must be
// minReplicas.
func asks(ray operators.Object) cluster.Asks {
	asks := cluster.Asks{Roles: []cluster.Role{{Name: head, Min: 1, All: 1}}}
	scales := ray.True("spec", "enableInTreeAutoscaling")
	for _, group := range ray.Items("spec", "workerGroupSpecs") {
		hosts := group.Number(1, "numOfHosts")
		least := group.Number(0, "minReplicas")
		wanted := max(group.Number(least, "replicas"), least)
		if !scales {
			least = wanted
		}
		if group.True("suspend") {
			least, wanted = 0, 0
		}
		asks.Roles = append(asks.Roles, cluster.Role{
			Name: group.Text("groupName"), Min: operators.Times(least, hosts), All: operators.Times(wanted, hosts),
		})
	}
	return asks
}

// dress returns the labels of a pod of a group of workers, or of the head.
func dress(_ operators.Object, of *operators.Template, _ int32) map[string]string {
	group := of.Above[len(of.Above)-1]
	return map[string]string{labelGroup: cmp.Or(group.Text("groupName"), head)}
}

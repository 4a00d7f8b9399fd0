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
	group      = "ray.io"
	owner      = "RayCluster"
	labelGroup = "ray.io/group"
	head       = "headgroup" // its value for the head
)

// Kind returns RayClusters.
func Kind() operators.Kind {
	return operators.Kind{
		Name: config.GangKindRayCluster,
		Owners: []operators.Resource{{
			GroupVersionResource: schema.GroupVersionResource{Group: group, Version: "v1", Resource: "rayclusters"}, Kind: owner,
		}},
		Asks:  asks,
		Place: func(pod *corev1.Pod) (instance, role string) { return "", pod.Labels[labelGroup] },
		Dress: dress, Copies: copies,
		Makers: map[schema.GroupKind]func(operators.Object) operators.Object{
			{Group: group, Kind: "RayJob"}:     made("rayClusterSpec"),
			{Group: group, Kind: "RayService"}: made("rayClusterConfig"),
		},
	}
}

// made returns a maker of RayClusters that has the spec of one in a field of its own spec.
func made(field string) func(operators.Object) operators.Object {
	return func(maker operators.Object) operators.Object {
		return operators.Object{
			"apiVersion": maker["apiVersion"], "kind": owner, "metadata": maker["metadata"], "spec": maker.Object("spec")[field],
		}
	}
}

// asks counts the replicas of each group of workers. With autoscaling those are the autoscaler's, and there must be
// minReplicas.
func asks(ray operators.Object) cluster.Asks {
	asks := cluster.Asks{Roles: []cluster.Role{{Name: head, Min: 1, All: 1}}}
	scales := ray.True("spec", "enableInTreeAutoscaling")
	for _, workers := range ray.Items("spec", "workerGroupSpecs") {
		hosts, wanted := workers.Number(1, "numOfHosts"), wanted(workers)
		least := wanted
		if scales {
			least = min(wanted, workers.Number(0, "minReplicas"))
		}
		asks.Roles = append(asks.Roles, cluster.Role{
			Name: workers.Text("groupName"), Min: operators.Times(least, hosts), All: operators.Times(wanted, hosts),
		})
	}
	return asks
}

// wanted returns how many replicas of a group of workers there are to be: the number that it says, and at least minReplicas.
func wanted(workers operators.Object) int32 {
	if workers.True("suspend") {
		return 0
	}
	least := workers.Number(0, "minReplicas")
	return max(workers.Number(least, "replicas"), least)
}

// copies counts the pods of a group of workers.
func copies(part operators.Object, field string) int32 {
	if !part.Has("groupName") {
		return operators.Copies(part, field)
	}
	return operators.Times(wanted(part), part.Number(1, "numOfHosts"))
}

// dress returns the labels of a pod of a group of workers, or of the head.
func dress(_ operators.Object, of *operators.Template, _ int32) map[string]string {
	return map[string]string{labelGroup: cmp.Or(of.Above[len(of.Above)-1].Text("groupName"), head)}
}

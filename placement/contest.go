package placement

import (
	"math"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/api/quantity"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// The room must be slack times what members and rivals could take, with room for spare more members. The
// surplus is for pods that are created while the members are being bound: nothing is shown of these.
const (
	slack = 2
	spare = 16
)

// Contested reports whether pods that wait, the rivals, might take so much room that too little is left for pods that
// the plan has placed, wherever kube-scheduler puts any of them. It is false only where that is shown:
//
//   - kube-scheduler decides as the profile does, so that it does not matter which of its nodes a pod gets;
//   - the pods are alike, and only a node's properties and its free room decide about them;
//   - the nodes have room, twice over, for the pods and all that the rivals could keep out, and for at least 16
//     more.
//
// A rival keeps out at most its largest request divided by the request of one of the pods.
func (p *Plan) Contested(pods, rivals []*cluster.Pod) bool {
	if len(pods) == 0 {
		return false
	}
	one := pods[0]
	kind := p.kinds.of(one)
	if !p.store.Profile.Mirrors || !isSimple(one) {
		return true
	}
	own := sets.New[types.UID]()
	for _, pod := range pods {
		if p.kinds.of(pod) != kind {
			return true
		}
		own.Insert(pod.UID)
	}
	need := len(pods)
	for _, rival := range rivals {
		if rival.Affinity != nil { // it might keep them off nodes where there is room
			return true
		}
		need += units(&rival.Requests, &one.Requests)
	}
	need = max(slack*need, need+spare)
	trial := p.batch(one).trial
	for node := range p.Snapshot().Nodes() {
		if need -= p.roomOn(node.Index, trial, own, one); need <= 0 {
			return false
		}
	}
	return true
}

// roomOn returns how many pods like one would have room on a node without the pods of the plan.
func (p *Plan) roomOn(index int32, trial *predicates.Trial, own sets.Set[types.UID], one *cluster.Pod) int {
	node, here := p.Node(index), 0
	for _, pod := range node.Pods {
		if own.Has(pod.UID) {
			here++
		}
	}
	if here == 0 && trial.Verdict(index) != predicates.Fits {
		return 0
	}
	return here + free(node, &one.Requests)
}

// isSimple reports whether only a node's properties and its free room decide about a pod.
func isSimple(pod *cluster.Pod) bool {
	if pod.Affinity != nil || len(pod.Spec.TopologySpreadConstraints) > 0 || len(pod.HostPorts) > 0 || len(pod.Spec.ResourceClaims) > 0 {
		return false
	}
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.ConfigMap == nil && v.Secret == nil && v.EmptyDir == nil && v.Projected == nil && v.DownwardAPI == nil && v.HostPath == nil {
			return false // disks keep others off, or are bound to places
		}
	}
	return true
}

// free returns how many more times a node has what a pod asks for.
func free(node *cluster.Node, request *cluster.Resources) int {
	times := node.Allocatable.Pods - int64(len(node.Pods))
	each := func(allocatable, requested, asked int64) {
		if asked > 0 {
			times = min(times, (allocatable-requested)/asked)
		}
	}
	has, taken := &node.Allocatable, &node.Requested
	each(has.MilliCPU, taken.MilliCPU, request.MilliCPU)
	each(has.Memory, taken.Memory, request.Memory)
	each(has.EphemeralStorage, taken.EphemeralStorage, request.EphemeralStorage)
	for _, s := range request.Scalars {
		each(has.Scalar(s.Name), taken.Scalar(s.Name), s.Amount)
	}
	return int(max(times, 0))
}

// units returns how many pods of a request another one could keep off a node.
func units(rival, request *cluster.Resources) int {
	most := int64(1) // it takes the place of one pod
	each := func(takes, asked int64) {
		if asked > 0 {
			most = max(most, quantity.Sum(takes/asked, 1))
		}
	}
	each(rival.MilliCPU, request.MilliCPU)
	each(rival.Memory, request.Memory)
	each(rival.EphemeralStorage, request.EphemeralStorage)
	for _, s := range request.Scalars {
		each(rival.Scalar(s.Name), s.Amount)
	}
	return int(min(most, math.MaxInt32))
}

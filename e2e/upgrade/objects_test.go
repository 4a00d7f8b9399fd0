package upgrade

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/e2e/workload"
)

const (
	coresOfNode = "8"
	// pool is a label of nodes that pods may ask for.
	pool = "example.com/pool"
)

// newNode is a node of a pool, "" for none.
func newNode(name, of string) *corev1.Node {
	return workload.NewNode(name, coresOfNode, workload.NodeLabelled(pool, of), workload.ForKWOK)
}

// forNoPool has a pod take a node of no pool.
func forNoPool(pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{pool: ""} }

// newPod is a pod for the nodes of no pool.
func newPod(name, cpu string) *corev1.Pod { return workload.NewPod(name, cpu, forNoPool) }

// newMember is a pod of a gang.
func newMember(gang string, number int, cpu string) *corev1.Pod {
	return workload.NewPod(fmt.Sprintf("%s-%d", gang, number), cpu, forNoPool, workload.InGang(gang))
}

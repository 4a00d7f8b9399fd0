package main

import (
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/e2e/workload"
)

const (
	podsPerNode = 10
	replicas    = 100
)

// input is a cluster of Deployments with a hundred pods each, placed as a scheduler
// would: every other Deployment keeps its pods apart, and so they are.
type input struct {
	nodes  []*corev1.Node
	byZone [][]*corev1.Node // those without taints
	placed []*corev1.Pod
	// pending is one more pod of a Deployment that keeps its pods apart.
	pending *corev1.Pod
}

func newInput(nodes int) *input {
	in := &input{nodes: workload.Generate(workload.Shape{Nodes: nodes, Seed: 1}).Nodes}
	zones := map[string]int{}
	for _, node := range in.nodes {
		if len(node.Spec.Taints) > 0 {
			continue
		}
		name := node.Labels[corev1.LabelTopologyZone]
		zone, known := zones[name]
		if !known {
			zone = len(in.byZone)
			zones[name], in.byZone = zone, append(in.byZone, nil)
		}
		in.byZone[zone] = append(in.byZone[zone], node)
	}
	deployments := nodes * podsPerNode / replicas
	in.placed = workload.Backlog(nodes*podsPerNode, deployments)
	for i, pod := range in.placed {
		deployment, replica := i%deployments, i/deployments
		if deployment%2 == 0 {
			workload.KeepApart(pod)
		}
		place(pod, in.nodeFor(deployment, replica))
	}
	in.pending = in.one(0, "pending")
	return in
}

// nodeFor deals the replicas of a Deployment out to the zones in turn, and within a zone to the
// nodes after the Deployment before.
func (in *input) nodeFor(deployment, replica int) *corev1.Node {
	zones := len(in.byZone)
	zone := in.byZone[replica%zones]
	perZone := (replicas + zones - 1) / zones
	return zone[(deployment*perZone+replica/zones)%len(zone)]
}

// constrains is an error when the constraints of the pending pod decide nothing: fits are
// the nodes that it fits, by place. Its Deployment has one replica more in the first zone
// than in the others.
func (in *input) constrains(fits []bool) error {
	full := in.byZone[0][0].Labels[corev1.LabelTopologyZone]
	taken := in.nodeFor(0, 1).Name
	for i, node := range in.nodes {
		switch {
		case fits[i] && node.Labels[corev1.LabelTopologyZone] == full:
			return fmt.Errorf("a pod fits node %s in spite of its spread constraint", node.Name)
		case fits[i] && node.Name == taken:
			return fmt.Errorf("a pod fits node %s in spite of its anti-affinity", node.Name)
		}
	}
	if !slices.Contains(fits, true) {
		return errors.New("a pod fits no node")
	}
	return nil
}

// one is one more pod of a Deployment, without a node.
func (in *input) one(deployment int, name string) *corev1.Pod {
	pod := in.placed[deployment].DeepCopy()
	pod.Name, pod.UID, pod.Spec.NodeName = name, types.UID("uid-of-"+name), ""
	pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
	return pod
}

func place(pod *corev1.Pod, on *corev1.Node) {
	pod.UID = types.UID("uid-of-" + pod.Name)
	pod.ResourceVersion = "1"
	pod.Spec.NodeName = on.Name
	pod.Status.Phase = corev1.PodRunning
}

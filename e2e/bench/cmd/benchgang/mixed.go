package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/e2e/workload"
)

const (
	// mixedGangs is how many mixed gangs there are, and nodesOfMixed how many nodes each has for itself.
	mixedGangs   = 30
	nodesOfMixed = 3
	coresOfMixed = 8
	// pool is the label of the nodes of a gang.
	pool = "example.com/pool"
	zone = corev1.LabelTopologyZone
)

// mixedNodes are the nodes of mixed gangs: two of each in one zone, and the third in another.
func mixedNodes() (nodes []*corev1.Node) {
	for gang := range mixedGangs {
		for i := range nodesOfMixed {
			nodes = append(nodes, workload.NewNode(fmt.Sprintf("pool-%02d-%d", gang, i), fmt.Sprint(coresOfMixed), func(n *corev1.Node) {
				n.Labels[corev1.LabelHostname], n.Labels[pool] = n.Name, fmt.Sprint(gang)
				n.Labels[zone] = fmt.Sprintf("%02d-%d", gang, i/2)
			}))
		}
	}
	return nodes
}

// mixedPods are the pods of gangs of several shapes. There is room for each gang. The pods of a third have to be in one zone,
// and need more than the smaller zone has. A sixth are trees of two groups: one takes a node for each of two pods, the other
// starts with one pod of one core, comes first, and has more pods than there is room for. The others have pods of 1 to 5 cores,
// in any order, that fill their nodes except one core.
func mixedPods(count int) (pods []*corev1.Pod) {
	random := rand.New(rand.NewPCG(seed, 0)) // the same gangs each time
	for gang := range count {
		name, of := fmt.Sprintf("mixed-%02d", gang), map[string]string{pool: fmt.Sprint(gang)}
		var cores []int
		switch {
		case gang%6 == 1:
			pods = append(pods, treeOf(name, of)...)
		case gang%3 == 2:
			for range coresOfMixed + 1 + random.IntN(coresOfMixed) {
				cores = append(cores, 1)
			}
		default:
			for node := range nodesOfMixed {
				for left := coresOfMixed - node/2; left > 0; left -= cores[len(cores)-1] {
					cores = append(cores, min(left, 1+random.IntN(5)))
				}
			}
			random.Shuffle(len(cores), func(i, j int) { cores[i], cores[j] = cores[j], cores[i] })
		}
		for i, asks := range cores {
			pods = append(pods, workload.NewPod(fmt.Sprintf("%s-%02d", name, i), fmt.Sprint(asks), func(p *corev1.Pod) {
				p.Labels["app"], p.Spec.NodeSelector = name, of
				if gang%3 == 2 {
					p.Spec.Affinity = &corev1.Affinity{PodAffinity: &corev1.PodAffinity{
						RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{{
							LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": name}}, TopologyKey: zone,
						}},
					}}
				}
			}))
		}
	}
	return pods
}

// treeOf are the pods of a tree.
func treeOf(name string, nodes map[string]string) (pods []*corev1.Pod) {
	for i := range nodesOfMixed * coresOfMixed {
		group, cores := name+"-a", "1"
		if i >= nodesOfMixed*coresOfMixed-2 {
			group, cores = name+"-b", fmt.Sprint(coresOfMixed)
		}
		pods = append(pods, workload.NewPod(fmt.Sprintf("%s-%02d", group, i), cores, func(p *corev1.Pod) {
			p.Labels["app"], p.Labels[partOf], p.Spec.NodeSelector = group, name, nodes
			if cores == "1" && i > 0 {
				p.Labels[extra] = "true"
			}
		}))
	}
	return pods
}

// placeMixed creates the gangs and counts how many are whole when they have had their time.
func placeMixed(ctx context.Context, r *cellRun) (came measurement, err error) {
	began, err := r.createPods(ctx)
	if err != nil {
		return came, err
	}
	err = r.await(ctx, func() bool { return len(r.witness.started()) == r.gangs.count || time.Since(began) >= r.wait })
	whole := r.witness.started()
	came.whole, came.took = len(whole), max(latest(whole).Sub(began), 0)
	return came, err
}

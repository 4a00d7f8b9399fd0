package gangfaults

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/e2e/fit"
)

// unsettled says what has to change yet: gangs that could start and have not, or are bound in
// part without a word about why, and pods of no gang for which there is room.
func (s *state) unsettled() (because []string) {
	var nodes []*corev1.Node
	for _, name := range slices.Sorted(maps.Keys(s.nodes)) {
		nodes = append(nodes, s.nodes[name])
	}
	var pods []*corev1.Pod
	for _, uid := range slices.Sorted(maps.Keys(s.pods)) {
		pod := s.pods[uid]
		pods = append(pods, pod)
		if pod.DeletionTimestamp != nil {
			because = append(because, fmt.Sprintf("pod %s is being deleted", pod.Name))
		}
	}
	gangs := s.gangs()
	for key, g := range gangs {
		if fits := s.fitting(nodes, pods, gangs, key); fits > 0 {
			because = append(
				because,
				fmt.Sprintf(
					"gang %s has %d of %d members bound, and %d of %d others fit%s", key.name, g.got(), g.minMember, fits, len(g.pending),
					words(g.pending),
				),
			)
			continue
		}
		if g.partial() && g.reason == "" {
			because = append(
				because, fmt.Sprintf("gang %s has %d of %d members bound without a word about why", key.name, g.got(), g.minMember),
			)
		}
	}
	for _, place := range fit.Places(nodes, pods) {
		if key := keyOf(place.Pod); key.name == "" && !unbindable(place.Pod) {
			because = append(because, fmt.Sprintf("pod %s fits on node %s%s", place.Pod.Name, place.Node, words([]*corev1.Pod{place.Pod})))
		}
	}
	slices.Sort(because)
	return because
}

// fitting is for how many members of a gang, and of those that start together with it, there is room, so that
// it could start; 0 when it could not. All members of a bundle are alike. Those that the scheduler refuses by
// itself may have places as well.
func (s *state) fitting(nodes []*corev1.Node, pods []*corev1.Pod, gangs map[groupKey]standing, key groupKey) int {
	parts := []standing{gangs[key]}
	for _, name := range gangs[key].with {
		if name != key.name {
			parts = append(parts, gangs[groupKey{key.label, name}])
		}
	}
	missing := 0
	var all []*corev1.Pod
	for _, g := range parts {
		lacks, usable := g.lacks(), g.usable()
		if g.minMember == 0 || len(usable) < lacks || !hasFree(nodes, pods, g) {
			return 0
		}
		missing += lacks + len(g.pending) - len(usable)
		all = append(all, g.pending...)
	}
	if fits := fit.Together(nodes, pods, all); fits >= max(missing, 1) && len(gangs[key].usable()) > 0 {
		return fits
	}
	return 0
}

// hasFree says that all nodes together have free what minResources of a gang ask for, beside what its own
// members take.
func hasFree(nodes []*corev1.Node, pods []*corev1.Pod, g standing) bool {
	if g.asks == 0 {
		return true
	}
	free := map[string]int64{}
	for _, node := range nodes {
		free[node.Name] = node.Status.Allocatable.Cpu().MilliValue()
	}
	own := int64(0)
	for _, pod := range pods {
		if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		for _, c := range pod.Spec.Containers {
			if _, is := free[pod.Spec.NodeName]; is {
				free[pod.Spec.NodeName] -= c.Resources.Requests.Cpu().MilliValue()
			}
		}
	}
	for _, pod := range g.pending[:min(1, len(g.pending))] {
		own = int64(g.bound) * pod.Spec.Containers[0].Resources.Requests.Cpu().MilliValue()
	}
	for _, left := range free {
		own += max(left, 0)
	}
	return own >= g.asks
}

// words are what pending pods say of themselves.
func words(pods []*corev1.Pod) string {
	var text strings.Builder
	for _, pod := range pods {
		for _, gate := range pod.Spec.SchedulingGates {
			fmt.Fprintf(&text, "; %s has gate %s", pod.Name, gate.Name)
		}
		if node := pod.Status.NominatedNodeName; node != "" {
			fmt.Fprintf(&text, "; %s is nominated to %s", pod.Name, node)
		}
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodScheduled {
				fmt.Fprintf(&text, "; %s: %s", pod.Name, c.Message)
			}
		}
	}
	return text.String()
}

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
	for key, g := range s.gangs() {
		missing := max(g.minMember-g.bound-g.succeeded, 1)
		if fits := fit.Together(nodes, pods, g.pending); g.minMember > 0 && fits >= missing {
			because = append(
				because,
				fmt.Sprintf(
					"gang %s has %d of %d members bound, and %d of %d others fit%s", key.name, g.bound+g.succeeded, g.minMember, fits, len(g.pending),
					words(g.pending),
				),
			)
			continue
		}
		if g.partial() && g.reason == "" {
			because = append(
				because, fmt.Sprintf("gang %s has %d of %d members bound without a word about why", key.name, g.bound+g.succeeded, g.minMember),
			)
		}
	}
	for _, place := range fit.Places(nodes, pods) {
		if key := keyOf(place.Pod); key.name == "" {
			because = append(because, fmt.Sprintf("pod %s fits on node %s%s", place.Pod.Name, place.Node, words([]*corev1.Pod{place.Pod})))
		}
	}
	slices.Sort(because)
	return because
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

package gangfaults

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

// standing is how a gang stands.
type standing struct {
	minMember int // 0 when nothing says it
	bound     int // and neither finished nor being deleted
	running   int // of those
	going     int // are being deleted
	succeeded int // in the present life of the PodGroup
	failed    int
	// older is how many of the succeeded were created before the PodGroup. They count if they were there for a start
	// that it records, which is not known here.
	older   int
	pending []*corev1.Pod // that may be scheduled
	reason  string        // that it waits for
	match   v1alpha1.MatchPolicy
	with    []string // the names of groups that it starts together with
	once    bool     // it has been whole
	asks    int64    // minResources, in thousandths of a core
}

// standing of a gang, with nil pods for one that has none.
func (s *state) standing(key groupKey) standing {
	g := standing{once: s.once[key]}
	group, exists := s.groups[key]
	if exists {
		g.minMember, g.reason, g.asks = group.minMember, group.reason, group.milliCPU
		g.hear(group.says)
	}
	for _, name := range slices.Sorted(maps.Keys(s.pods)) {
		pod := s.pods[name]
		if keyOf(pod) != key {
			continue
		}
		if text, says := pod.Annotations[v1alpha1.AnnotationMinMember]; says && !exists {
			g.minMember, _ = strconv.Atoi(text)
			g.hear(pod.Annotations)
		}
		if pod.Status.Phase == corev1.PodSucceeded {
			g.succeed(s, pod, group, exists)
			continue
		}
		g.count(pod)
	}
	if !exists {
		g.reason = s.reasonOf(g.pending)
	}
	return g
}

// reasonOf is why a group without an object waits, as members were told.
func (s *state) reasonOf(pending []*corev1.Pod) string {
	if len(pending) == 0 {
		return "nobody waits who could be told"
	}
	for _, pod := range pending {
		if reason := s.told[pod.UID]; reason != "" {
			return reason
		}
	}
	return ""
}

// count counts a pod that has not succeeded.
func (g *standing) count(pod *corev1.Pod) {
	switch {
	case pod.Status.Phase == corev1.PodFailed:
		g.failed++
	case pod.DeletionTimestamp != nil:
		g.going++
	case pod.Spec.NodeName != "":
		if g.bound++; pod.Status.Phase == corev1.PodRunning {
			g.running++
		}
	default:
		g.pending = append(g.pending, pod)
	}
}

// succeed counts a pod that has succeeded, unless it had before there was the PodGroup.
func (g *standing) succeed(s *state, pod *corev1.Pod, group podGroup, exists bool) {
	if exists && s.isFormer(pod, group) {
		return
	}
	g.succeeded++
	if exists && pod.CreationTimestamp.Time.Before(group.created) {
		g.older++
	}
}

// isFormer says that a pod has succeeded before there was the PodGroup.
func (s *state) isFormer(pod *corev1.Pod, group podGroup) bool {
	ended, has := s.ended[pod.UID]
	return has && ended < group.since
}

// hear reads how a group says that it is to start.
func (g *standing) hear(says map[string]string) {
	g.match, g.with = v1alpha1.MatchPolicy(says[v1alpha1.AnnotationMatchPolicy]), nil
	for _, key := range []string{v1alpha1.AnnotationGroups, v1alpha1.AnnotationKoordinatorGroups} {
		var names []string
		if json.Unmarshal([]byte(says[key]), &names) != nil {
			continue
		}
		for _, name := range names {
			_, name, _ = strings.Cut(name, "/")
			g.with = append(g.with, name)
		}
	}
}

// got is how many count towards minMember.
func (g standing) got() int { return g.bound + g.succeeded }

// satisfied says that members may start one by one, whatever became of the others.
func (g standing) satisfied() bool { return g.match == v1alpha1.MatchOnceSatisfied && g.once }

// partial says that some members are bound or have been, and fewer than must start together.
func (g standing) partial() bool {
	return g.got()-g.older > 0 && g.got() < g.minMember && !g.satisfied()
}

// whole says that as many as must start together are bound, or have been.
func (g standing) whole() bool { return g.minMember > 0 && g.got() >= g.minMember }

// lacks is how many members have to start together yet, at most.
func (g standing) lacks() int {
	if g.match == v1alpha1.MatchOnlyWaiting {
		return g.minMember // a batch of its own
	}
	return max(g.minMember-g.got()+g.older, 0)
}

// usable are the members that the scheduler does not refuse by itself.
func (g standing) usable() []*corev1.Pod {
	return slices.DeleteFunc(slices.Clone(g.pending), unbindable)
}

package gangfaults

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/fit"
	"muster.dev/muster/e2e/workload"
)

// unsettled says what has to change yet: gangs that could start and have not, or are bound in part
// without a word about why, and pods of no gang that there is room for.
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

// fitting returns the number of members of a gang, and of gangs that start together with it, that have room, if
// the gang could start; 0 when it could not. All members of a bundle are alike. Members that the scheduler
// refuses by itself may have places as well.
func (s *state) fitting(nodes []*corev1.Node, pods []*corev1.Pod, gangs map[groupKey]standing, key groupKey) int {
	if gangs[key].tree != "" {
		return s.fittingInTree(nodes, pods, gangs, key)
	}
	if gangs[key].near.asks() {
		return s.fittingNear(nodes, pods, key, gangs[key])
	}
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

// groupStatus is the status of a PodGroup.
type groupStatus struct {
	phase                                 string
	scheduled, running, succeeded, failed int
	condition                             condition
}

// condition is the one of type Scheduled.
type condition struct {
	status          metav1.ConditionStatus
	reason, message string
}

func readStatus(object *unstructured.Unstructured) groupStatus {
	var s groupStatus
	s.phase, _, _ = unstructured.NestedString(object.Object, "status", "phase")
	for name, into := range map[string]*int{
		"scheduled": &s.scheduled, "running": &s.running, "succeeded": &s.succeeded, "failed": &s.failed,
	} {
		count, _, _ := unstructured.NestedInt64(object.Object, "status", name)
		*into = int(count)
	}
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, c := range conditions {
		fields, _ := c.(map[string]any)
		if fields["type"] != "Scheduled" {
			continue
		}
		text := func(key string) string { value, _ := fields[key].(string); return value }
		s.condition = condition{metav1.ConditionStatus(text("status")), text("reason"), text("message")}
	}
	return s
}

// lies are what the status of PodGroups says that is not so.
func (s *state) lies() (lies []string) {
	for key, group := range s.groups {
		if key.label == native {
			continue // muster writes none
		}
		if why := group.status.lie(group.minMember, s.standing(key)); why != "" {
			lies = append(lies, fmt.Sprintf("the status of PodGroup %s: %s", key.name, why))
		}
	}
	slices.Sort(lies)
	return lies
}

// lie returns a false statement of the status about a gang, "" when it is true. While pods are being deleted,
// and of pods that may be of a former life, it is not known what it is to say. What a group that has finished
// says may stay when its pods are gone.
func (s groupStatus) lie(minMember int, g standing) string {
	if g.going > 0 || g.older > 0 || s.phase == "Finished" && g.bound+len(g.pending) == 0 {
		return ""
	}
	is := groupStatus{scheduled: g.got(), running: g.running, succeeded: g.succeeded, failed: g.failed}
	says := groupStatus{scheduled: s.scheduled, running: s.running, succeeded: s.succeeded, failed: s.failed}
	if is != says {
		return fmt.Sprintf("it counts %+v, and there are %+v", says, is)
	}
	started := g.got() >= minMember
	switch c := s.condition; {
	case started && (c.status != metav1.ConditionTrue || c.reason != "Scheduled"):
		return fmt.Sprintf("all have places, and the condition is %s, because of %s: %s", c.status, c.reason, c.message)
	case !started && (c.status != metav1.ConditionFalse || c.reason == "" || c.message == ""):
		return fmt.Sprintf("members have no places, and the condition is %s, because of %s: %s", c.status, c.reason, c.message)
	}
	if phases := phasesOf(minMember, g); !slices.Contains(phases, s.phase) {
		return fmt.Sprintf("the phase is %s, want one of %v", s.phase, phases)
	}
	return ""
}

// phasesOf are the phases that a gang may be in: of one without a bound member it is not known here whether some
// are held.
func phasesOf(minMember int, g standing) []string {
	done := g.running + g.succeeded
	switch {
	case g.got()+g.failed+len(g.pending) < minMember:
		return []string{"Pending"}
	case g.succeeded >= minMember:
		return []string{"Finished"}
	case g.failed > 0 && g.failed+done >= minMember:
		return []string{"Failed"}
	case done >= minMember:
		return []string{"Running"}
	case g.got() >= minMember:
		return []string{"Scheduled"}
	case g.got() > 0:
		return []string{"Scheduling"}
	default:
		return []string{"Scheduling", "PreScheduling"}
	}
}

const (
	// vigilLength is for how long gangs are looked at that cannot start, once all is calm.
	vigilLength = 20 * time.Second
	// vigilSlack is for how much longer than it may a gang may hold room then: looks are some time apart.
	vigilSlack = 2 * time.Second
	// mostWrites is how often muster may write something about a gang that waits, for each of its members, in a
	// vigil: each try wakes them, and a plan that is given up is told.
	mostWrites = 10
)

// vigil holds observations of gangs that cannot start while nothing else happened.
type vigil struct {
	from, to time.Time
	held     map[string]time.Duration // the time that a gang held room, by name
	writes   map[string]int
}

// keepVigil looks at the gangs that the scheduler keeps from starting, if there are any.
func (r *run) keepVigil(ctx context.Context) error {
	var waiting []*gang
	for _, g := range r.script.gangs {
		if g.hopeless() && !r.record.started(g) {
			waiting = append(waiting, g)
		}
	}
	if len(waiting) == 0 {
		return nil
	}
	r.Note("look at gangs that cannot start")
	v := vigil{from: time.Now(), held: map[string]time.Duration{}, writes: map[string]int{}}
	last := v.from
	for time.Since(v.from) < vigilLength {
		faultcampaign.Pause(ctx, 2*faultcampaign.Look)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		gangs, err := r.lane.Muster.Gangs(ctx)
		if err != nil {
			return err
		}
		now := time.Now()
		for _, g := range waiting {
			if is := gangs[workload.Namespace+"/"+g.name]; is.Placed+is.Held > 0 {
				v.held[g.name] += now.Sub(last)
			}
		}
		last = now
	}
	v.to = last
	for _, g := range waiting {
		v.writes[g.name] = r.traffic.writesSince(g.name, v.from)
		r.Note(fmt.Sprintf("gang %s has held room for %s of %s, and was written about %d times", g.name, v.held[g.name].Round(time.Millisecond),
			v.to.Sub(v.from).Round(time.Second), v.writes[g.name]))
	}
	r.vigil = v
	return nil
}

// started says that a gang is whole.
func (r *record) started(g *gang) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.now.standing(groupKey{g.label, g.name}).whole()
}

// mayHold is for how long a gang that does not start may hold room in a span: it tries for its time and rests for
// a first rest, twice as long each time. At worst it has just begun to try for the first time.
func mayHold(timeout, rest, span time.Duration) (held time.Duration) {
	for ; span > 0; rest *= 2 {
		held += min(timeout, span)
		span -= timeout + rest
	}
	return held
}

// judge holds what was seen against what a gang may hold, and how often it may be written about.
func (v *vigil) judge(gangs map[string]*gang) (findings []finding) {
	for name, writes := range v.writes {
		g, length := gangs[name], v.to.Sub(v.from)
		if limit := mayHold(g.timeout, deniedTTL, length) + vigilSlack; v.held[name] > limit {
			findings = append(findings, faultcampaign.Found(
				keptRoom, "gang %s cannot start, and holds room for %s of %s, want at most %s",
				name, v.held[name].Round(time.Millisecond), length.Round(time.Millisecond), limit,
			))
		}
		if writes > mostWrites*g.replicas {
			findings = append(findings, faultcampaign.Found(
				wroteMuch, "muster writes %d times about gang %s of %d members in %s", writes, name, g.replicas, length.Round(time.Second),
			))
		}
	}
	return findings
}

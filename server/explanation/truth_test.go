package explanation_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/planner"
	"muster.dev/muster/rescheduler/policy"
	"muster.dev/muster/server/explanation"
)

// nominated reports whether an objection is of pods that are nominated to a node.
func nominated(o predicates.Objection) bool { return o.Predicate == "nominated pods" }

// askable returns the nodes that kube-scheduler asks muster about for a pod: it leaves room to pods that are nominated, and does
// not know of plans.
func askable(e *explanation.Pod) (nodes []string) {
	for i := range e.Nodes {
		if e.Nodes[i].Yields || !slices.ContainsFunc(e.Nodes[i].Against, nominated) {
			nodes = append(nodes, e.Nodes[i].Node)
		}
	}
	return nodes
}

// tryPod has kube-scheduler ask about a pod of no gang.
func (c *checker) tryPod(pod *corev1.Pod) {
	l := c.lab(asked)
	e := l.explain(l.pods[pod.UID])
	if len(e.First) > 0 {
		return // others go first
	}
	offered, failed := l.filter(l.pods[pod.UID], askable(e)...)
	if (len(offered) > 0) != (e.Room.Fit+e.Room.Yield > 0) {
		c.untrue("%s fits on %+v, and is offered %v", pod.Name, e.Room, offered)
	}
	for i := range e.Nodes {
		node := &e.Nodes[i]
		beside := slices.ContainsFunc(node.Against, nominated) // as far as kube-scheduler knows, there is room
		if slices.Contains(offered, node.Node) && !node.Fits && (!node.Yields || e.Room.Fit > 0 && !beside) {
			c.untrue("%s does not fit on %s, and is offered it: %v", pod.Name, node.Node, node.Against)
		}
		reason, refused := failed[node.Node]
		if refused && !slices.ContainsFunc(node.Against, func(o predicates.Objection) bool { return o.Reason == reason }) {
			c.untrue("%s is refused on %s for %q, and explained by %v", pod.Name, node.Node, reason, node.Against)
		}
	}
}

// tryGap gives a node what it lacks for a pod, and a little less.
func (c *checker) tryGap(pod *corev1.Pod, gap *explanation.Gap) {
	if gap == nil {
		return
	}
	for _, less := range []bool{false, true} {
		l := c.lab(asked)
		node := l.cluster.Snapshot().NodeByName(gap.Node).DeepCopy()
		for name, lacks := range gap.Lacks {
			offered := node.Status.Allocatable[name]
			offered.Add(lacks)
			switch {
			case less && name == corev1.ResourceCPU:
				offered.Sub(resource.MustParse("1m"))
			case less:
				offered.Sub(resource.MustParse("1"))
			}
			node.Status.Allocatable[name] = offered
		}
		l.join(node)
		e := l.explain(l.pods[pod.UID])
		if len(e.First) > 0 {
			return // others go first
		}
		var offered []string
		if slices.Contains(askable(e), gap.Node) {
			offered, _ = l.filter(l.pods[pod.UID], gap.Node)
		}
		if (len(offered) > 0) == less {
			c.untrue("%s: %s; with that (a little less: %t) it is offered %v", pod.Name, gap, less, offered)
		}
	}
}

// tryGang has kube-scheduler ask about a member of a gang, once it is not denied any more.
func (c *checker) tryGang(name string) {
	l := c.lab(asked)
	g := l.gang(name)
	if g == nil || g.Places == nil || g.Places.Cut {
		return
	}
	l.askAbout(c, g)
}

// askAbout has kube-scheduler ask about a member, and sees whether that turns out as explained.
func (l *lab) askAbout(c *checker, g *explanation.Gang) {
	if !g.Again.IsZero() {
		l.clock.SetTime(g.Again.Add(time.Millisecond))
	}
	for _, pod := range l.waiting(strings.TrimPrefix(g.Name, "default/")) {
		e := l.explain(pod)
		if e.Gang.Node != "" {
			continue
		}
		if len(e.First) > 0 {
			return
		}
		offered, _ := l.filter(pod, l.nodes...)
		after := l.gang(strings.TrimPrefix(g.Name, "default/"))
		found, spare := g.Places.Short == 0, g.Ready > g.Lacking // of members to spare some have no place
		if (after.Lacking == 0) != found || (len(offered) > 0) != found && (!found || !spare) {
			c.untrue("gang %s: %s; %s is offered %v, and then %d lack a place: %s", g.Name, g.Places, pod.Name, offered, after.Lacking, after.Why)
		}
		return
	}
}

// tryShort adds the places that a gang is short of, and one less, where its members are alike.
func (c *checker) tryShort(name string, of *explanation.Gang) {
	if of.Places == nil || of.Places.Short == 0 || of.Places.Cut || len(of.Seeking) != 1 {
		return
	}
	for _, less := range []int{0, 1} {
		l := c.lab(asked)
		at := slices.IndexFunc(l.waiting(name), func(p *corev1.Pod) bool { return p.Name == of.Seeking[0].Pods[0] })
		differs := func(p *corev1.Pod) bool { return !apiequality.Semantic.DeepEqual(p.Spec, l.waiting(name)[at].Spec) }
		if at < 0 || slices.ContainsFunc(l.waiting(name), differs) {
			return // it is gated, or they differ in what makes no difference here
		}
		for i := range of.Places.Short - less {
			l.join(nodeFor(fmt.Sprint("more-", i), l.waiting(name)[at]))
		}
		g := l.gang(name)
		if g.Places != nil && g.Places.Yielding {
			continue // with less there is room as well: others give way
		}
		if g.Places == nil || g.Places.Short != less {
			c.untrue("gang %s: %s; with %d places more: %s", name, of.Places, of.Places.Short-less, g.Places)
			continue
		}
		l.askAbout(c, g)
	}
}

// nodeFor returns a node on which one such pod has room.
func nodeFor(name string, pod *corev1.Pod) *corev1.Node {
	node := &corev1.Node{}
	node.Name, node.Labels = name, map[string]string{corev1.LabelHostname: name, "zone": pod.Spec.NodeSelector["zone"]}
	node.Status.Allocatable = corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}
	maps.Copy(node.Status.Allocatable, pod.Spec.Containers[0].Resources.Requests)
	node.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}
	return node
}

// plan plans for the situation as 'muster plan' does.
func (l *lab) plan() *planner.Plan {
	var profiles []*predicates.Profile
	for _, store := range l.profiles.Stores() {
		profiles = append(profiles, store.Profile)
	}
	situation := policy.Of(l.cluster, planner.Problem{
		Profiles: profiles, Gangs: membership.Bounds{Timeout: time.Minute, MaxTimeout: time.Minute, MaxMembers: membership.MaxMembers},
		Limits: planner.Limits{Patience: -1}, Clock: l.clock,
	})
	return situation.Problem.MakeRoom(situation.Problem.Pending(situation.Waiting))
}

// checkPlan checks a plan against explanations, and carries it out.
func (c *checker) checkPlan() {
	l := c.lab(unasked)
	plan := l.plan()
	bound := slices.ContainsFunc(c.s.pods, func(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" })
	for i := range plan.Unplaced {
		c.checkRefusal(l, plan, &plan.Unplaced[i], bound)
	}
	done := 0
	for _, place := range plan.Placements {
		for ; done < place.After; done++ {
			step := &plan.Steps[done]
			l.goes(step.Pod.Pod)
			moved := step.Replacement.DeepCopy()
			moved.Name, moved.UID = fmt.Sprint("moved-", done), types.UID(fmt.Sprint("moved-", done))
			moved.Namespace, moved.Spec.NodeName = step.Pod.Namespace, step.To.Name
			l.show(moved)
		}
		if place.Awaits {
			for _, pod := range l.pods {
				if pod.Spec.NodeName == place.Node.Name && pod.DeletionTimestamp != nil && pod.DeletionTimestamp.After(began) {
					l.goes(pod)
				}
			}
		}
		pod := l.pods[place.Pod.UID]
		e := l.explain(pod)
		at := slices.IndexFunc(e.Nodes, func(n explanation.Node) bool { return n.Node == place.Node.Name })
		if !e.Nodes[at].Fits {
			c.untrue("by a plan %s, after %d steps, for %s, and it does not: %v", place.Why, place.After, pod.Name, e.Nodes[at].Against)
		}
		if e.Gang == nil && len(e.First) == 0 {
			if offered, _ := l.filter(pod, place.Node.Name); len(offered) == 0 {
				c.untrue("by a plan %s, after %d steps, for %s, which is not offered it", place.Why, place.After, pod.Name)
			}
		}
		there := pod.DeepCopy()
		there.Spec.NodeName = place.Node.Name
		l.show(there)
	}
}

// nominates reports whether a pod is nominated to a node: plans leave room to it, whatever its priority.
func (c *checker) nominates() bool {
	is := func(pod *corev1.Pod) bool { return pod != nil && pod.Status.NominatedNodeName != "" }
	return slices.ContainsFunc(c.s.pods, is) || slices.ContainsFunc(c.s.changes, func(of change) bool { return is(of.to) })
}

// checkRefusal checks why a plan has no place for a group.
func (c *checker) checkRefusal(l *lab, plan *planner.Plan, r *planner.Refusal, bound bool) {
	first := l.pods[r.Pods[0].UID]
	gang := l.gang(strings.TrimPrefix(r.Name, "default/"))
	switch r.Reason {
	case planner.ReasonNoHomes, planner.ReasonProtected:
		if !bound {
			c.contradicts("%s gets no place, as %s, and no pod is on a node", r.Name, r)
		}
	case planner.ReasonNotAll:
		if len(r.Pods) < 2 {
			c.contradicts("%s gets no place, as %s, and it is one pod", r.Name, r)
		}
	case planner.ReasonOthersFirst:
		if len(plan.Placements) == 0 && !c.nominates() {
			c.contradicts("%s gets no place, as %s, and nobody else gets one", r.Name, r)
		}
	case planner.ReasonMembersMissing:
		if gang == nil || gang.Short() == 0 {
			c.contradicts("%s gets no place, as %s, and is explained: %+v", r.Name, r, gang)
		}
	case planner.ReasonNoNode:
		c.tryEmpty(r)
	}
	if gang != nil && gang.Short() > 0 && r.Reason != planner.ReasonMembersMissing && !gang.Started {
		c.contradicts("%s gets no place, as %s, and is explained: %s", r.Name, r, gang.Why)
	}
	if len(plan.Placements)+len(plan.Steps) == 0 && len(plan.Unplaced) == 1 && len(r.Pods) == 1 && gang == nil {
		if e := l.explain(first); e.Room.Fit > 0 && !c.nominates() {
			c.contradicts("%s gets no place, as %s, and fits on %+v", r.Name, r, e.Room)
		}
	}
}

// tryEmpty takes all pods off the nodes for a group that no pod which goes is said to help.
func (c *checker) tryEmpty(r *planner.Refusal) {
	l := c.lab(unasked)
	for uid, pod := range l.pods {
		if !slices.ContainsFunc(r.Pods, func(p *cluster.Pod) bool { return p.UID == uid }) {
			l.goes(pod)
		}
	}
	for _, pod := range r.Pods {
		if l.explain(l.pods[pod.UID]).Room.Fit == 0 {
			return
		}
	}
	c.untrue("%s gets no place, as %s, and each fits once all pods have gone", r.Name, r)
}

package executor

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/holes"
)

// check carries out the rest of a plan, from a step on, on a model of the cluster as it is. It
// returns why that does not work any more, "" when it does.
func (e *Executor) check(plan *v1alpha1.ReschedulingPlan, from int) string {
	m := model{snap: e.Cluster.Snapshot(), profiles: e.Profiles, nodes: map[string]*cluster.Node{}}
	for node := range m.snap.Nodes() {
		for _, pod := range node.Pods {
			if holes.IsOf(pod, plan) {
				m.take(node.Name, pod)
			}
		}
	}
	for i := from; i < len(plan.Spec.Steps); i++ {
		step := &plan.Spec.Steps[i]
		pod := e.on(step.From, step.Pod.UID)
		if pod == nil {
			return fmt.Sprintf("%s is not on %s any more", step.Pod, step.From)
		}
		if why := e.Rules.Protects(pod, m.node(step.From), e.Clock.Now()); why != "" {
			return fmt.Sprintf("%s may not be evicted any more: %s", step.Pod, why)
		}
		m.take(step.From, pod)
		if why := m.put(e.Cluster.ResourceNames().NewPod(unbound(step, i)), step.To); why != "" {
			return fmt.Sprintf("%s does not take what replaces %s any more: %s", step.To, step.Pod, why)
		}
	}
	for _, b := range e.waiting(plan) {
		pod := e.Cluster.PendingPod(b.UID)
		if pod == nil {
			continue
		}
		if why := m.put(pod, b.Node); why != "" {
			return fmt.Sprintf("%s would not take %s any more: %s", b.Node, b, why)
		}
	}
	return ""
}

// unbound is the replacement of a step, under a UID of its own.
func unbound(step *v1alpha1.Step, at int) *corev1.Pod {
	pod := step.Object()
	pod.UID = step.Pod.UID + "/replacement"
	pod.Name = fmt.Sprintf("%s-replacement-%d", step.Pod.Name, at)
	return pod
}

// model is the cluster, in which pods come and go for trial.
type model struct {
	snap     *cluster.Snapshot
	profiles *predicates.Profiles
	nodes    map[string]*cluster.Node // those that are other ones than in the snapshot
}

func (m *model) node(name string) *cluster.Node {
	if node := m.nodes[name]; node != nil {
		return node
	}
	return m.snap.NodeByName(name)
}

func (m *model) take(name string, pod *cluster.Pod) { m.nodes[name] = m.node(name).WithoutPod(pod.UID) }

// put puts a pod on a node, or returns why it does not fit.
func (m *model) put(pod *cluster.Pod, name string) string {
	node, store := m.node(name), m.profiles.Of(pod.Spec.SchedulerName)
	switch {
	case node == nil:
		return "the node is gone"
	case store == nil:
		return fmt.Sprintf("there is no profile for spec.schedulerName %q", pod.Spec.SchedulerName)
	}
	judgement := store.Profile.Judge(pod, m.snap)
	for _, other := range m.nodes {
		judgement.Suppose(other)
	}
	if judgement.Verdict(node) == predicates.Fits {
		m.nodes[name] = node.WithPod(pod)
		return ""
	}
	var reasons []string
	for _, objection := range judgement.Against(node) {
		reasons = append(reasons, objection.Reason)
	}
	return strings.Join(reasons, ", ")
}

package main

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/e2e/bench/contender"
)

// scenario is one of upstream's workloads, scaled to the nodes that there are.
type scenario struct {
	name string
	// settled pods are there before: on their nodes, or gated.
	settled func(nodes []*corev1.Node) []*corev1.Pod
	// measured makes the pods that are counted.
	measured func(nodes []*corev1.Node, count int) []*corev1.Pod
	// fromReady counts the time from when the scheduler is ready, instead of from the first binding.
	fromReady bool
	// most is how many pods are measured at most, no limit when 0.
	most int
	// prepare creates what pods need beside nodes, namespaces and each other.
	prepare func(*ground, []*corev1.Pod) error
	// meanwhile comes and goes while pods are scheduled.
	meanwhile churn
	// apart says that no two pods of the same colour may be on a node.
	apart bool
	// way is the one that docs/install/nodes.md recommends for such pods.
	way contender.Contender
}

// Namespaces of the workloads.
const (
	plainNamespace  = corev1.NamespaceDefault
	firstNamespace  = "sched-0"
	secondNamespace = "sched-1"
	measureTeam     = "measure-ns"
	initTeams       = 100
)

func initTeam(i int) string { return fmt.Sprintf("init-ns-%d", i) }

// workloads of upstream's scheduler_perf, in its order.
func workloads() []scenario {
	const all, thousand = -1, 1000
	return []scenario{
		{name: "basic", settled: settle(thousand), measured: measure(plainNamespace), way: contender.Extender},
		{name: "daemonset", measured: daemonSet, way: contender.Managed},
		{name: "churn", measured: measure(plainNamespace), meanwhile: recreate, way: contender.Extender},
		{name: "gated", settled: waiting(gated), measured: measure(plainNamespace), way: contender.Extender},
		{
			name: "unschedulable", settled: settle(100), measured: measure(plainNamespace),
			meanwhile: add(wants("9", "500Mi"), important), way: contender.Extender,
		},
		{
			name: "preemption", settled: fourOnEach(), measured: measure(plainNamespace, wants("3", "500Mi"), important), most: 500, fromReady: true,
			way: contender.Extender,
		},
		{
			name: "preemption_churn", settled: fourOnEach(), measured: measure(plainNamespace),
			meanwhile: add(wants("3", "500Mi"), important), way: contender.Extender,
		},
		{
			name: "anti_affinity", settled: settleIn(firstNamespace, thousand, apart(firstNamespace, secondNamespace)),
			measured: measure(secondNamespace, apart(firstNamespace, secondNamespace)), apart: true, way: contender.NominateOffload,
		},
		{
			name: "affinity", settled: settleIn(firstNamespace, all, near(firstNamespace, secondNamespace)),
			measured: measure(secondNamespace, near(firstNamespace, secondNamespace)), way: contender.NominateOffload,
		},
		{
			name: "preferred_affinity", settled: settleIn(firstNamespace, all, preferNear(firstNamespace, secondNamespace)),
			measured: measure(secondNamespace, preferNear(firstNamespace, secondNamespace)), way: contender.Extender,
		},
		{
			name: "preferred_anti_affinity", settled: settleIn(firstNamespace, all, preferApart(firstNamespace, secondNamespace)),
			measured: measure(secondNamespace, preferApart(firstNamespace, secondNamespace)), way: contender.Extender,
		},
		{
			name: "node_affinity", settled: settleIn(plainNamespace, all, inARegion), measured: measure(plainNamespace, inARegion),
			way: contender.Extender,
		},
		{name: "mixed", settled: settleMixed, measured: measure(plainNamespace), way: contender.Extender},
		{
			name: "ns_anti_affinity", settled: settleTeams(40, apart()), measured: measure(measureTeam, apart()), apart: true,
			way: contender.NominateOffload,
		},
		{
			name: "ns_preferred_anti_affinity", settled: settleTeams(40, preferApart()), measured: measure(measureTeam, preferApart()),
			way: contender.Extender,
		},
		{name: "ns_affinity", settled: settleTeams(50, near()), measured: measure(measureTeam, near()), way: contender.NominateOffload},
		{
			name: "ns_preferred_affinity", settled: settleTeams(50, preferNear()), measured: measure(measureTeam, preferNear()),
			way: contender.Extender,
		},
		{
			name: "spread", settled: settleIn(plainNamespace, all), measured: measure(plainNamespace, spread(corev1.DoNotSchedule)),
			way: contender.NominateOffload,
		},
		{
			name: "preferred_spread", settled: settleIn(plainNamespace, all), measured: measure(plainNamespace, spread(corev1.ScheduleAnyway)),
			way: contender.Extender,
		},
		{
			name: "secrets", settled: settleIn(plainNamespace, thousand, withSecret), measured: measure(plainNamespace, withSecret),
			way: contender.Extender,
		},
		{
			name: "in_tree_volumes", settled: settleIn(plainNamespace, thousand, withVolume(inTree)),
			measured: measure(plainNamespace, withVolume(inTree)),
			prepare:  (*ground).inTreeVolumes, way: contender.Extender,
		},
		{
			name: "csi_volumes", settled: settleIn(plainNamespace, thousand, withVolume(csi)), measured: measure(plainNamespace, withVolume(csi)),
			prepare: (*ground).csiVolumes, way: contender.Extender,
		},
		{
			name: "devices", measured: measure(plainNamespace, withDevice), most: 500,
			prepare: (*ground).offerDevices, way: contender.Extender,
		},
	}
}

// choose returns the workloads with these names, separated by commas, all for no name.
func choose(names string) ([]scenario, error) {
	all := workloads()
	if names == "" {
		return all, nil
	}
	var chosen []scenario
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(all, func(w scenario) bool { return w.name == strings.TrimSpace(name) })
		if i < 0 {
			return nil, fmt.Errorf("workload %q: want some of %s", name, strings.Join(namesOf(all), ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

func namesOf(workloads []scenario) []string {
	names := make([]string, len(workloads))
	for i, w := range workloads {
		names[i] = w.name
	}
	return names
}

type (
	settling  = func([]*corev1.Node) []*corev1.Pod
	measuring = func([]*corev1.Node, int) []*corev1.Pod
)

func measure(namespace string, shapes ...shape) measuring {
	return func(_ []*corev1.Node, count int) []*corev1.Pod { return pods(namespace, "pod", count, shapes...) }
}

func daemonSet(nodes []*corev1.Node, count int) []*corev1.Pod {
	return pods(plainNamespace, "pod", count, wants("10m", "10Mi"), ofDaemonSet(nodes))
}

func settle(count int) settling { return settleIn(plainNamespace, count) }

// settleIn has pods on as many nodes but on half of them at most, or on all of them for a negative number.
func settleIn(namespace string, count int, shapes ...shape) settling {
	return func(nodes []*corev1.Node) []*corev1.Pod {
		count := min(count, len(nodes)/2)
		if count < 0 {
			count = len(nodes)
		}
		return on(nodes, pods(namespace, "settled", count, shapes...))
	}
}

// waiting leaves one pod waiting for each node.
func waiting(shapes ...shape) settling {
	return func(nodes []*corev1.Node) []*corev1.Pod {
		return pods(plainNamespace, "waiting", len(nodes), shapes...)
	}
}

// fourOnEach node leave it a tenth of its cores.
func fourOnEach() settling {
	return func(nodes []*corev1.Node) []*corev1.Pod {
		return on(nodes, pods(plainNamespace, "settled", 4*len(nodes), wants("900m", "500Mi"), atOnce))
	}
}

// settleMixed has pods of five kinds on two fifths of the nodes, as many of each kind.
func settleMixed(nodes []*corev1.Node) []*corev1.Pod {
	both := []string{firstNamespace, secondNamespace}
	var all []*corev1.Pod
	for kind, s := range []shape{labelled("none"), near(both...), apart(both...), preferNear(both...), preferApart(both...)} {
		all = append(all, on(nodes, pods(firstNamespace, fmt.Sprintf("settled-%d", kind), 2*len(nodes)/5, s))...)
	}
	return all
}

// settleTeams puts the same number of pods of each team on the nodes, no two on one as far as there are nodes.
func settleTeams(each int, shapes ...shape) settling {
	return func(nodes []*corev1.Node) []*corev1.Pod {
		var all []*corev1.Pod
		for i := range initTeams {
			count := min(each, len(nodes)*each/(each+10)/initTeams) // leave room for the measured ones
			all = append(all, pods(initTeam(i), "settled", count, shapes...)...)
		}
		return on(nodes, all)
	}
}

package loadaware

import (
	"fmt"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
	"muster.dev/muster/cluster"
)

// someArgs use all that there is.
const someArgs = `
prodUsageThresholds: {cpu: 40}
prodUsageIncludeSys: true
scoreAccordingProdUsage: true
dominantResourceWeight: 3
allowCustomizeEstimation: true
estimatedSecondsAfterPodScheduled: 120
estimatedSecondsAfterInitialized: 90
supportedResources: [ephemeral-storage]
resourceWeights: {cpu: 2, memory: 1}
`

func drawArgs(t *rapid.T) string {
	return rapid.SampledFrom([]string{
		"",
		someArgs,
		"enableScheduleWhenNodeMetricsExpired: true",
		"filterExpiredNodeMetrics: false",
		"{filterExpiredNodeMetrics: true, usageThresholds: {cpu: 0}}",
		"aggregated: {usageThresholds: {cpu: 50}, usageAggregationType: p95, scoreAggregationType: avg}",
		"aggregated: {usageThresholds: {cpu: 50}, usageAggregationType: p95, usageAggregatedDuration: 5m, scoreAggregationType: avg, " +
			"scoreAggregatedDuration: 5m}",
	}).Draw(t, "arguments")
}

// drawUsage has figures of some of the pods of drawPod.
func drawUsage(t *rapid.T) figuresOf {
	amount := func(what string) string { return fmt.Sprint(rapid.IntRange(0, 9).Draw(t, what)) }
	var more []figure
	for _, name := range []string{"a", "b", "c"} {
		if rapid.Bool().Draw(t, "is reported") {
			class := rapid.SampledFrom([]string{"", "koord-prod", "koord-batch"}).Draw(t, "class")
			more = append(more, byPodOf(class, name, amount("cpu of a pod"), amount("memory of a pod")+"00"))
		}
	}
	for _, over := range []time.Duration{5 * time.Minute, 10 * time.Minute} {
		if rapid.Bool().Draw(t, "is aggregated") {
			more = append(more, aggregated("p95", over, amount("p95"), "5"), aggregated("avg", over, amount("avg"), "5"))
		}
	}
	switch rapid.IntRange(0, 5).Draw(t, "age") {
	case 0:
		more = append(more, aged(time.Hour))
	case 1:
		more = append(more, neverReported)
	}
	more = append(more, bySystem(amount("system"), "1"), everySoOften(time.Duration(rapid.IntRange(0, 2).Draw(t, "interval"))*time.Minute))
	return using(amount("cpu"), amount("memory")+"000", more...)
}

type figuresOf = func() *cluster.Usage

// traits are the possible traits of a pod, one of each row.
func traits() [][]func(*corev1.Pod) {
	ago := func(seconds int) time.Duration { return -time.Duration(seconds) * time.Second }
	return [][]func(*corev1.Pod){
		{asking(), asking("cpu", "3", "memory", "2000"), asking("kubernetes.io/batch-cpu", "1500")},
		{limitedTo("cpu", "4"), limitedTo("cpu", "9")},
		{ofClass("koord-batch"), ofPriority(9500), ofPriority(5500)},
		{became(corev1.PodScheduled, ago(100)), became(corev1.PodScheduled, ago(10)), func(p *corev1.Pod) { p.Status.Conditions = nil }},
		{became(corev1.PodInitialized, ago(100)), became(corev1.PodInitialized, ago(80))},
		{annotated(factorsAnnotation, `{"cpu":30}`)},
		{annotated(scheduledAnnotation, "0"), annotated(initializedAnnotation, "30")},
		{ownedBy("DaemonSet")},
		{ofQuality(corev1.PodQOSBestEffort), ofQuality(corev1.PodQOSBurstable)},
	}
}

// drawPod draws a pod of a name; pods of one name are another's next state.
func drawPod(t *rapid.T, name string) *corev1.Pod {
	pod := podObject(name)
	for i, row := range traits() {
		if choice := rapid.IntRange(0, len(row)).Draw(t, fmt.Sprint("trait ", i)); choice < len(row) {
			row[choice](pod)
		}
	}
	return pod
}

func drawNode(t *rapid.T, name string) *corev1.Node {
	n := nodeObject(name)
	if rapid.Bool().Draw(t, "has its own thresholds") {
		annotatedNode(
			AnnotationUsageThresholds,
			rapid.SampledFrom([]string{"{", `{"usageThresholds":{"cpu":90}}`, `{"prodUsageThresholds":{"cpu":10}}`}).Draw(t, "thresholds"),
		)(n)
	}
	if rapid.Bool().Draw(t, "has more than it offers") {
		annotatedNode(AnnotationRawAllocatable, `{"cpu":"15"}`)(n)
	}
	if rapid.Bool().Draw(t, "is large") {
		offering("cpu", "30", "memory", "30000", "ephemeral-storage", "10")(n)
	}
	return n
}

// estimates of a node, for filter and score and for both audiences, as pods of the namespace of all pods see it.
func (r raised) estimates(node *cluster.Node) []vector {
	a := r.load.account(node, r.load.of(node).custom, nil)
	var all []vector
	for who := range audiences {
		for _, s := range []*sum{&a.filter[who].of, &a.score[who]} {
			estimate := make(vector, len(r.load.resources.names))
			for i := range estimate {
				estimate[i] = s.at(i) + s.ownAt(metav1.NamespaceDefault, i)
			}
			all = append(all, estimate)
		}
	}
	return all
}

func (r raised) newPod(object *corev1.Pod) *cluster.Pod {
	return cluster.NewPod(object)
}

func TestAnEstimateIsNeverBelowWhatIsReportedAndAddsUpOverPods(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		s := scene{args: drawArgs(t), usage: drawUsage(t), node: []func(*corev1.Node){func(n *corev1.Node) { *n = *drawNode(t, "node") }}}
		for i := range rapid.IntRange(0, 3).Draw(t, "pods") {
			s.pods = append(s.pods, drawPod(t, []string{"a", "b", "c"}[i]))
		}
		r := s.raise(t)
		before := r.estimates(r.node)
		r.checkBase(t, before)
		one, two := r.newPod(drawPod(t, "x")), r.newPod(drawPod(t, "b2"))
		withOne, withTwo := r.estimates(r.node.WithPod(one)), r.estimates(r.node.WithPod(two))
		withBoth, swapped := r.estimates(r.node.WithPod(one).WithPod(two)), r.estimates(r.node.WithPod(two).WithPod(one))
		for k := range before {
			for i := range before[k] {
				if withOne[k][i] < before[k][i] {
					t.Fatalf("a pod brings %d down to %d", before[k][i], withOne[k][i])
				}
				if got, want := withBoth[k][i]-before[k][i], withOne[k][i]-before[k][i]+withTwo[k][i]-before[k][i]; got != want {
					t.Fatalf("two pods add %d, one by one %d", got, want)
				}
			}
			if !slices.Equal(withBoth[k], swapped[k]) {
				t.Fatalf("the order of pods matters: %d and %d", withBoth[k], swapped[k])
			}
		}
	})
}

// checkBase holds estimates against what is reported of the node, or else of its pods.
func (r raised) checkBase(t *rapid.T, estimates []vector) {
	reported := map[baseKind]vector{}
	for _, kind := range []baseKind{ofNode, ofEstimates, ofProd} {
		reported[kind] = make(vector, len(r.load.resources.names))
	}
	r.load.resources.read(reported[ofNode], &r.node.Usage.Node)
	for _, pod := range r.node.Pods {
		figures := r.node.Usage.Pods[types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}]
		used := make(vector, len(r.load.resources.names))
		r.load.resources.read(used, &figures.Used)
		reported[ofEstimates].add(used)
		if classOf(pod) == prod && figures.Priority != "koord-batch" {
			reported[ofProd].add(used)
		}
	}
	a := r.load.account(r.node, r.load.of(r.node).custom, nil)
	k := 0
	for who := range audiences {
		for _, s := range []*sum{&a.filter[who].of, &a.score[who]} {
			least, known := reported[s.base.kind]
			for i := range least {
				if known && estimates[k][i] < least[i] {
					t.Fatalf("the estimate from %v is %d, and %d is reported", s.base, estimates[k], least)
				}
			}
			k++
		}
	}
}

// TestItReadsWhatItDeclares gives a node all that is declared of another one, and all else of its own.
func TestItReadsWhatItDeclares(t *testing.T) {
	seen := map[string]bool{}
	seeded.Until(t, func() bool { return len(seen) >= 5 }, func(t *rapid.T) {
		c := newCluster()
		load, profile, _ := made(t, c, drawArgs(t))
		for _, name := range []string{"from", "other"} {
			_ = c.Set(drawNode(t, name))
			c.SetUsage(name, drawUsage(t)())
		}
		pod := drawPod(t, "a")
		pod.Spec.NodeName = "from"
		_ = c.Set(pod)
		if rapid.Bool().Draw(t, "expects a pod") {
			c.Expect(cluster.NewPod(drawPod(t, "b")), "from")
		}
		snap := c.Snapshot()
		from, other := snap.NodeByName("from"), snap.NodeByName("other")
		mixed, object := *other, other.DeepCopy()
		mixed.Node, object.Annotations = object, from.Annotations
		object.Labels, object.Spec.Unschedulable = map[string]string{LabelPriorityClass: "koord-batch"}, true
		object.CreationTimestamp = metav1.Now()
		mixed.Allocatable, mixed.Usage = from.Allocatable, from.Usage
		mixed.Pods, mixed.Requested, mixed.Expected = from.Pods, from.Requested, from.Expected
		asked := cluster.NewPod(drawPod(t, "asked"))
		want, got := load.Explain(from, asked), load.Explain(&mixed, asked)
		if want.Reason != got.Reason || want.Score != got.Score {
			t.Fatalf("of one %q and %d, of the other %q and %d", want.Reason, want.Score, got.Reason, got.Score)
		}
		seen[want.Reason], seen[fmt.Sprint(want.Score)] = true, true
		for _, d := range profile.Dependencies() {
			if d.Aspects != aspects {
				t.Fatalf("the %s declares %s", d.Kind, d.Aspects)
			}
		}
	})
	if len(seen) < 5 {
		t.Errorf("it always says the same: %v", seen)
	}
}

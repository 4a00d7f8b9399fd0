package extender

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/server/servertest"
)

func TestPreemptAddsTheVictimsThatTheProfileNeedsGone(t *testing.T) {
	started := func(hour int) func(*corev1.Pod) {
		return func(p *corev1.Pod) {
			at := metav1.Date(2026, time.January, 1, hour, 0, 0, 0, time.UTC)
			p.Status.StartTime = &at
		}
	}
	priority := func(of int32) func(*corev1.Pod) { return func(p *corev1.Pod) { p.Spec.Priority = &of } }
	port := func(p *corev1.Pod) { p.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}} }
	going := func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Now()} }
	protected := func(p *corev1.Pod) { p.Labels = map[string]string{"app": "db"} }
	victim := func(name, cpu string, change ...func(*corev1.Pod)) *corev1.Pod {
		pod := servertest.Pod(name, cpu)
		pod.Spec.NodeName = "node"
		for _, f := range change {
			f(pod)
		}
		return pod
	}
	for _, test := range []struct {
		name     string
		placed   []*corev1.Pod
		proposed string
		want     []string // nil: the node is left out
		broken   int64    // budgets
	}{
		{
			name:     "the proposed victim is enough",
			placed:   []*corev1.Pod{victim("a", "3", port), victim("b", "1")},
			proposed: "a", want: []string{"uid-a"},
		},
		{
			name:     "another pod has the port: it goes, and the proposed one stays if there is room",
			placed:   []*corev1.Pod{victim("a", "1"), victim("b", "3", port)},
			proposed: "a", want: []string{"uid-b"},
		},
		{
			name:     "both have to go",
			placed:   []*corev1.Pod{victim("a", "3"), victim("b", "1", port)},
			proposed: "a", want: []string{"uid-a", "uid-b"},
		},
		{
			name:     "one that is going need not be evicted",
			placed:   []*corev1.Pod{victim("a", "3"), victim("b", "1", port, going)},
			proposed: "a", want: []string{"uid-a"},
		},
		{
			name:     "nor is it chosen",
			placed:   []*corev1.Pod{victim("a", "1"), victim("b", "1", port), victim("c", "2", port, going)},
			proposed: "a", want: []string{"uid-b"},
		},
		{
			name:     "a pod of equal priority keeps its port",
			placed:   []*corev1.Pod{victim("a", "3"), victim("b", "1", port, priority(10))},
			proposed: "a",
		},
		{
			name:     "of several that would do, the least important goes",
			placed:   []*corev1.Pod{victim("low", "2", priority(1)), victim("mid", "1", priority(2)), victim("b", "1", port)},
			proposed: "mid", want: []string{"uid-low", "uid-b"},
		},
		{
			name:     "of equal priority, the one that runs for the shortest time goes",
			placed:   []*corev1.Pod{victim("young", "2", started(2)), victim("old", "2", started(1)), victim("b", "0", port)},
			proposed: "old", want: []string{"uid-young", "uid-b"},
		},
		{
			name:     "a pod whose budget is spent is the last to go",
			placed:   []*corev1.Pod{victim("db", "2", protected), victim("web", "2", started(1)), victim("b", "0", port)},
			proposed: "db", want: []string{"uid-web", "uid-b"},
		},
		{
			name:     "victims are told from the most important to the least, whatever their budgets",
			placed:   []*corev1.Pod{victim("db", "2", protected, port), victim("web", "2", priority(5), port)},
			proposed: "db", want: []string{"uid-web", "uid-db"}, broken: 1,
		},
		{
			name:     "and is counted when it goes",
			placed:   []*corev1.Pod{victim("db", "2", protected, port), victim("web", "2")},
			proposed: "web", want: []string{"uid-db"}, broken: 1,
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t, benchOptions{})
			b.Node("node", "4")
			minimum := &policyv1.PodDisruptionBudget{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "db"},
				Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "db"}}},
			}
			if err := b.Cluster.Set(minimum); err != nil {
				t.Fatal(err)
			}
			for _, pod := range test.placed {
				if err := b.Cluster.Set(pod); err != nil {
					t.Fatal(err)
				}
			}
			preemptor := servertest.Pod("p", "2")
			priority(10)(preemptor)
			port(preemptor)
			request := extenderv1.ExtenderPreemptionArgs{Pod: preemptor, NodeNameToMetaVictims: map[string]*extenderv1.MetaVictims{
				"node": {Pods: []*extenderv1.MetaPod{{UID: "uid-" + test.proposed}}},
			}}
			var want map[string]*extenderv1.MetaVictims
			if test.want != nil {
				victims := &extenderv1.MetaVictims{NumPDBViolations: test.broken}
				for _, uid := range test.want {
					victims.Pods = append(victims.Pods, &extenderv1.MetaPod{UID: uid})
				}
				want = map[string]*extenderv1.MetaVictims{"node": victims}
			}
			got := b.preempt(request)
			if len(got) == 0 {
				got = nil
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestRoomThatIsPromisedToOthersIsNotGivenBackToVictims(t *testing.T) {
	priority := func(pod *corev1.Pod, of int32) *corev1.Pod {
		pod.Spec.Priority = &of
		return pod
	}
	nominated := func(name, cpu string, of int32) *corev1.Pod {
		pod := priority(servertest.Pod(name, cpu), of)
		pod.Status.NominatedNodeName = "node"
		return pod
	}
	takingPort := func(pod *corev1.Pod) *corev1.Pod {
		pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{HostPort: 80}}
		return pod
	}
	needing := func(pod *corev1.Pod, app string) *corev1.Pod {
		term := corev1.PodAffinityTerm{
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}, TopologyKey: corev1.LabelHostname,
		}
		pod.Spec.Affinity = &corev1.Affinity{
			PodAffinity: &corev1.PodAffinity{RequiredDuringSchedulingIgnoredDuringExecution: []corev1.PodAffinityTerm{term}},
		}
		return pod
	}
	labeled := func(pod *corev1.Pod, app string) *corev1.Pod {
		pod.Labels = map[string]string{"app": app}
		return pod
	}
	for _, test := range []struct {
		name      string
		nominated []*corev1.Pod
		asking    *corev1.Pod
		proposed  []string
		want      []string // nil: the node is left out
	}{
		{name: "nobody is", asking: servertest.Pod("p", "2"), proposed: []string{"a", "b"}, want: []string{"a", "b"}},
		{
			name: "victims that are not enough for both are not enough", nominated: []*corev1.Pod{nominated("n", "1", 10)},
			asking: servertest.Pod("p", "2"), proposed: []string{"a"}, want: []string{"a", "b"},
		},
		{
			name: "the port of a victim goes, and room for both", nominated: []*corev1.Pod{nominated("n", "1", 10)},
			asking: takingPort(servertest.Pod("p", "2")), proposed: []string{"b"}, want: []string{"a", "b"},
		},
		{
			name: "a port is promised", nominated: []*corev1.Pod{takingPort(nominated("n", "0", 11))},
			asking: takingPort(servertest.Pod("p", "2")), proposed: []string{"a", "b"},
		},
		{
			name: "to a less important one", nominated: []*corev1.Pod{takingPort(nominated("n", "4", 9))},
			asking: takingPort(servertest.Pod("p", "2")), proposed: []string{"a"}, want: []string{"a"},
		},
		{name: "to itself", asking: takingPort(nominated("p", "2", 10)), proposed: []string{"a"}, want: []string{"a"}},
		{
			name: "one that is needed may not come", nominated: []*corev1.Pod{labeled(nominated("n", "0", 10), "db")},
			asking: needing(servertest.Pod("p", "2"), "db"), proposed: []string{"a", "b"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			b := newBench(t, benchOptions{})
			b.Node("node", "4", func(node *corev1.Node) { node.Labels = map[string]string{corev1.LabelHostname: "node"} })
			for _, placed := range []*corev1.Pod{takingPort(servertest.Pod("a", "2")), servertest.Pod("b", "2")} {
				placed.Spec.NodeName = "node"
				b.Pending(placed)
			}
			for _, pod := range test.nominated {
				b.Pending(pod)
			}
			proposed := &extenderv1.MetaVictims{}
			for _, name := range test.proposed {
				proposed.Pods = append(proposed.Pods, &extenderv1.MetaPod{UID: "uid-" + name})
			}
			var got []string
			if answer := b.preempt(extenderv1.ExtenderPreemptionArgs{
				Pod: priority(test.asking, 10), NodeNameToMetaVictims: map[string]*extenderv1.MetaVictims{"node": proposed},
			})["node"]; answer != nil {
				for _, victim := range answer.Pods {
					got = append(got, strings.TrimPrefix(victim.UID, "uid-"))
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// preempt asks about a pod that the watch shows, from now on if not before.
func (b *bench) preempt(args extenderv1.ExtenderPreemptionArgs) map[string]*extenderv1.MetaVictims {
	b.Helper()
	if b.Cluster.PendingPod(args.Pod.UID) == nil {
		b.Pending(args.Pod)
	}
	return servertest.Ask[extenderv1.ExtenderPreemptionResult](b.Bench, "preempt", args).NodeNameToMetaVictims
}

func TestAPodWhoseBindingHadNoAnswerIsNoVictim(t *testing.T) {
	b := newBench(t, benchOptions{client: unanswering(lose)})
	b.Node("a", "4")
	running := servertest.Pod("running", "1")
	running.Spec.NodeName = "a"
	b.Pending(running)
	b.bind(b.Pending(servertest.Pod("unsure", "2")), "a")
	pod := servertest.Pod("important", "3")
	pod.Spec.Priority = new(int32(100))
	got := b.preempt(extenderv1.ExtenderPreemptionArgs{
		Pod: pod, NodeNameToMetaVictims: map[string]*extenderv1.MetaVictims{"a": {Pods: []*extenderv1.MetaPod{{UID: "uid-running"}}}},
	})
	if len(got) > 0 {
		t.Errorf("victims %v, where only a pod that may not be there would make room", got["a"].Pods)
	}
}

func TestAPodIsNotEvictedBeforeItHasRunForAsLongAsItAsks(t *testing.T) {
	const critical = v1alpha1.SystemCritical
	for name, test := range map[string]struct {
		asks     string
		ago      time.Duration
		priority int32
		// other is a pod that may go instead.
		other bool
		want  []string
		after time.Duration // it may evict, 0 for at once
	}{
		"it has just come":          {asks: "10m", ago: time.Minute, priority: 10, after: 9 * time.Minute},
		"it has run for long":       {asks: "10m", ago: 11 * time.Minute, priority: 10, want: []string{"uid-young"}},
		"it asks for a year":        {asks: "8760h", ago: time.Minute, priority: 10, after: 59 * time.Minute},
		"for what the system needs": {asks: "10m", ago: time.Minute, priority: critical, want: []string{"uid-young"}},
		"another one goes":          {asks: "10m", ago: time.Minute, priority: 10, other: true, want: []string{"uid-other"}},
	} {
		t.Run(name, func(t *testing.T) {
			told := &postponedPods{refusedPods: refusedPods{}}
			b := newBench(t, benchOptions{refusals: told})
			b.Node("node", "4")
			now := time.Now()
			victim := func(name string, ago time.Duration) *corev1.Pod {
				pod := servertest.Pod(name, "2")
				pod.Spec.NodeName, pod.CreationTimestamp = "node", metav1.NewTime(now.Add(-ago))
				if err := b.Cluster.Set(pod); err != nil {
					t.Fatal(err)
				}
				return pod
			}
			young := victim("young", test.ago)
			young.Annotations = map[string]string{v1alpha1.AnnotationMinRuntime: test.asks}
			if err := b.Cluster.Set(young); err != nil {
				t.Fatal(err)
			}
			if other := victim("other", time.Hour); !test.other {
				other.Spec.Priority = new(int32(math.MaxInt32))
				if err := b.Cluster.Set(other); err != nil {
					t.Fatal(err)
				}
			}
			rival := servertest.Pod("rival", "2")
			rival.Spec.Priority, rival.CreationTimestamp = &test.priority, metav1.NewTime(now)
			b.Pending(rival)
			stranger := servertest.Pod("stranger", "2") // no stamp of its own counts
			stranger.CreationTimestamp = metav1.NewTime(now.AddDate(1, 0, 0))
			proposed := map[string]*extenderv1.MetaVictims{"node": {Pods: []*extenderv1.MetaPod{{UID: "uid-young"}}}}
			servertest.Ask[extenderv1.ExtenderPreemptionResult](b.Bench, "preempt", extenderv1.ExtenderPreemptionArgs{
				Pod: stranger, NodeNameToMetaVictims: proposed,
			})
			got := b.preempt(extenderv1.ExtenderPreemptionArgs{Pod: rival, NodeNameToMetaVictims: proposed})
			var victims []string
			if of := got["node"]; of != nil {
				for _, pod := range of.Pods {
					victims = append(victims, pod.UID)
				}
			}
			if diff := cmp.Diff(test.want, victims); diff != "" {
				t.Errorf("victims (-want +got):\n%s", diff)
			}
			if after := told.after.Round(time.Minute); after != test.after || told.node == "node" != (test.after > 0) {
				t.Errorf("it may evict others on %q after %s, want after %s", told.node, after, test.after)
			}
		})
	}
}

package extender

import (
	"encoding/json"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/server/servertest"
)

// postFilter asks about a pod as it is posted, whether the watch shows it or not.
func (b *bench) postFilter(pod *corev1.Pod, nodes ...string) extenderv1.ExtenderFilterResult {
	b.Helper()
	return servertest.Ask[extenderv1.ExtenderFilterResult](b.Bench, "filter", extenderv1.ExtenderArgs{Pod: pod, NodeNames: &nodes})
}

func TestAPodThatTheWatchDoesNotShowIsAnsweredAndLeavesNoTrace(t *testing.T) {
	for _, selection := range []config.NodeSelection{config.NodeSelectionScheduler, config.NodeSelectionMuster} {
		t.Run(string(selection), func(t *testing.T) {
			b := newBench(t, benchOptions{selection: selection})
			b.Node("small", "1")
			b.Node("big", "4")
			before := b.Cluster.Snapshot().Generation
			yes := true
			for range 2 {
				ghost := servertest.Pod("ghost", "3")
				ghost.OwnerReferences = []metav1.OwnerReference{{UID: "ghosts", Controller: &yes}}
				got := b.postFilter(ghost, "small", "big")
				if !slices.Equal(*got.NodeNames, []string{"big"}) {
					t.Errorf("it fits %v, but not %v", *got.NodeNames, got.FailedAndUnresolvableNodes)
				}
			}
			if after := b.Cluster.Snapshot().Generation; after != before {
				t.Errorf("the view has gone from generation %d to %d", before, after)
			}
			if classes := b.profiles.Stores()[0].Classes(); len(classes) != 0 {
				t.Errorf("%d classes are remembered", len(classes))
			}
		})
	}
}

func TestWhatIsPostedOfAKnownPodDecidesNothing(t *testing.T) {
	b := newBench(t, benchOptions{selection: config.NodeSelectionMuster})
	b.Node("a", "4")
	b.Node("b", "8")
	b.Pending(servertest.Pod("p", "6"))
	forged := servertest.Pod("p", "1")
	forged.Spec.SchedulerName, forged.ResourceVersion = "other", "7"
	if got := b.postFilter(forged, "a", "b"); !slices.Equal(*got.NodeNames, []string{"b"}) {
		t.Errorf("it is offered %v, though it asks for 6 CPUs", *got.NodeNames)
	}
	if on := b.Cluster.Snapshot().NodeByName("b"); on.Requested.MilliCPU != 6000 {
		t.Errorf("it counts for %dm CPU", on.Requested.MilliCPU)
	}
	forged.Name = "q"
	body := encode(t, extenderv1.ExtenderArgs{Pod: forged, NodeNames: &[]string{"a"}})
	if status, answer := b.Post("filter", body); status != 400 || string(answer) != errOtherPod.Error()+"\n" {
		t.Errorf("under another name it is answered %d %q", status, answer)
	}
}

func TestAMemberIsNotTakenOutOfItsGangByWhoeverPostsItsUID(t *testing.T) {
	b := newBench(t, benchOptions{gangs: true})
	b.Node("a", "4")
	var members []*corev1.Pod
	for _, name := range []string{"m1", "m2"} {
		pod := servertest.Pod(name, "1")
		pod.Labels = map[string]string{v1alpha1.LabelMuster: "g"}
		pod.Annotations = map[string]string{v1alpha1.AnnotationMinMember: "2"}
		members = append(members, b.Pending(pod))
	}
	b.postFilter(members[0], "a")
	forged := servertest.Pod("m2", "1")
	b.postFilter(forged, "a")
	if report := b.gangs.Observer.Report(); len(report) != 1 || report[0].Placed != 2 {
		t.Errorf("the gangs are %+v, want one with two places", report)
	}
}

func TestNobodyIsPlannedOrEvictedForAGangThatTheWatchDoesNotShow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		told := &postponedPods{refusedPods: refusedPods{}}
		b := newExtenderBench(t, benchOptions{client: fake.NewClientset(), gangs: true, refusals: told})
		b.Node("a", "4")
		victim := servertest.Pod("victim", "4")
		victim.Spec.NodeName, victim.Spec.Priority = "a", new(int32(1_000_000_000))
		b.Pending(victim)
		ghost := servertest.Pod("ghost", "4")
		ghost.Labels = map[string]string{v1alpha1.LabelMuster: "g"}
		ghost.Annotations = map[string]string{v1alpha1.AnnotationMinMember: "1"}
		ghost.Spec.Priority = new(int32(2147483647))

		started := time.Now()
		var filtered extenderv1.ExtenderFilterResult
		b.answer("filter", extenderv1.ExtenderArgs{Pod: ghost, NodeNames: &[]string{"a"}}, &filtered)
		if len(*filtered.NodeNames) != 0 || filtered.FailedAndUnresolvableNodes["a"] != core.ReasonUnknown {
			t.Errorf("a member that nobody knows is offered %v, refused for %v", *filtered.NodeNames, filtered.FailedAndUnresolvableNodes)
		}
		if waited := time.Since(started); waited != watchLag {
			t.Errorf("the watch had %s to show the pod, want %s", waited, watchLag)
		}
		for _, uid := range []string{"made-up", string(victim.UID)} {
			told.node = ""
			var preempted extenderv1.ExtenderPreemptionResult
			b.answer("preempt", extenderv1.ExtenderPreemptionArgs{
				Pod:                   ghost,
				NodeNameToMetaVictims: map[string]*extenderv1.MetaVictims{"a": {Pods: []*extenderv1.MetaPod{{UID: uid}}}},
			}, &preempted)
			if len(preempted.NodeNameToMetaVictims) != 0 {
				t.Errorf("where %s is proposed, the victim is %v", uid, preempted.NodeNameToMetaVictims["a"].Pods[0])
			}
			if told.node != "a" {
				t.Errorf("where %s is proposed, it may evict others later on node %q", uid, told.node)
			}
		}
		if report := b.gangs.Observer.Report(); len(report) != 0 {
			t.Errorf("there are gangs: %+v", report)
		}
	})
}

func TestACallWaitsForThePodThatTheWatchIsAboutToShow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newExtenderBench(t, benchOptions{selection: config.NodeSelectionMuster, client: fake.NewClientset()})
		b.Node("a", "4")
		pod := servertest.Pod("p", "1")
		var answered sync.WaitGroup
		answered.Go(func() {
			b.answer("filter", extenderv1.ExtenderArgs{Pod: pod, NodeNames: &[]string{"a"}}, &extenderv1.ExtenderFilterResult{})
		})
		synctest.Wait()
		b.Pending(pod)
		answered.Wait()
		if got := b.Cluster.Assumed(pod.UID); got != "a" {
			t.Errorf("it counts on %q: it was taken for one that there is not", got)
		}
	})
}

// answer calls a verb without HTTP.
func (b *bench) answer(verb string, request, answer any) {
	b.Helper()
	var c call
	if _, err := c.serve(b.Context(), b.extender.verb(verb), encode(b.TB, request)); err != nil {
		b.Fatal(err)
	}
	if err := json.Unmarshal(c.memory.reply.Buf, answer); err != nil {
		b.Fatal(err)
	}
}

func encode(t testing.TB, value any) []byte {
	t.Helper()
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return encoded
}

// kube-scheduler may not offer the place of a member, and then others only.
func TestAMemberThatHasToBeNearOthersComesToNoOtherNode(t *testing.T) {
	for name, near := range map[string]bool{"near each other": true, "as they like": false} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, benchOptions{gangs: true})
			for rack, cpu := range map[string]string{"a": "2", "b": "1"} {
				b.Node(rack, cpu, func(node *corev1.Node) { node.Labels = map[string]string{"example.com/rack": rack} })
			}
			var members []*corev1.Pod
			for _, name := range []string{"m1", "m2"} {
				pod := servertest.Pod(name, "1")
				pod.Labels = map[string]string{v1alpha1.LabelMuster: "g"}
				pod.Annotations = map[string]string{v1alpha1.AnnotationMinMember: "2"}
				if near {
					pod.Annotations[v1alpha1.AnnotationRequiredTopology] = "example.com/rack"
				}
				members = append(members, b.Pending(pod))
			}
			b.postFilter(members[0], "a", "b")
			got := b.postFilter(members[1], "b")
			if offered := len(*got.NodeNames) > 0; offered == near {
				t.Errorf("the other member is offered %v", *got.NodeNames)
			}
		})
	}
}

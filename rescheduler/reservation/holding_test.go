package reservation

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	schedulingv1alpha1 "muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

// promise is room for pods of 1 CPU, one on each of these nodes. The holder's pods have its name for a label, which says their set.
func (w *world) promise(nodes ...string) *Promise {
	w.Helper()
	p := &Promise{Holder: "holder", Name: "the holder", Of: func(pod *cluster.Pod) (string, bool) {
		set, is := pod.Labels["holder"]
		return set, is && !pod.Placeholder
	}}
	for i, node := range nodes {
		name := fmt.Sprint("holder/", i)
		p.Spots = append(p.Spots, Spot{Set: "main", Pod: cluster.NewPod(w.pod(name, "1")), Node: w.cluster.Snapshot().NodeByName(node)})
	}
	return p
}

// held is a pod of a set of the holder.
func (w *world) held(name, set string) *corev1.Pod {
	pod := w.pod(name, "1")
	pod.Labels = map[string]string{"holder": set}
	return pod
}

// hold keeps room.
func (w *world) hold(nodes ...string) {
	w.Helper()
	if err := w.keeper.Hold(w.promise(nodes...)); err != nil {
		w.Fatal(err)
	}
}

// take has a pending pod take the room that is kept for it, as a filter call does, and returns the node; "" for none.
func (w *world) take(pod *corev1.Pod) string {
	w.Helper()
	w.set(pod)
	pending := w.cluster.PendingPod(pod.UID)
	store := w.keeper.profiles.Of(pod.Spec.SchedulerName)
	for _, place := range w.keeper.Claim(pending, store.Profile).Places {
		on, suits := place.Suits(pending, store.Profile, w.cluster.Snapshot())
		if !suits {
			continue
		}
		if err := w.keeper.Take(&place, pending, on); err != nil {
			w.Fatal(err)
		}
		return place.Node
	}
	return ""
}

// bind has the watch show a pod on a node, and the holder's room end that it needs no more.
func (w *world) bind(pod *corev1.Pod, node string) Standing {
	w.Helper()
	bound := pod.DeepCopy()
	bound.Spec.NodeName = node
	w.set(bound)
	s, _ := w.keeper.Came("holder", []*cluster.Pod{cluster.NewPod(bound)})
	return s
}

// keptOn returns the nodes on which room is kept that nobody has taken, with their numbers of pods.
func (w *world) keptOn() map[string]int {
	kept := map[string]int{}
	for node := range w.cluster.Snapshot().Nodes() {
		for _, pod := range node.Pods {
			if pod.Placeholder {
				kept[node.Name]++
			}
		}
	}
	return kept
}

func TestRoomThatWasPromisedIsForPodsOfTheHolder(t *testing.T) {
	w := newWorld(t)
	w.hold("n1", "n2")
	if got := w.take(w.pod("stranger", "1")); got != "" {
		t.Errorf("a stranger has room on %s", got)
	}
	if got := w.take(w.held("other", "other")); got != "" {
		t.Errorf("a pod of another set has room on %s", got)
	}
	first := w.held("first", "main")
	node := w.take(first)
	if diff := cmp.Diff(map[string]int{"n1": 1, "n2": 1}, withTaken(w.keptOn(), node)); diff != "" || node == "" {
		t.Fatalf("with room on %q it is kept (-want +got):\n%s", node, diff)
	}
	w.keeper.Refresh()
	if kept := w.keptOn(); kept[node] > 0 {
		t.Errorf("room that was taken is kept again: %v", kept)
	}
	w.cluster.Release(first.UID)
	w.keeper.Refresh()
	if kept := w.keptOn(); kept[node] == 0 {
		t.Errorf("room whose taker went away is not kept again: %v", kept)
	}
}

func withTaken(kept map[string]int, node string) map[string]int {
	kept[node]++
	return kept
}

func TestRoomEndsAsPodsAreBound(t *testing.T) {
	for name, test := range map[string]struct {
		take, bind string // the node of the room that the pod takes, and the node to which it is bound
		kept       map[string]int
	}{
		"to the room that it took":            {take: "n1", bind: "n1", kept: map[string]int{"n2": 1}},
		"to where room was kept":              {bind: "n2", kept: map[string]int{"n1": 1}},
		"to another node":                     {bind: "n3", kept: map[string]int{"n2": 1}},
		"elsewhere than to the room it took":  {take: "n1", bind: "n3", kept: map[string]int{"n2": 1}},
		"to room of another, and it took one": {take: "n1", bind: "n2", kept: map[string]int{"n2": 1}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.node("n3", "4")
			w.hold("n1", "n2")
			pod := w.held("pod", "main")
			if test.take != "" {
				if got := w.take(pod); got != test.take {
					t.Fatalf("it took room on %q", got)
				}
			}
			for range 2 { // a pod counts once
				if s := w.bind(pod, test.bind); s.Kept["main"] != 1 || s.Came["main"] != 1 {
					t.Errorf("it stands as %+v", s)
				}
			}
			if diff := cmp.Diff(test.kept, w.keptOn()); diff != "" {
				t.Errorf("room is kept (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPodsThatHadRoomBeforeTakeNone(t *testing.T) {
	w := newWorld(t)
	before := w.held("before", "main")
	before.Spec.NodeName = "n1"
	w.set(before)
	p := w.promise("n1")
	p.Came = []*cluster.Pod{cluster.NewPod(before)}
	if err := w.keeper.Hold(p); err != nil {
		t.Fatal(err)
	}
	w.keeper.Refresh()
	s := w.bind(before, "n1")
	if diff := cmp.Diff(Standing{Kept: map[string]int{"main": 1}, Came: map[string]int{"main": 1}}, s); diff != "" {
		t.Errorf("it stands (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"n1": 1}, w.keptOn()); diff != "" {
		t.Errorf("room is kept (-want +got):\n%s", diff)
	}
}

// A gang takes places as a whole, without a claim for each member.
func TestAGangHasRoomThatWasPromisedToItsMembers(t *testing.T) {
	w := newWorld(t)
	w.hold("n1", "n2")
	pod := w.held("member", "main")
	w.set(pod)
	member := w.cluster.PendingPod(pod.UID)
	if got := w.keeper.Reserved([]*cluster.Pod{member}); got.Len() != 2 {
		t.Errorf("%d rooms are for it", got.Len())
	}
	if err := w.cluster.AssumeAll([]*cluster.Pod{member}, w.cluster.Snapshot().NodeByName("n2")); err != nil {
		t.Fatal(err)
	}
	w.keeper.Refresh()
	if diff := cmp.Diff(map[string]int{"n1": 1}, w.keptOn()); diff != "" {
		t.Errorf("room is kept (-want +got):\n%s", diff)
	}
}

func TestNoRoomIsPromisedOnANodeThatHasChanged(t *testing.T) {
	w := newWorld(t)
	p := w.promise("n1", "n2")
	w.assume("meanwhile", "n2")
	if err := w.keeper.Hold(p); !errors.Is(err, cluster.ErrNodeChanged) {
		t.Errorf("it said %v", err)
	}
	if kept := w.keptOn(); len(kept) > 0 {
		t.Errorf("room is kept: %v", kept)
	}
}

func TestRoomThatWasPromisedEnds(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(*world)
		kept map[string]int
		want Standing
	}{
		"it is let": {end: func(w *world) { w.keeper.Let("holder") }, kept: map[string]int{}},
		"a node is gone": {
			end: (*world).loseNode, kept: map[string]int{"n1": 1},
			want: Standing{Kept: map[string]int{"main": 1}, Came: map[string]int{}},
		},
		"the system needs it": {
			end: (*world).systemPodCame, kept: map[string]int{},
			want: Standing{Kept: map[string]int{"main": 2}, Came: map[string]int{}, GaveUp: true},
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.hold("n1", "n2")
			test.end(w)
			s, known := w.keeper.Came("holder", nil)
			if diff := cmp.Diff(test.want, s); diff != "" || known != (test.want.Kept != nil) {
				t.Errorf("it is known: %t, and stands (-want +got):\n%s", known, diff)
			}
			if diff := cmp.Diff(test.kept, w.keptOn()); diff != "" {
				t.Errorf("room is kept (-want +got):\n%s", diff)
			}
		})
	}
}

func (w *world) loseNode() {
	w.Helper()
	node := &corev1.Node{}
	node.Name = "n2"
	if err := w.cluster.Delete(node); err != nil {
		w.Fatal(err)
	}
}

func (w *world) systemPodCame() {
	w.Helper()
	object := w.pod("system", "2")
	object.Spec.Priority = new(int32(schedulingv1alpha1.SystemCritical))
	w.set(object)
	pod := w.cluster.PendingPod(types.UID("system"))
	anywhere := func(*cluster.Node) bool { return true }
	if !w.keeper.GiveWay(pod, w.keeper.profiles.Of(pod.Spec.SchedulerName).Profile, anywhere) {
		w.Fatal("nothing gave way")
	}
}

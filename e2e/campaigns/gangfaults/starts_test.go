package gangfaults

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/devices"
	"muster.dev/muster/e2e/workload"
)

func gated(p *corev1.Pod) {
	p.Status.Phase = corev1.PodPending
	p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: v1alpha1.SchedulingGate}}
}
func open(p *corev1.Pod)    { p.Status.Phase = corev1.PodPending }
func nominee(p *corev1.Pod) { p.Status.NominatedNodeName = "n" }
func most(p *corev1.Pod)    { p.Spec.Priority = new(int32(9)) }

// node tells of the node n.
func (t *tale) node(cores int64) *tale {
	return t.tell(entry{node: workload.NewNode("n", workload.Milli(1000*cores), workload.Room(64, 20))})
}

func TestAGangIsLetGoWithItsPlacesKept(t *testing.T) {
	for name, test := range map[string]struct {
		tale  *tale
		found int
		want  letGo
	}{
		"both were nominated before": {
			newTale().node(2).group(2, "").pod("a", gated).pod("b", gated).pod("x", single).
				pod("a", gated, nominee).pod("b", gated, nominee).pod("a", open, nominee).pod("b", open, nominee),
			0,
			letGo{reserved: 2},
		},
		"one of them was not": {
			newTale().node(2).group(2, "").pod("a", gated).pod("b", gated).pod("x", single).
				pod("a", gated, nominee).pass(long).pod("a", open, nominee).pod("b", open),
			2,
			letGo{},
		},
		"the nomination of one was taken back": {
			newTale().node(2).group(2, "").pod("a", gated, nominee).pod("b", gated, nominee).pod("x", single).
				pod("b", gated).pass(long).pod("a", open, nominee).pod("b", open),
			2,
			letGo{},
		},
		"it was taken back just before": {
			newTale().node(2).group(2, "").pod("a", gated, nominee).pod("b", gated, nominee).pod("x", single).
				pod("b", gated).pass(-500*time.Millisecond).pod("a", open, nominee),
			0,
			letGo{reserved: 1},
		},
		"there is room and nobody else": {
			newTale().node(2).group(2, "").pod("a", gated).pod("b", gated).pod("a", open).pod("b", open),
			0,
			letGo{uncontested: 2},
		},
		"there is room, and somebody else who leaves it": {
			newTale().node(3).group(2, "").pod("a", gated).pod("b", gated).pod("x", single).pod("a", open).pod("b", open),
			0,
			letGo{uncontested: 2},
		},
		"somebody else may take it": {
			newTale().node(2).group(2, "").pod("a", gated).pod("b", gated).pod("x", single).pass(long).pod("a", open).pod("b", open),
			2,
			letGo{},
		},
		"somebody else has just come": {
			newTale().node(2).group(2, "").pod("a", gated).pod("b", gated).pass(-500*time.Millisecond).pod("x", single).
				pass(-500*time.Millisecond).pod("a", open),
			1,
			letGo{},
		},
		"somebody else comes before all are bound": {
			newTale().node(2).group(2, "").pod("a", gated).pod("b", gated).pod("a", open).pass(-500*time.Millisecond).pod("x", single),
			1,
			letGo{},
		},
		"somebody else comes when all are bound": {
			newTale().node(2).group(2, "").pod("a", gated).pod("b", gated).pod("a", open).pass(-990*time.Millisecond).pod("b", open).
				pass(-990*time.Millisecond).pod("a", bound).pass(-990*time.Millisecond).pod("b", bound).pass(-990*time.Millisecond).pod("x", single),
			0,
			letGo{uncontested: 2},
		},
		"a more important one comes before all are bound": {
			newTale().node(2).group(2, "").pod("a", gated).pod("b", gated).pod("a", open).pass(-500*time.Millisecond).pod("x", single, most),
			0,
			letGo{uncontested: 1},
		},
		"somebody else comes long after": {
			newTale().node(2).group(2, "").pod("a", gated).pod("b", gated).pod("a", open).pass(long).pod("x", single), 0, letGo{uncontested: 1},
		},
		"somebody else who is gated": {
			newTale().node(2).group(2, "").pod("a", gated).pod("b", gated).pod("x", single, gated).pass(long).pod("a", open).pod("b", open),
			0,
			letGo{uncontested: 2},
		},
		"somebody else who is gated and has reserved it": {
			newTale().node(2).group(2, "").pod("a", gated).pod("b", gated).pod("x", single, gated, nominee).pass(long).pod("a", open),
			1,
			letGo{},
		},
		"a more important one who is gated and has reserved what another one has": {
			newTale().node(2).group(2, "").pod("a", gated, most).pod("b", gated, most).pod("x", single, gated, nominee).pass(long).
				pod("a", open, most),
			0,
			letGo{uncontested: 1},
		},
		"there is no room": {
			newTale().node(1).group(2, "").pod("a", gated).pod("b", gated).pass(long).pod("a", open), 1, letGo{},
		},
		"there are too few members": {
			newTale().node(2).group(3, "").pod("a", gated).pod("b", gated).pass(long).pod("a", open), 1, letGo{},
		},
		"another one follows a gang that has started": {
			newTale().node(2).group(2, "").pod("a", bound).pod("b", bound).pod("c", gated).pass(long).pod("c", open), 0, letGo{},
		},
		"another one replaces a lost one, and has its place": {
			newTale().node(2).group(2, "").pod("a", bound).pod("c", gated, nominee).pod("x", single).pass(long).pod("c", open, nominee),
			0,
			letGo{reserved: 1},
		},
		"another one replaces a lost one, and others may take the place": {
			newTale().node(2).group(2, "").pod("a", bound).pod("c", gated).pod("x", single).pass(long).pod("c", open), 1, letGo{},
		},
		"one that is going": {
			newTale().node(1).group(2, "").pod("a", gated).pod("b", gated).pass(long).pod("a", open, deleting), 0, letGo{},
		},
		"its PodGroup is new, and others may take its places": {
			newTale().node(2).pod("a", gated).pod("b", gated).pod("x", single).pass(-900*time.Millisecond).group(2, "").
				pass(-900*time.Millisecond).pod("a", open),
			1,
			letGo{},
		},
		"a pod of no gang":                   {newTale().node(0).pod("a", single, gated).pass(long).pod("a", single, open), 0, letGo{}},
		"nobody says how many there must be": {newTale().node(0).pod("a", gated).pass(long).pod("a", open), 0, letGo{}},
	} {
		t.Run(name, func(t *testing.T) {
			v := judgeLetGo(test.tale.entries, 0)
			if len(v.findings) != test.found || v.reserved != test.want.reserved || v.uncontested != test.want.uncontested {
				t.Errorf("findings %v, %d reserved and %d uncontested, want %d findings and %+v", v.findings, v.reserved, v.uncontested, test.found,
					test.want)
			}
		})
	}
}

func TestWhatMusterIsKeptFromKnowingIsNotHeldAgainstIt(t *testing.T) {
	late := newTale().node(2).group(2, "").pod("a", gated).pod("b", gated).pod("x", single).pass(long).pod("a", open)
	if v := judgeLetGo(late.entries, 0); len(v.findings) != 1 {
		t.Errorf("findings %v, want one", v.findings)
	}
	if v := judgeLetGo(late.entries, 2*long); len(v.findings) > 0 {
		t.Errorf("findings %v, want none when it knows of nobody else yet", v.findings)
	}
}

func TestGapsAreExplainedByWhatHappened(t *testing.T) {
	quick := -900 * time.Millisecond // the step after it is 100 ms later
	for name, test := range map[string]struct {
		tale      *tale
		disturbed bool
		want      []cause
	}{
		"whole soon": {tale: newTale().group(2, "").pod("a", gated).pod("b", gated).pod("a", bound).pass(quick).pod("b", bound)},
		"one is late": {
			tale: newTale().group(2, "").pod("a").pod("b").pass(long).pod("a", bound).pass(long).pod("b", bound), want: []cause{nothingIs},
		},
		"one never comes": {tale: newTale().group(2, "").pod("a").pod("b").pass(long).pod("a", bound).pass(long), want: []cause{nothingIs}},
		"it is said why": {
			tale: newTale().group(2, "").pod("a", bound).pod("b").group(2, "Unschedulable").pass(long), want: []cause{nothingIs},
		},
		"one is lost": {
			tale: newTale().group(2, "").pod("a", bound).pass(quick).pod("b", bound).pass(long).lost("b").pass(long), want: []cause{membersLost},
		},
		"more are wanted": {
			tale: newTale().group(2, "").pod("a", bound).pass(quick).pod("b", bound).pass(long).group(3, "").pass(long), want: []cause{membersLost},
		},
		"a node is closed": {tale: closed(newTale().group(2, "").pod("a", bound)).pass(long).pod("b", bound), want: []cause{membersLost}},
		"a higher one is bound": {
			tale: newTale().group(2, "").pod("a", bound).pod("x", single, most, bound).pass(long).pod("b", bound), want: []cause{higherCame},
		},
		"an equal one is bound": {
			tale: newTale().group(2, "").pod("a", bound).pod("x", single, bound).pass(long).pod("b", bound), want: []cause{nothingIs},
		},
		"a process was down": {
			tale: newTale().group(2, "").pod("a", bound).pass(long).pod("b", bound), disturbed: true, want: []cause{wasDisturbed},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got []cause
			for _, g := range judgeGaps(test.tale.entries, test.tale.at, func(string, span) bool { return test.disturbed }) {
				got = append(got, g.because)
			}
			if len(got) != len(test.want) || len(got) == 1 && got[0] != test.want[0] {
				t.Errorf("the gaps are explained by %q, want %q", got, test.want)
			}
		})
	}
}

// closed tells that the node is cordoned.
func closed(t *tale) *tale {
	t.node(2)
	node := t.entries[len(t.entries)-1].node
	node.Spec.Unschedulable = true
	return t
}

func TestGangsAreCountedByTheGapThatTheLeastExplains(t *testing.T) {
	now := time.Now()
	of := func(gang string, because cause) gap { return gap{gang, span{now, now.Add(2 * time.Second)}, because} }
	all := &tally{}
	all.add(7, 3, []gap{of("a", nothingIs), of("a", membersLost), of("b", higherCame)})
	all.add(8, 1, nil)
	var out strings.Builder
	all.figures(&out)
	for _, want := range []string{
		"  seed 7: gang a is bound in part for 2s\n", "figure ahead_partial_1s_per_1000=500.0\n", "figure ahead_partial_1s_lost_per_1000=0.0\n",
		"figure ahead_partial_1s_higher_per_1000=250.0\n", "figure ahead_partial_1s_none_per_1000=250.0\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
}

// claimOf is a claim of a pod, which holds devices of a pool.
func claimOf(pod, pool string, held ...string) entry {
	claim := &resourcev1.ResourceClaim{ObjectMeta: metav1.ObjectMeta{
		Name: "of-" + pod, UID: types.UID("claim-" + pod),
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod, UID: types.UID(pod), Controller: new(true)}},
	}}
	if len(held) > 0 {
		claim.Status.Allocation = &resourcev1.AllocationResult{}
	}
	for _, device := range held {
		claim.Status.Allocation.Devices.Results = append(claim.Status.Allocation.Devices.Results,
			resourcev1.DeviceRequestAllocationResult{Driver: devices.Driver, Pool: pool, Device: device})
	}
	return entry{claim: claim}
}

func podOn(name, node string) entry {
	return entry{pod: &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name)}, Spec: corev1.PodSpec{NodeName: node}}}
}

func gone(e entry) entry {
	e.gone = true
	return e
}

func TestDevicesThatAreHeldInVainAreFound(t *testing.T) {
	for name, test := range map[string]struct {
		history   []entry
		want      []string // kinds of findings
		takenBack int
	}{
		"a pod that runs has its devices": {
			history: []entry{podOn("a", ""), claimOf("a", "n"), claimOf("a", "n", "0"), podOn("a", "n")},
		},
		"nothing is allocated yet": {history: []entry{podOn("a", ""), claimOf("a", "n")}},
		"a pod is on no node":      {history: []entry{podOn("a", ""), claimOf("a", "n", "0")}, want: []string{claimLeft}},
		"a pod is gone":            {history: []entry{podOn("a", "n"), claimOf("a", "n", "0"), gone(podOn("a", "n"))}, want: []string{claimLeft}},
		"a claim is gone with it": {
			history: []entry{podOn("a", "n"), claimOf("a", "n", "0"), gone(podOn("a", "n")), gone(claimOf("a", "n", "0"))},
		},
		"what was allocated in vain is taken back": {
			history: []entry{podOn("a", ""), claimOf("a", "n", "0"), claimOf("a", "n")}, takenBack: 1,
		},
		"two claims hold one device": {
			history: []entry{podOn("a", "n"), podOn("b", "n"), claimOf("a", "n", "0", "1"), claimOf("b", "n", "1")},
			want:    []string{deviceTwice},
		},
		"devices of two nodes have one name": {
			history: []entry{podOn("a", "n"), podOn("b", "m"), claimOf("a", "n", "0"), claimOf("b", "m", "0")},
		},
		"one has it after the other": {
			history:   []entry{podOn("a", "n"), podOn("b", "n"), claimOf("a", "n", "0"), claimOf("a", "n"), claimOf("b", "n", "0")},
			takenBack: 1,
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := judgeDevices(test.history)
			var kinds []string
			for _, f := range v.findings {
				kinds = append(kinds, f.What)
			}
			if !slices.Equal(kinds, test.want) || v.takenBack != test.takenBack {
				t.Errorf("found %v, and %d taken back, want %v and %d", v.findings, v.takenBack, test.want, test.takenBack)
			}
			if want := slices.Contains(test.want, claimLeft); (v.left > 0) != want {
				t.Errorf("%d claims were left behind", v.left)
			}
		})
	}
}

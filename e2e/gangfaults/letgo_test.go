package gangfaults

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/faultcampaign"
)

func gated(p *corev1.Pod) {
	p.Status.Phase = corev1.PodPending
	p.Spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: v1alpha1.SchedulingGate}}
}
func open(p *corev1.Pod)    { p.Status.Phase = corev1.PodPending }
func nominee(p *corev1.Pod) { p.Status.NominatedNodeName = "n" }
func most(p *corev1.Pod)    { p.Spec.Priority = new(int32(9)) }

// node tells of the node n.
func (t *tale) node(cores int64) *tale { return t.tell(entry{node: faultcampaign.NewNode("n", cores)}) }

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

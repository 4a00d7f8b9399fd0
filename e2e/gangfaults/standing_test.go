package gangfaults

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/faultcampaign"
)

// life tells of a PodGroup of another UID, after the one before it is gone.
func (t *tale) life(uid string, g *gang) *tale {
	object := g.podGroup()
	object.SetUID(types.UID(uid))
	return t.tell(entry{group: object})
}

func (t *tale) state() *state {
	s := newState()
	for _, e := range t.entries {
		s.apply(e)
	}
	return s
}

func in(group string) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Labels = map[string]string{v1alpha1.LabelX: group} }
}

func TestWhatFinishedInAFormerLifeDoesNotCount(t *testing.T) {
	g := &gang{name: "g", label: v1alpha1.LabelX, minMember: 2}
	key := groupKey{v1alpha1.LabelX, "g"}
	tale := newTale().life("1", g).pod("a", succeeded).life("2", g).pod("b", bound)
	if got := tale.state().standing(key).got(); got != 1 {
		t.Errorf("%d count, want only the second", got)
	}
	if tale.pod("c", succeeded); tale.state().standing(key).got() != 2 {
		t.Errorf("what finishes later does not count")
	}
	calls := []call{{pod: "d", gang: "g", arrived: tale.at, let: tale.at}}
	former := newTale().life("1", g).pod("a", succeeded).life("2", g).pod("d").pass(time.Hour)
	calls[0].arrived, calls[0].let = former.at, former.at
	if findings := judgeStarts(former.entries, calls, former.at, 0); len(findings) != 1 {
		t.Errorf("found %v when one is let go beside one of a former life", findings)
	}
}

func TestAGangThatMayStartOneByOneIsNotPartial(t *testing.T) {
	key := groupKey{v1alpha1.LabelX, "g"}
	for match, partial := range map[v1alpha1.MatchPolicy]bool{"": true, v1alpha1.MatchOnceSatisfied: false} {
		g := &gang{name: "g", label: v1alpha1.LabelX, minMember: 2, match: match}
		tale := newTale().life("1", g).pod("a", bound).pod("b", bound).lost("b")
		if got := tale.state().standing(key).partial(); got != partial {
			t.Errorf("match policy %q: one of two is bound, which is partial: %t", match, got)
		}
		if tale.life("2", g); !tale.state().standing(key).partial() {
			t.Errorf("match policy %q: it is not partial in another life", match)
		}
	}
}

func TestGroupsThatStartTogetherAreJudgedTogether(t *testing.T) {
	names := []string{"g", "h"}
	g := &gang{name: "g", label: v1alpha1.LabelX, minMember: 1, with: names}
	h := &gang{name: "h", label: v1alpha1.LabelX, minMember: 2, with: names}
	both := func() *tale {
		return newTale().life("1", g).life("2", h).pod("g-0").pod("h-0", in("h")).pod("h-1", in("h"))
	}
	for name, test := range map[string]struct {
		cores   int64
		tale    *tale
		settled bool
	}{
		"there is room for all":         {3, both(), false},
		"there is room for one of them": {2, both(), true},
		"one of them has no PodGroup":   {3, newTale().life("1", g).pod("g-0").pod("h-0", in("h")).pod("h-1", in("h")), true},
		"one of them has too few":       {3, newTale().life("1", g).life("2", h).pod("g-0").pod("h-0", in("h")), true},
	} {
		t.Run(name, func(t *testing.T) {
			s := test.tale.state()
			s.apply(entry{node: faultcampaign.NewNode("n", test.cores)})
			if because := s.unsettled(); (len(because) == 0) != test.settled {
				t.Errorf("unsettled because %v, want settled: %t", because, test.settled)
			}
		})
	}
	tale := both().pass(time.Hour)
	held := func(pods ...string) (calls []call) {
		for _, pod := range pods {
			calls = append(calls, call{pod: pod, gang: gangOf(pod), arrived: tale.at})
		}
		calls[0].let = tale.at
		return calls
	}
	if findings := judgeStarts(tale.entries, held("g-0", "h-0", "h-1"), tale.at, 0); len(findings) > 0 {
		t.Errorf("found %v when all are held", findings)
	}
	if findings := judgeStarts(tale.entries, held("g-0", "h-0"), tale.at, 0); len(findings) != 1 {
		t.Errorf("found %v when one of the other group is missing", findings)
	}
}

func TestMembersThatTheSchedulerRefusesMakeNoGang(t *testing.T) {
	node := entry{node: faultcampaign.NewNode("n", 3)}
	one := newTale().tell(node).group(2, "").pod("a").pod("b", refusedByScheduler)
	if because := one.state().unsettled(); len(because) > 0 {
		t.Errorf("unsettled because %v, and one of two is refused", because)
	}
	if because := one.pod("c").state().unsettled(); len(because) == 0 {
		t.Error("settled, and there are two others")
	}
}

func TestAGangWaitsForTheResourcesThatItAsksFor(t *testing.T) {
	g := &gang{name: "g", label: v1alpha1.LabelX, minMember: 2}
	for asks, settled := range map[int64]bool{0: false, 4000: false, 4001: true} {
		g.asks = asks
		s := newTale().life("1", g).pod("a").pod("b").tell(entry{node: faultcampaign.NewNode("n", 4)}).state()
		if because := s.unsettled(); (len(because) == 0) != settled {
			t.Errorf("it asks for %d of 4000: unsettled because %v", asks, because)
		}
	}
}

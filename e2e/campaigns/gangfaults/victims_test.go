package gangfaults

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/workload"
)

// low makes a pod one of no gang, of a lower priority than members.
func low(p *corev1.Pod) { p.Labels, p.Spec.Priority = nil, new(int32(-1)) }

// evicted tells that a pod of no gang goes, and the member that it goes for, as kube-scheduler says.
func (t *tale) evicted(victim, by string) *tale {
	t.tell(entry{pod: pod(victim, low, bound)}).tell(entry{pod: pod(victim, low, bound), gone: true})
	return t.tell(entry{event: &corev1.Event{
		InvolvedObject: corev1.ObjectReference{UID: types.UID(victim), Name: victim},
		Message:        "Preempted by pod " + by + " on node n", Reason: "Preempted",
	}})
}

// cleared tells the same as muster says it.
func (t *tale) cleared(victim string) *tale {
	t.tell(entry{pod: pod(victim, low, bound)}).tell(entry{pod: pod(victim, low, bound), gone: true})
	return t.tell(entry{event: &corev1.Event{
		InvolvedObject: corev1.ObjectReference{UID: types.UID(victim), Name: victim},
		Message:        "evicted from node n to make room for gang default/g", Reason: "Preempted",
	}})
}

func refusedByScheduler(p *corev1.Pod) {
	p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{}}}}
}

func TestPodsGoForGangsThatStart(t *testing.T) {
	again := func(t *tale) *tale { return t.evicted("v", "g-0").pass(2 * roundLimit).cleared("w") }
	two := func() *tale { return newTale().group(2, "").pod("g-0").pod("g-1").pass(time.Minute) }
	starts := func(t *tale) *tale { return t.pod("g-0", bound).pod("g-1", bound) }
	const later = 2 * roundLimit
	for name, test := range map[string]struct {
		tale      *tale
		came      []string // who the scheduler has bound in the end
		disturbed bool     // in between
		evicted   int
		want      string // "" for nothing
	}{
		"nobody goes":                     {tale: two()},
		"one goes, and the gang starts":   {tale: starts(two().evicted("v", "g-0")), evicted: 1},
		"one goes, and the gang does not": {tale: two().cleared("v").pass(later), evicted: 1, want: evictedInVain},
		"a member is lost":                {tale: two().evicted("v", "g-0").lost("g-1").pass(later), evicted: 1},
		"a node is lost": {
			tale: two().evicted("v", "g-0").tell(entry{node: workload.NewNode("n", "1", workload.Room(64, 20))}), evicted: 1,
		},
		"something was disturbed":             {tale: two().evicted("v", "g-0").pass(later), disturbed: true, evicted: 1},
		"somebody of the same priority comes": {tale: two().evicted("v", "g-0").pod("s", single).pod("s", single, bound).pass(later), evicted: 1},
		"the scheduler refuses a member": {
			tale: newTale().group(2, "").pod("g-0").pod("g-1", refusedByScheduler).pass(time.Minute).evicted("v", "g-0").pass(later), evicted: 1,
		},
		"it is for a member of a gang that has started": {tale: starts(two()).pod("g-2").evicted("v", "g-2").pass(later)},
		"two go at once":                       {tale: starts(two().evicted("v", "g-0").evicted("w", "g-1")), evicted: 2},
		"two go one after the other":           {tale: starts(again(two())), evicted: 2, want: evictedTwice},
		"and a member has come in between":     {tale: starts(two().evicted("v", "g-0").pass(later).pod("g-2").cleared("w")), evicted: 2},
		"and something was disturbed":          {tale: starts(again(two())), disturbed: true, evicted: 2},
		"and the scheduler has bound them all": {tale: starts(again(two())), came: []string{"g-0", "g-1"}, evicted: 2},
		"and the scheduler has bound one of them": {
			tale: starts(again(two())), came: []string{"g-0"}, evicted: 2, want: evictedTwice,
		},
		"and the gang had started in between": {
			tale: starts(two().evicted("v", "g-0").pod("g-0", bound).pod("g-1", bound).lost("g-0").pod("g-2").pass(later).cleared("w")), evicted: 2,
		},
	} {
		t.Run(name, func(t *testing.T) {
			var calls []call
			for _, pod := range test.came {
				calls = append(calls, call{pod: pod, gang: "g", arrived: test.tale.at.Add(-8 * time.Second)})
			}
			var disturbed []time.Time
			if test.disturbed {
				disturbed = append(disturbed, test.tale.at.Add(-8*time.Second))
			}
			v := judgeVictims(test.tale.entries, calls, test.tale.at, 0, disturbed)
			if v.evicted != test.evicted {
				t.Errorf("%d are evicted for gangs, want %d", v.evicted, test.evicted)
			}
			if len(v.findings) > 1 || len(v.findings) == 1 != (test.want != "") || len(v.findings) == 1 && v.findings[0].What != test.want {
				t.Errorf("found %v, want %q", v.findings, test.want)
			}
		})
	}
}

func TestAGangThatCannotStartHoldsRoomForAsLongAsItsRestsAllow(t *testing.T) {
	g := &gang{name: "g", replicas: 3, timeout: 2 * time.Second}
	// It tries at 0, 3, 7 and 13 s.
	if got := mayHold(g.timeout, time.Second, 20*time.Second); got != 8*time.Second {
		t.Errorf("it may hold room for %s of 20 s, want 8 s", got)
	}
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, test := range map[string]struct {
		held   time.Duration
		writes int
		want   string
	}{
		"it does":                 {8 * time.Second, 10, ""},
		"it holds room for more":  {12 * time.Second, 10, keptRoom},
		"it is written about all": {8 * time.Second, 1000, wroteMuch},
	} {
		t.Run(name, func(t *testing.T) {
			v := vigil{from, from.Add(20 * time.Second), map[string]time.Duration{"g": test.held}, map[string]int{"g": test.writes}}
			findings := v.judge(map[string]*gang{"g": g})
			if len(findings) > 1 || len(findings) == 1 != (test.want != "") || len(findings) == 1 && findings[0].What != test.want {
				t.Errorf("found %v, want %q", findings, test.want)
			}
		})
	}
}

func TestWhatTheStatusOfAPodGroupSaysIsHeldAgainstItsPods(t *testing.T) {
	waiting := condition{metav1.ConditionFalse, "Waiting", "because"}
	started := condition{metav1.ConditionTrue, "Scheduled", "enough"}
	some := []*corev1.Pod{pod("a"), pod("b")}
	finished := groupStatus{phase: "Finished", scheduled: 2, succeeded: 2, condition: started}
	run := standing{bound: 2, running: 2}
	says := func(phase string, scheduled, running int, c condition) groupStatus {
		return groupStatus{phase: phase, scheduled: scheduled, running: running, condition: c}
	}
	for name, test := range map[string]struct {
		says groupStatus
		is   standing
		lies bool
	}{
		"nothing is there":           {groupStatus{phase: "Pending", condition: waiting}, standing{}, false},
		"nothing is said":            {groupStatus{}, standing{}, true},
		"members wait":               {groupStatus{phase: "PreScheduling", condition: waiting}, standing{pending: some}, false},
		"members are held":           {groupStatus{phase: "Scheduling", condition: waiting}, standing{pending: some}, false},
		"it says that they run":      {groupStatus{phase: "Running", running: 2, condition: started}, standing{pending: some}, true},
		"they run":                   {says("Running", 2, 2, started), run, false},
		"they are counted twice":     {says("Running", 4, 2, started), run, true},
		"the reason stays":           {says("Running", 2, 2, waiting), run, true},
		"the phase stays":            {says("Scheduled", 2, 2, started), run, true},
		"one is bound":               {says("Scheduling", 1, 0, waiting), standing{bound: 1, pending: some[:1]}, false},
		"nobody says why it waits":   {groupStatus{phase: "PreScheduling"}, standing{pending: some}, true},
		"they have finished":         {finished, standing{succeeded: 2}, false},
		"they are gone after that":   {finished, standing{}, false},
		"one is on its way":          {groupStatus{}, standing{going: 1}, false},
		"one may be of a former one": {groupStatus{}, standing{succeeded: 1, older: 1}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if why := test.says.lie(2, test.is); (why != "") != test.lies {
				t.Errorf("what is not so: %q, want something: %t", why, test.lies)
			}
		})
	}
}

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
			s.apply(entry{node: workload.NewNode("n", workload.Milli(1000*test.cores), workload.Room(64, 20))})
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
	node := entry{node: workload.NewNode("n", "3", workload.Room(64, 20))}
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
		s := newTale().life("1", g).pod("a").pod("b").tell(entry{node: workload.NewNode("n", "4", workload.Room(64, 20))}).state()
		if because := s.unsettled(); (len(because) == 0) != settled {
			t.Errorf("it asks for %d of 4000: unsettled because %v", asks, because)
		}
	}
}

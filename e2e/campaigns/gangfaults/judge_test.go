package gangfaults

import (
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/workload"
)

// tale is a history that is written by hand: each step is a second after the one before.
type tale struct {
	entries []entry
	at      time.Time
}

func newTale() *tale { return &tale{at: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)} }

func (t *tale) tell(e entry) *tale {
	t.at = t.at.Add(time.Second)
	e.at, e.version = t.at, uint64(len(t.entries)+1)
	t.entries = append(t.entries, e)
	return t
}

func (t *tale) pass(d time.Duration) *tale { t.at = t.at.Add(d); return t }

// group tells of a PodGroup g whose conditions say why it waits.
func (t *tale) group(minMember int, reason string) *tale {
	object := (&gang{name: "g", label: v1alpha1.LabelX, minMember: minMember}).podGroup()
	if reason != "" {
		object.Object["status"] = map[string]any{"conditions": []any{
			map[string]any{"type": "Scheduled", "status": "False", "reason": reason, "message": "because"},
		}}
	}
	return t.tell(entry{group: object})
}

func (t *tale) pod(name string, change ...func(*corev1.Pod)) *tale {
	return t.tell(entry{pod: pod(name, change...)})
}

func (t *tale) lost(name string) *tale { return t.tell(entry{pod: pod(name), gone: true}) }

// told tells of an event about a pod. muster and kube-scheduler report under one name.
func (t *tale) told(about, reason string) *tale {
	return t.tell(entry{event: &corev1.Event{
		InvolvedObject: corev1.ObjectReference{UID: types.UID(about)}, ReportingController: "default-scheduler", Reason: reason,
	}})
}

// ownGroup tells of the group g of Kubernetes' own.
func (t *tale) ownGroup(minCount int) *tale {
	object := (&gang{name: "g", label: native, minMember: minCount, near: nearness{required: rackKey}}).nativeGroup()
	object.SetUID("g")
	return t.tell(entry{group: object})
}

func own(p *corev1.Pod) {
	p.Labels, p.Spec.SchedulingGroup = nil, &corev1.PodSchedulingGroup{PodGroupName: new("g")}
}

func pod(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := workload.NewPod(name, "1")
	p.UID = types.UID(name)
	p.Labels = map[string]string{v1alpha1.LabelX: "g"}
	for _, f := range change {
		f(p)
	}
	return p
}

func bound(p *corev1.Pod)     { p.Spec.NodeName = "n" }
func succeeded(p *corev1.Pod) { p.Spec.NodeName, p.Status.Phase = "n", corev1.PodSucceeded }
func deleting(p *corev1.Pod)  { p.DeletionTimestamp = &metav1.Time{} }
func single(p *corev1.Pod)    { p.Labels = nil }
func bare(p *corev1.Pod) {
	p.Labels = map[string]string{v1alpha1.LabelMuster: "g"}
	p.Annotations = map[string]string{v1alpha1.AnnotationMinMember: "2"}
}

// finishedGroup is a PodGroup g that has finished, and asks for more.
func finishedGroup(minMember int) *unstructured.Unstructured {
	object := (&gang{name: "g", label: v1alpha1.LabelX, minMember: minMember}).podGroup()
	object.Object["status"] = map[string]any{"phase": "Finished"}
	return object
}

const long = partialLimit + time.Minute

func TestAGangThatIsBoundInPartHasThirtySeconds(t *testing.T) {
	for name, test := range map[string]struct {
		tale     *tale
		findings int
		started  int
	}{
		"nothing is bound":      {newTale().group(2, "").pod("a").pod("b").pass(long), 0, 0},
		"one is bound for good": {newTale().group(2, "").pod("a", bound).pod("b").pass(long), 1, 0},
		"one is bound at first": {
			newTale().group(2, "").pod("a", bound).pod("b").pass(10*time.Second).pod("b", bound).pass(long), 0, 1,
		},
		"the other one is bound too late":  {newTale().group(2, "").pod("a", bound).pod("b").pass(long).pod("b", bound), 1, 1},
		"the condition says why":           {newTale().group(2, "").pod("a", bound).pod("b").group(2, "Unschedulable").pass(long), 0, 0},
		"the condition says only that":     {newTale().group(2, "").pod("a", bound).pod("b").group(2, "Waiting").pass(long), 1, 0},
		"the condition says why too late":  {newTale().group(2, "").pod("a", bound).pod("b").pass(long).group(2, "Unschedulable"), 1, 0},
		"the condition says why no more":   {newTale().group(2, "Unschedulable").pod("a", bound).group(2, "").pass(long), 1, 0},
		"one is lost, and nobody says why": {newTale().group(2, "").pod("a", bound).pod("b", bound).lost("b").pass(long), 1, 1},
		"all are lost":                     {newTale().group(2, "").pod("a", bound).pod("b", bound).lost("b").lost("a").pass(long), 0, 1},
		"one is being deleted for good":    {newTale().group(2, "").pod("a", bound).pod("b", bound, deleting).pass(long), 1, 0},
		"one has succeeded":                {newTale().group(2, "").pod("a", succeeded).pod("b", bound).pass(long), 0, 1},
		"minMember is raised":              {newTale().group(2, "").pod("a", bound).pod("b", bound).group(3, "").pass(long), 1, 1},
		"minMember is lowered":             {newTale().group(3, "").pod("a", bound).pod("b", bound).group(2, "").pass(long), 0, 1},
		"it has finished, and minMember is raised": {
			newTale().group(1, "").pod("a", succeeded).tell(entry{group: finishedGroup(2)}).pass(long), 0, 1,
		},
		"the PodGroup is not there":           {newTale().pod("a", bound).pod("b").pass(long), 0, 0},
		"it says so itself, and nobody why":   {newTale().pod("a", bare, bound).pod("b", bare).pass(long), 1, 0},
		"it says so itself, and an event why": {newTale().pod("a", bare, bound).pod("b", bare).told("b", "MembersMissing").pass(long), 0, 0},
		"it says so itself, and the scheduler complains": {
			newTale().pod("a", bare, bound).pod("b", bare).told("b", "FailedScheduling").pass(long), 1, 0,
		},
		"it says so itself, and nobody waits": {newTale().pod("a", bare, bound).pass(long), 0, 0},
		"an event about one of Kubernetes' own groups": {
			newTale().ownGroup(2).pod("a", own, bound).pod("b", own).told("g", "Unschedulable").ownGroup(2).pass(long), 0, 0,
		},
		"an event about another of Kubernetes' own groups": {
			newTale().ownGroup(2).pod("a", own, bound).pod("b", own).told("h", "Unschedulable").pass(long), 1, 0,
		},
		"of two gaps none is too long": {
			newTale().group(2, "").pod("a", bound).pass(20*time.Second).lost("a").pod("b", bound).pass(20 * time.Second).lost("b"), 0, 0,
		},
		"an event about a pod with a PodGroup": {
			newTale().group(2, "").pod("a", bound).pod("b").told("b", "MembersMissing").pass(long), 1, 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			slices.Reverse(test.tale.entries) // their order is told by versions
			inOrder(test.tale.entries)
			v := judgeGangs(test.tale.entries, test.tale.at)
			if len(v.findings) != test.findings || v.started != test.started {
				t.Errorf("findings %v, %d gangs whole, want %d findings and %d gangs", v.findings, v.started, test.findings, test.started)
			}
			if len(v.findings) > 0 && v.longest <= partialLimit {
				t.Errorf("the longest was %s", v.longest)
			}
		})
	}
}

func TestNoMemberIsLetGoBelowQuorum(t *testing.T) {
	const far = time.Hour
	for name, test := range map[string]struct {
		tale  *tale
		calls func(now time.Time) []call // the pod that is let go first
		below bool
	}{
		"alone": {newTale().group(2, "").pod("g-0").pod("g-1"), func(now time.Time) []call {
			return []call{{pod: "g-0", arrived: now, let: now}}
		}, true},
		"with the other one": {newTale().group(2, "").pod("g-0").pod("g-1"), func(now time.Time) []call {
			return []call{{pod: "g-0", arrived: now, let: now}, {pod: "g-1", arrived: now}}
		}, false},
		"before the other one": {newTale().group(2, "").pod("g-0").pod("g-1"), func(now time.Time) []call {
			return []call{{pod: "g-0", arrived: now, let: now}, {pod: "g-1", arrived: now.Add(time.Millisecond)}}
		}, true},
		"long after the other one's call": {newTale().group(2, "").pod("g-0").pod("g-1"), func(now time.Time) []call {
			return []call{{pod: "g-0", arrived: now, let: now}, {pod: "g-1", arrived: now.Add(-far), ended: now.Add(-2 * startSlack)}}
		}, true},
		"twice the same": {newTale().group(2, "").pod("g-0").pod("g-1"), func(now time.Time) []call {
			return []call{{pod: "g-0", arrived: now, let: now}, {pod: "g-0", arrived: now}}
		}, true},
		"when the other one is bound": {newTale().group(2, "").pod("g-1", bound).pod("g-0").pass(far), func(now time.Time) []call {
			return []call{{pod: "g-0", arrived: now, let: now}}
		}, false},
		"when the other one has succeeded": {newTale().group(2, "").pod("g-1", succeeded).pod("g-0").pass(far), func(now time.Time) []call {
			return []call{{pod: "g-0", arrived: now, let: now}}
		}, false},
		"when the other one is just lost": {newTale().group(2, "").pod("g-1", bound).pod("g-0").lost("g-1"), func(now time.Time) []call {
			return []call{{pod: "g-0", arrived: now, let: now}}
		}, false},
		"when the other one is long " +
			"lost": {newTale().group(2, "").pod("g-1", bound).pod("g-0").lost("g-1").pass(far), func(now time.Time) []call {
			return []call{{pod: "g-0", arrived: now, let: now}}
		}, true},
		"when it is gone itself": {newTale().group(2, "").pod("g-0").pod("g-1").lost("g-0").pass(time.Second), func(now time.Time) []call {
			return []call{{pod: "g-0", arrived: now.Add(-far), let: now}}
		}, false},
		"and is lost afterwards": {newTale().group(2, "").pod("g-0").pod("g-1").lost("g-0").pass(time.Second), func(now time.Time) []call {
			return []call{{pod: "g-0", arrived: now.Add(-far), let: now.Add(-1500 * time.Millisecond)}}
		}, true},
		"after the end": {newTale().group(2, "").pod("g-0").pod("g-1"), func(now time.Time) []call {
			return []call{{pod: "g-0", arrived: now, let: now.Add(time.Millisecond)}}
		}, false},
		"when minMember was just raised": {newTale().group(1, "").pod("g-0").group(2, ""), func(now time.Time) []call {
			return []call{{pod: "g-0", arrived: now, let: now}}
		}, false},
		"once more, when minMember was raised since and another one is " +
			"bound": {newTale().group(2, "").pod("g-0").pod("g-1").pod("g-1", bound).group(3, "").pass(far), func(now time.Time) []call {
			return []call{
				{pod: "g-1", arrived: now.Add(-far - 3*time.Second), let: now.Add(-far - 3*time.Second)},
				{pod: "g-0", arrived: now.Add(-far - 3*time.Second), let: now.Add(-far - 3*time.Second)},
				{pod: "g-0", arrived: now, let: now},
			}
		}, false},
		"once more, when minMember was raised since and none is " +
			"bound": {newTale().group(2, "").pod("g-0").pod("g-1").group(3, "").pass(far), func(now time.Time) []call {
			return []call{
				{pod: "g-1", arrived: now.Add(-far - 2*time.Second), let: now.Add(-far - 2*time.Second)},
				{pod: "g-0", arrived: now.Add(-far - 2*time.Second), let: now.Add(-far - 2*time.Second)},
				{pod: "g-0", arrived: now, let: now},
			}
		}, true},
		"for the first time, when minMember was raised since and another one is " +
			"bound": {newTale().group(2, "").pod("g-0").pod("g-1").pod("g-1", bound).group(3, "").pass(far), func(now time.Time) []call {
			return []call{
				{pod: "g-1", arrived: now.Add(-far - 3*time.Second), let: now.Add(-far - 3*time.Second)},
				{pod: "g-0", arrived: now, let: now},
			}
		}, true},
		"when there is no PodGroup": {newTale().pod("g-0"), func(now time.Time) []call {
			return []call{{pod: "g-0", arrived: now, let: now}}
		}, false},
		"of another gang": {newTale().group(2, "").pod("g-0"), func(now time.Time) []call {
			return []call{{pod: "h-0", arrived: now, let: now}}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			calls := test.calls(test.tale.at)
			for i := range calls {
				calls[i].gang = gangOf(calls[i].pod)
			}
			if findings := judgeStarts(test.tale.entries, calls, test.tale.at, 0); (len(findings) > 0) != test.below {
				t.Errorf("findings %v, want some: %t", findings, test.below)
			}
		})
	}
}

func TestNoBindCallIsHeldPastItsDeadline(t *testing.T) {
	const limit, late = 3 * time.Second, 3*time.Second + 2*holdSlack
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	after := func(d time.Duration) time.Time { return began.Add(d) }
	for name, test := range map[string]struct {
		call call
		late bool
	}{
		"it ends in time":                  {call{gang: "g", ended: after(limit)}, false},
		"it ends a little late":            {call{gang: "g", ended: after(limit + holdSlack)}, false},
		"it ends too late":                 {call{gang: "g", ended: after(late)}, true},
		"it lasts":                         {call{gang: "g"}, true},
		"it is let go in time":             {call{gang: "g", let: after(limit), ended: after(time.Minute)}, false},
		"it is let go too late":            {call{gang: "g", let: after(late), ended: after(time.Minute)}, true},
		"it is about a pod of no gang":     {call{gang: "single", ended: after(time.Minute)}, false},
		"it began just before all is over": {call{gang: "g", arrived: after(time.Hour - time.Second)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if test.call.arrived.IsZero() {
				test.call.arrived = began
			}
			findings := judgeHolds([]call{test.call}, map[string]time.Duration{"g": limit}, after(time.Hour))
			if (len(findings) > 0) != test.late {
				t.Errorf("findings %v, want some: %t", findings, test.late)
			}
		})
	}
}

func TestAClusterIsSettledWhenNothingCouldStart(t *testing.T) {
	cordoned := workload.NewNode("n", "2", workload.Room(64, 20))
	cordoned.Spec.Unschedulable = true
	for name, test := range map[string]struct {
		cores int64
		tale  *tale
		want  string // "" for settled
	}{
		"there is nothing": {2, newTale(), ""},
		"a gang is whole":  {2, newTale().group(2, "").pod("a", bound).pod("b", bound), ""},
		"there is room for a gang": {
			2, newTale().group(2, "").pod("a").pod("b"), "gang g has 0 of 2 members bound, and 2 of 2 others fit",
		},
		"there is room for a part of a gang": {1, newTale().group(2, "").pod("a").pod("b"), ""},
		"there is room for the rest of a gang": {
			2, newTale().group(2, "Unschedulable").pod("a", bound).pod("b"), "gang g has 1 of 2 members bound, and 1 of 1 others fit",
		},
		"there is no room for the rest, and it says so": {1, newTale().group(2, "Unschedulable").pod("a", bound).pod("b"), ""},
		"there is no room for the rest, and no word": {
			1, newTale().group(2, "").pod("a", bound).pod("b"), "gang g has 1 of 2 members bound without a word about why",
		},
		"a gang has too few members": {2, newTale().group(3, "").pod("a").pod("b"), ""},
		"a gang has no PodGroup":     {2, newTale().pod("a").pod("b"), ""},
		"there is room for one more than there must be": {
			3, newTale().group(2, "").pod("a", bound).pod("b", bound).pod("c"), "gang g has 2 of 2 members bound, and 1 of 1 others fit",
		},
		"succeeded members count as well": {
			2, newTale().group(2, "").pod("a", succeeded).pod("b"), "gang g has 1 of 2 members bound, and 1 of 1 others fit",
		},
		"there is room for a pod of no gang": {2, newTale().pod("a", single), "pod a fits on node n"},
		"there is none":                      {1, newTale().pod("a", single, bound).pod("b", single), ""},
		"a pod is being deleted":             {2, newTale().pod("a", single, bound, deleting), "pod a is being deleted"},
		"the node is cordoned":               {0, newTale().pod("a", single), ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newState()
			node := workload.NewNode("n", workload.Milli(1000*test.cores), workload.Room(64, 20))
			if test.cores == 0 {
				node = cordoned
			}
			s.apply(entry{node: node})
			for _, e := range test.tale.entries {
				s.apply(e)
			}
			if got := strings.Join(s.unsettled(), "; "); got != test.want {
				t.Errorf("unsettled because %q, want %q", got, test.want)
			}
		})
	}
}

func TestAComplaintAboutAVictimThatHasGoneIsNone(t *testing.T) {
	history := newTale().pod("v", bound).lost("v").entries
	at := func(offset time.Duration) finding {
		said := history[1].at.Add(offset).Local().Format("0102 15:04:05.000000")
		return faultcampaign.Found(
			faultcampaign.Complained, `E%s 17 schedule_one.go:298] "preemption: extender: http://h claims to preempt pod (UID: &{v}) on node: n,
			but the pod is not found `+
				`on that node"`, said,
		)
	}
	other := faultcampaign.Found(faultcampaign.Complained, "%s", `E0101 00:00:09.000000 17 "failed with extender at URL http://h, code 500"`)
	for _, test := range []struct {
		name string
		word finding
		want string // in the text, "" for no finding
	}{
		{"it has gone just before", at(time.Millisecond), ""},
		{"it goes later", at(-time.Millisecond), "gone at"},
		{"it is about something else", other, "code 500"},
		{"nobody knows the victim", faultcampaign.Found(
			faultcampaign.Complained, "%s", strings.Replace(at(time.Second).Text, "{v}", "{w}", 1),
		), "bound at no time"},
	} {
		t.Run(test.name, func(t *testing.T) {
			found := faultcampaign.JudgeComplaints([]finding{test.word}, func(uid types.UID) (bound, gone time.Time) { return lifeOf(uid, history) })
			if len(found) > 1 || len(found) == 1 != (test.want != "") || len(found) == 1 && !strings.Contains(found[0].Text, test.want) {
				t.Errorf("found %v, want %q", found, test.want)
			}
		})
	}
}

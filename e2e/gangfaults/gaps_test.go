package gangfaults

import (
	"strings"
	"testing"
	"time"
)

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

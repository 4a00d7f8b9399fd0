package gangfaults

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestAComplaintAboutAVictimThatHasGoneIsNone(t *testing.T) {
	history := newTale().pod("v", bound).lost("v").entries
	at := func(offset time.Duration) finding {
		said := history[1].at.Add(offset).Local().Format("0102 15:04:05.000000")
		return finding{
			complained,
			fmt.Sprintf(
				`E%s 17 schedule_one.go:298] "preemption: extender: http://h claims to preempt pod (UID: &{v}) on node: n, but the pod is not found `+
					`on that node"`,
				said,
			),
		}
	}
	other := finding{complained, `E0101 00:00:09.000000 17 "failed with extender at URL http://h, code 500"`}
	for _, test := range []struct {
		name string
		word finding
		want string // in the text, "" for no finding
	}{
		{"it has gone just before", at(time.Millisecond), ""},
		{"it goes later", at(-time.Millisecond), "gone at"},
		{"it is about something else", other, "code 500"},
		{"nobody knows the victim", finding{complained, strings.Replace(at(time.Second).text, "{v}", "{w}", 1)}, "bound at no time"},
	} {
		t.Run(test.name, func(t *testing.T) {
			found := judgeComplaints([]finding{test.word}, history)
			if len(found) > 1 || len(found) == 1 != (test.want != "") || len(found) == 1 && !strings.Contains(found[0].text, test.want) {
				t.Errorf("found %v, want %q", found, test.want)
			}
		})
	}
}

package extender

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/server/servertest"
)

// scribe is a claimant that notes that it was asked, and may answer.
type scribe struct {
	name    string
	answers bool
	asked   *[]string
}

func (s scribe) claim(*call) (answered bool, err error) {
	*s.asked = append(*s.asked, s.name)
	return s.answers, nil
}

func TestClaimantsAreAskedInTheirOrderUntilOneAnswers(t *testing.T) {
	for answering, want := range map[string][]string{
		"first": {"first"}, "second": {"first", "second"}, "nobody": {"first", "second", "third"},
	} {
		t.Run(answering, func(t *testing.T) {
			b := newExtenderBench(t, benchOptions{})
			b.Node("a", "4")
			pod := b.Pending(servertest.Pod("p", "1"))
			var asked []string
			e := &Extender{picker: b.extender.picker}
			for _, name := range []string{"first", "second", "third"} {
				e.claimants = append(e.claimants, scribe{name, name == answering, &asked})
			}
			c := &call{ctx: t.Context(), subject: subject{pod: b.Cluster.PendingPod(pod.UID), known: true}, store: b.profiles.Of("")}
			c.candidates.reset(b.Cluster.Snapshot().NodeNames, new(order))
			if err := e.filterKnown(c); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
			if placed := len(c.reply.Buf) > 0; placed != (answering == "nobody") {
				t.Errorf("the pod is placed for itself: %t", placed)
			}
		})
	}
}

func TestWhoIsAskedIsInOrderAndTheAbsentAreLeftOut(t *testing.T) {
	for name, test := range map[string]struct {
		options                                             benchOptions
		claimants, strangers, preempters, planners, sparers []string
	}{
		"alone": {
			claimants: []string{"inFlight", "reserved"}, preempters: []string{"reserved"}, planners: []string{"reserved"},
		},
		"all": {
			options:    benchOptions{gangs: true, ahead: make(writes)},
			claimants:  []string{"inFlight", "takes", "members", "reserved", "nominated"},
			strangers:  []string{"unknownMembers"},
			preempters: []string{"members", "reserved"},
			planners:   []string{"members", "nominated", "reserved"},
			sparers:    []string{"members"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newExtenderBench(t, test.options).extender
			for _, asked := range []struct{ got, want []string }{
				{kinds(e.claimants), test.claimants}, {kinds(e.strangers), test.strangers}, {kinds(e.preempters), test.preempters},
				{kinds(e.planners), test.planners}, {kinds(e.sparers), test.sparers},
			} {
				if diff := cmp.Diff(asked.want, asked.got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			}
		})
	}
}

// kinds returns the names of the types of values.
func kinds[V any](values []V) (names []string) {
	for _, v := range values {
		names = append(names, strings.TrimPrefix(fmt.Sprintf("%T", v), "*extender."))
	}
	return names
}

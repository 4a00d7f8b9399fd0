package extender

import (
	"slices"
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

func TestTheClaimantsAreABindingThenTheGangThenAReservationThenTheNomination(t *testing.T) {
	b := newExtenderBench(t, benchOptions{gangs: true})
	kinds := []bool{}
	for i, claimant := range b.extender.claimants {
		var is bool
		switch i {
		case 0:
			_, is = claimant.(*inFlight)
		case 1:
			_, is = claimant.(*members)
		case 2:
			_, is = claimant.(*reserved)
		case 3:
			_, is = claimant.(*nominated)
		}
		kinds = append(kinds, is)
	}
	if len(kinds) != 4 || slices.Contains(kinds, false) {
		t.Errorf("claimants %T", b.extender.claimants)
	}
}

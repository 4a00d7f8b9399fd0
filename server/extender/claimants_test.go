package extender

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/server/servertest"
)

// scribe is a claimant that notes after whose advice it was asked, and may decide.
type scribe struct {
	name    string
	decides bool
	asked   *[]string
}

func (s scribe) claim(_ *request, _ *memory, given advice) (claim, error) {
	*s.asked = append(*s.asked, s.name+" after "+given.planned)
	return claim{decided: s.decides, advice: advice{planned: s.name}}, nil
}

func TestClaimantsAreAskedInTheirOrderUntilOneDecides(t *testing.T) {
	first, second, third := "first after ", "second after first", "third after second"
	for deciding, want := range map[string][]string{"first": {first}, "second": {first, second}, "nobody": {first, second, third}} {
		t.Run(deciding, func(t *testing.T) {
			b := newExtenderBench(t, benchOptions{})
			b.Node("a", "4")
			pod := b.Pending(servertest.Pod("p", "1"))
			var asked []string
			e := &Extender{picker: b.extender.picker}
			for _, name := range []string{"first", "second", "third"} {
				e.claimants = append(e.claimants, scribe{name, name == deciding, &asked})
			}
			names := b.Cluster.Snapshot().NodeNames
			q := &request{
				ctx: t.Context(), subject: subject{pod: b.Cluster.PendingPod(pod.UID), store: b.profiles.Of("")},
				nodes: candidates{names: names, indexes: []int32{names.Index([]byte("a"))}},
			}
			got, err := e.answer(q, new(memory))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
			if placed := len(got.offered) > 0; placed != (deciding == "nobody") {
				t.Errorf("the pod is placed for itself: %t", placed)
			}
		})
	}
}

func TestWhoIsAskedIsInOrderAndTheAbsentAreLeftOut(t *testing.T) {
	for name, test := range map[string]struct {
		options                                            benchOptions
		claimants, preempters, planners, yielders, sparers []string
	}{
		"alone": {
			claimants: []string{"inFlight", "reserved"}, preempters: []string{"reserved"}, yielders: []string{"reserved"},
		},
		"all": {
			options:    benchOptions{gangs: true, ahead: make(writes)},
			claimants:  []string{"inFlight", "takes", "members", "reserved", "nominated"},
			preempters: []string{"members", "reserved"},
			planners:   []string{"members", "nominated"},
			yielders:   []string{"members", "nominated", "reserved"},
			sparers:    []string{"members"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			e := newExtenderBench(t, test.options).extender
			for _, asked := range []struct{ got, want []string }{
				{kinds(e.claimants), test.claimants},
				{kinds(e.preempters), test.preempters},
				{kinds(e.planners), test.planners},
				{kinds(e.yielders), test.yielders},
				{kinds(e.sparers), test.sparers},
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

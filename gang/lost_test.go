package gang

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

func cordoned(name, cpu string) *corev1.Node {
	n := node(name, cpu)
	n.Spec.Unschedulable = true
	return n
}

// A gang runs whole, a node of it is drained, and another pod comes in the place of its member. When the node is opened, the
// scheduler may take up another pod first, which waits for longer.
func TestWhatIsMissingOfAGangThatRunsGetsItsPlaceBeforeOthers(t *testing.T) {
	for name, test := range map[string]struct {
		single  int32 // the priority of the other pod
		restart bool  // nothing is known but what the cluster shows
		other   bool  // it is of a gang, too
		want    string
	}{
		"before a pod of its own priority":              {0, false, false, "n2"},
		"before one of a lower one":                     {-1, false, false, "n2"},
		"not before one of a higher one":                {1, false, false, ""},
		"before a gang that has yet to start":           {0, false, true, "n2"},
		"to a process that has just begun as well":      {0, true, false, "n2"},
		"to such a process before a gang that is whole": {0, true, true, "n2"},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(p *process) {
				p.set(node("n1", "4"), node("n2", "4"), podGroup("g", 2), podGroup("h", 1))
				gang := members("g", 2, "4")
				if !test.restart {
					p.set(objects(gang)...)
					p.after(time.Second)
					p.wantHeld("both members", false, p.start(gang...)...)
				}
				on("n1")(gang[0])
				p.set(gang[0])
				if !test.restart {
					on("n2")(gang[1])
					p.set(gang[1])
					p.after(time.Second)
				}
				p.set(cordoned("n2", "4"))
				if !test.restart {
					p.delete(gang[1])
				}
				single := members("h", 1, "4", ofPriority(test.single))[0]
				if !test.other {
					alone(single)
				}
				again := members("g", 3, "4")[2]
				again.UID, again.CreationTimestamp.Time = types.UID("again"), time.Now()
				p.set(single, again)
				if !test.restart { // else nobody has asked about the gang yet
					p.after(10 * time.Second)
				}
				p.set(node("n2", "4"))
				p.filter(single) // at once
				if got := p.cluster.Assumed(again.UID); got != test.want {
					t.Errorf("the member that was lost has its place on %q, want %q", got, test.want)
				}
				if got := p.cluster.Assumed(single.UID); test.want != "" && got != "" {
					t.Errorf("the other pod has one on %q", got)
				}
			})
		})
	}
}

// Ahead of the scheduler nobody asks: what is missing claims the room on a node that is cordoned.
func TestWhatIsMissingOfAGangThatRunsClaimsACordonedNodeAheadOfTheScheduler(t *testing.T) {
	runAhead(t, func(p *process) {
		p.set(node("n1", "4"), node("n2", "4"), podGroup("g", 2))
		gang := members("g", 2, "4", gated)
		p.set(objects(gang)...)
		p.after(time.Minute)
		p.bindTo("n1", gang[0])
		p.bindTo("n2", gang[1])
		p.after(time.Second)
		p.written()
		p.set(cordoned("n2", "4"))
		p.delete(gang[1])
		again := members("g", 3, "4", gated)[2]
		again.UID = "again"
		p.set(again)
		p.after(5 * time.Second)
		p.wrote("while the node is cordoned", "nominate g-2")
		again = p.latest(again)
		if got := again.Status.NominatedNodeName; got != "n2" {
			t.Fatalf("it claims room on %q", got)
		}
		p.set(again)
		p.after(5 * time.Second)
		p.wrote("when that is shown")
		p.set(node("n2", "4"))
		p.after(time.Second)
		if got := p.cluster.Assumed(again.UID); got != "n2" {
			t.Errorf("when the node is opened it has its place on %q", got)
		}
	})
}

func TestAClaimIsTakenBackWhenTheNodeIsOpenedAndDoesNotFit(t *testing.T) {
	runAhead(t, func(p *process) {
		p.set(node("n1", "4"), cordoned("n2", "4"), podGroup("g", 2))
		gang := members("g", 2, "4", gated)
		on("n1")(gang[0])
		p.set(objects(gang)...)
		p.after(5 * time.Second)
		p.wrote("a process that has just begun", "nominate g-1")
		p.set(p.latest(gang[1]))
		p.after(time.Second)
		p.set(node("n2", "2"))
		p.after(5 * time.Second)
		if got := p.latest(gang[1]).Status.NominatedNodeName; got != "" {
			t.Errorf("it is nominated to %q", got)
		}
	})
}

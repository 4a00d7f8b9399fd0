package conformance

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
)

// PreemptionJudge puts scenarios of [GeneratePreemption] to both sides, and counts. On every node on which
// kube-scheduler's DefaultPreemption tries to evict pods for the pending one:
//
//   - what DefaultPreemption proposes is enough for muster's preempt verb, and stays as it is;
//   - where the proposed victims are not enough, the verb chooses the same ones, in the same order and with the same number of
//     violated budgets, or none as well. That includes the room of nominated pods.
//
// And where the pod fits no node, a plan for a gang of it alone evicts the same victims from a node to which
// kube-scheduler prefers no other one.
//
// On purpose muster decides otherwise in these cases, which are left out or judged by its own rule:
//
//   - A pod of lower priority that is going is as if it were not there, and no victim. kube-scheduler is asked about the
//     node without it. In a plan it costs nothing, so no plan is compared when there is one.
//   - A budget that allows some of the pods on a node to go allows the least important ones, see apportions. There any
//     victims will do that are enough by kube-scheduler's filters, and no plan is compared.
//   - A plan tries once more to give victims back, since some can stay only if others do. Of the victims of kube-scheduler
//     it may spare some, if the others are enough by its filters.
//   - In a plan nominated pods count on all nodes at once, and for sure. No plan is compared with nominated pods and
//     predicates that look at other nodes, or at volumes that two pods may share.
//
// And kube-scheduler is wrong where no scenario is drawn: it gives back a host port that two pods of a node have when one
// of them goes, and a ReadWriteOncePod claim when another pod of that claim goes, or of one of its name in another
// namespace; PodTopologySpread subtracts a pod that is going, which it has not counted. About nominated pods it may be
// wrong as well, see misjudges. It is not safe for concurrent use.
type PreemptionJudge struct {
	// Cases are the nodes on which kube-scheduler has tried to evict pods for another one.
	Cases int
	// Outcomes are how many of them came to what.
	Outcomes map[string]int
	// Disagreements are the answers on which the sides differ.
	Disagreements int
	// First are the first of them, one about each question.
	First []PreemptionDisagreement

	theirs *kubeScheduler
}

// PreemptionDisagreement is a node on which the two sides evict others, for the first pending pod of a scenario.
type PreemptionDisagreement struct {
	About, Node           string
	KubeScheduler, Muster string
	// Scenario is the smallest that was found to show it, in YAML.
	Scenario string
}

func (d PreemptionDisagreement) String() string {
	return fmt.Sprintf("%s, on %s:\n  kube-scheduler: %s\n  muster:         %s\n%s", d.About, d.Node, d.KubeScheduler, d.Muster, d.Scenario)
}

// NewPreemptionJudge builds the in-tree side. What it starts ends with the context.
func NewPreemptionJudge(ctx context.Context) (*PreemptionJudge, error) {
	theirs, err := newKubeScheduler()
	if err != nil {
		return nil, err
	}
	return &PreemptionJudge{theirs: theirs, Outcomes: map[string]int{}}, nil
}

// eviction is who has to go from a node, the most important first, and how many disruption budgets do not allow it.
type eviction struct {
	Victims    []types.UID
	Violations int64
}

func (e eviction) is(other eviction) bool {
	return slices.Equal(e.Victims, other.Victims) && e.Violations == other.Violations
}

// spares reports whether it has some of another one go, and not all of them.
func (e eviction) spares(other eviction) bool {
	return len(e.Victims) < len(other.Victims) &&
		!slices.ContainsFunc(e.Victims, func(victim types.UID) bool { return !slices.Contains(other.Victims, victim) })
}

// evictions are by node. There are none of a node on which they do not help.
type evictions map[string]eviction

func (e evictions) on(node string) string {
	if found, helps := e[node]; helps {
		return fmt.Sprintf("%v have to go, %d against budgets", found.Victims, found.Violations)
	}
	return "nobody's going helps"
}

func (e evictions) String() string {
	if len(e) == 0 {
		return "nobody's going helps anywhere"
	}
	var all []string
	for _, node := range slices.Sorted(maps.Keys(e)) {
		all = append(all, node+": "+e.on(node))
	}
	return strings.Join(all, "; ")
}

package conformance

import (
	"context"
	"errors"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"muster.dev/muster/api/config"
)

// HearPreemption puts a scenario of [GeneratePreemption] to both sides. On every node on which kube-scheduler's
// DefaultPreemption tries to evict pods for the pending one:
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
// A search for devices may be cut short on either side when it takes long, so nothing is judged of a hearing that takes
// as long as one may.
//
// And kube-scheduler is wrong where no scenario is drawn: it gives back a host port that two pods of a node have when
// one of them goes, and a ReadWriteOncePod claim when another pod of that claim goes, or of one of its name in another
// namespace; PodTopologySpread subtracts a pod that is going, which it has not counted. About nominated pods it may be
// wrong as well, see misjudges.
func (j *Judge) HearPreemption(ctx context.Context, s *Scenario) error {
	h, err := j.hearPreemption(ctx, s)
	if err != nil {
		return err
	}
	j.Cases, j.Undecided = j.Cases+h.cases, j.Undecided+h.undecided
	for _, outcome := range h.outcomes {
		j.count(aboutPreemption, Outcome{What: outcome})
	}
	for _, d := range h.disagreements {
		j.disagree(d, s, func(smaller *Scenario) *Disagreement { return j.againPreempted(ctx, d, smaller) })
	}
	return nil
}

// aboutPreemption is under what the outcomes of preemption are counted.
const aboutPreemption = "preemption"

// againPreempted asks about a disagreement in another scenario.
func (j *Judge) againPreempted(ctx context.Context, d *Disagreement, s *Scenario) *Disagreement {
	if !distinct(s) {
		return nil
	}
	h, err := j.hearPreemption(ctx, s)
	if err != nil {
		return nil
	}
	at := slices.IndexFunc(h.disagreements, func(other *Disagreement) bool { return other.About == d.About && other.Node == d.Node })
	if at < 0 {
		return nil
	}
	return h.disagreements[at]
}

// distinct reports whether kube-scheduler and muster can tell pods from each other: all by UID, and those on a node by
// importance.
func distinct(s *Scenario) bool {
	if slices.ContainsFunc(slices.Concat(s.Pending, s.Nominated), func(pod *corev1.Pod) bool { return pod.UID == "" }) {
		return false
	}
	for i, pod := range s.Placed {
		if slices.ContainsFunc(s.Placed[:i], func(other *corev1.Pod) bool {
			return other.Spec.NodeName == pod.Spec.NodeName && corev1helpers.PodPriority(other) == corev1helpers.PodPriority(pod) &&
				other.Status.StartTime.Equal(pod.Status.StartTime)
		}) {
			return false
		}
	}
	return true
}

// hearing holds both sides' answers about a scenario.
type hearing struct {
	scenario      *Scenario
	theirs        *dryRun
	want          evictions // of kube-scheduler
	ours          *musterPreempting
	cases         int
	outcomes      []string
	disagreements []*Disagreement
	undecided     int // disagreements that count for nothing
}

func (j *Judge) hearPreemption(ctx context.Context, s *Scenario) (*hearing, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	h, began := &hearing{scenario: s}, time.Now()
	view, err := j.theirs.look(s)
	if err != nil {
		return nil, err
	}
	switch h.theirs, err = view.preempt(ctx, s); {
	case errors.Is(err, errFails), err == nil && (len(h.theirs.tried) == 0 || h.theirs.misjudges(s)):
		return h, nil
	case err != nil:
		return nil, err
	}
	if h.ours, err = preemptWithMuster(s); err != nil {
		return nil, err
	}
	h.cases, h.want = len(h.theirs.tried), h.theirs.evictions()
	if err := h.proposed(); err != nil {
		return nil, err
	}
	if err := h.chosen(ctx); err != nil {
		return nil, err
	}
	h.planned(ctx)
	if time.Since(began) >= searchTime {
		h.undecided, h.disagreements = len(h.disagreements), nil
	}
	return h, nil
}

// searchTime is how long muster looks for devices until it gives up.
const searchTime = time.Second

func (h *hearing) disagree(about, node string, theirs, ours string) {
	h.disagreements = append(h.disagreements, &Disagreement{About: about, Node: node, KubeScheduler: theirs, Muster: ours})
}

// proposed has muster asked about the victims that kube-scheduler has found. They are enough, and stay.
func (h *hearing) proposed() error {
	got, err := h.ours.answer(h.want)
	for node, want := range h.want {
		if answer, helps := got[node]; err == nil && (!helps || !answer.is(want)) {
			h.disagree("proposed victims", node, h.want.on(node), got.on(node))
		}
	}
	return err
}

// chosen has muster find victims itself where the proposed ones are not enough: none is proposed.
func (h *hearing) chosen(ctx context.Context) error {
	nobody := evictions{}
	for _, node := range h.theirs.tried {
		nobody[node.Node().Name] = eviction{Victims: []types.UID{"nobody"}}
	}
	got, err := h.ours.answer(nobody)
	if err != nil {
		return err
	}
	for node := range nobody {
		want, helps := h.want[node]
		h.outcomes = append(h.outcomes, outcomeOf(want))
		if h.theirs.enough(ctx, node, nil) { // as soon as those have gone that are going: others may stay
			want, helps = nobody[node]
		}
		answer, found := got[node]
		agree := found == helps && answer.is(want)
		if helps && found && !agree && h.apportions(node) {
			agree = h.theirs.enough(ctx, node, answer.Victims)
		}
		if !agree {
			h.disagree("chosen victims", node, h.want.on(node), got.on(node))
		}
	}
	return nil
}

// planned has muster choose among all nodes, as it does for a gang.
func (h *hearing) planned(ctx context.Context) {
	apportioned := slices.ContainsFunc(h.scenario.Nodes, func(node *corev1.Node) bool { return h.apportions(node.Name) })
	leaving := slices.ContainsFunc(h.scenario.Placed, h.theirs.leaves)
	if h.theirs.fits || apportioned || leaving || h.promisedBeyond() {
		return
	}
	node, answer := h.ours.plan()
	got := evictions{}
	if node != "" {
		got[node] = answer
	}
	want, helps := h.want[node]
	agree := answer.is(want) || answer.spares(want) && h.theirs.enough(ctx, node, answer.Victims)
	switch {
	case len(h.want) == 0 && node == "":
		h.outcomes = append(h.outcomes, noNodeChosen)
	case helps && agree && h.theirs.prefersNone(ctx, node):
		h.outcomes = append(h.outcomes, nodeChosen)
	default:
		h.disagree("chosen node", node, h.want.String(), got.String())
	}
}

// promisedBeyond reports whether there are nominated pods, and predicates that count them differently in a plan. Such
// predicates look at other nodes than one, as kube-scheduler counts only pods nominated to the node that it looks at;
// or they are the limits of volumes, if a nominated pod may bring a volume that the pod shares: kube-scheduler does not
// rely on its coming.
func (h *hearing) promisedBeyond() bool {
	nominated, pod := h.scenario.Nominated, h.scenario.Pending[0]
	return len(nominated) > 0 && slices.ContainsFunc(h.scenario.Profile.Filter, func(name string) bool {
		return name == config.InterPodAffinity || name == config.PodTopologySpread ||
			name == config.NodeVolumeLimits && len(pod.Spec.Volumes) > 0 &&
				slices.ContainsFunc(nominated, func(other *corev1.Pod) bool { return len(other.Spec.Volumes) > 0 })
	})
}

// apportions reports whether a disruption budget allows some of the pods on a node to be evicted that might be, and not
// all of them. kube-scheduler has it allow the most important ones, so that the others are the last to go, and counts
// the eviction of each other one against it, though the budget might allow it. muster has it allow the least important
// ones, and counts what goes beyond it.
func (h *hearing) apportions(node string) bool {
	for _, budget := range h.scenario.Objects.PodDisruptionBudgets {
		selector, err := metav1.LabelSelectorAsSelector(budget.Spec.Selector)
		if err != nil || selector.Empty() {
			continue
		}
		under := 0
		for _, pod := range h.scenario.Placed {
			_, underWay := budget.Status.DisruptedPods[pod.Name]
			if pod.Spec.NodeName == node && pod.Namespace == budget.Namespace && h.theirs.outranks(pod) && !underWay &&
				selector.Matches(labels.Set(pod.Labels)) {
				under++
			}
		}
		if allowed := int(budget.Status.DisruptionsAllowed); 0 < allowed && allowed < under {
			return true
		}
	}
	return false
}

// What comes of a node that is tried, and of a plan.
const (
	noEvictionHelps = "no eviction helps"
	oneVictim       = "one victim"
	severalVictims  = "several victims"
	againstBudgets  = "against budgets"
	noNodeChosen    = "no node chosen"
	nodeChosen      = "node chosen"
)

func outcomeOf(e eviction) string {
	switch {
	case len(e.Victims) == 0:
		return noEvictionHelps
	case e.Violations > 0:
		return againstBudgets
	case len(e.Victims) > 1:
		return severalVictims
	default:
		return oneVictim
	}
}

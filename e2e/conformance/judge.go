package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"muster.dev/muster/api/config"
)

// remembered is how many disagreements are kept and made small, one about each question.
const remembered = 5

// Judge puts scenarios to both sides and counts. It is not safe for concurrent use.
type Judge struct {
	// Cases are the questions so far. Of [Judge.Hear] they are the pods on nodes, each asked once for every part of the
	// profile; of [Judge.HearPreemption] the nodes on which kube-scheduler has tried to evict pods for another one.
	Cases int
	// Disagreements are the answers on which the sides differ.
	Disagreements int
	// Undecided are the answers that a side had no time to find.
	Undecided int
	// First are the first disagreements, one about each of a few questions.
	First []Disagreement
	// Outcomes are how often each of kube-scheduler's outcomes came up, by question: a predicate is tried only by a
	// scenario that it can accept or reject.
	Outcomes map[string]map[Outcome]int

	theirs *kubeScheduler
}

// Disagreement is a node that the two sides say different things of.
type Disagreement struct {
	About, Node           string
	KubeScheduler, Muster string
	// Scenario is the smallest that was found to show it, in YAML.
	Scenario string
}

func (d Disagreement) String() string {
	return fmt.Sprintf(
		"%s, on %s:\n  kube-scheduler says %s\n  muster says         %s\n%s", d.About, d.Node, d.KubeScheduler, d.Muster, d.Scenario,
	)
}

// NewJudge builds the in-tree side.
func NewJudge() (*Judge, error) {
	theirs, err := newKubeScheduler()
	if err != nil {
		return nil, err
	}
	return &Judge{theirs: theirs, Outcomes: map[string]map[Outcome]int{}}, nil
}

// Hear puts a scenario to both sides. An error says that one of them could not answer.
func (j *Judge) Hear(ctx context.Context, s *Scenario) error {
	sides, err := j.look(s)
	if err != nil {
		return err
	}
	for _, q := range s.Profile.questions() {
		theirs, ours, err := sides.answer(ctx, q.Profile)
		if err != nil {
			return fmt.Errorf("%s: %w", q.about, err)
		}
		for pod := range theirs {
			for node, answer := range theirs[pod] {
				j.count(q.about, answer.outcome(q.Profile))
				if d := disagreement(q.about, s.Nodes[node], answer, ours[pod][node]); d != nil {
					j.disagree(d, s.asking(q.Profile, pod), func(smaller *Scenario) *Disagreement { return j.again(ctx, d, smaller) })
				} else if !answer.repeatedBy(ours[pod][node]) {
					j.Undecided++
				}
			}
		}
	}
	j.Cases += len(s.Pending) * len(s.Nodes)
	return nil
}

// disagreement is nil if the sides agree, or if one of them had no time to decide.
func disagreement(about string, node *corev1.Node, theirs, ours Answer) *Disagreement {
	if theirs.repeatedBy(ours) || theirs.undecided() || ours.undecided() {
		return nil
	}
	return &Disagreement{About: about, Node: node.Name, KubeScheduler: theirs.String(), Muster: ours.String()}
}

// again asks about the node of a disagreement in a scenario of a single pending pod.
func (j *Judge) again(ctx context.Context, d *Disagreement, s *Scenario) *Disagreement {
	node := slices.IndexFunc(s.Nodes, func(node *corev1.Node) bool { return node.Name == d.Node })
	if node < 0 {
		return nil
	}
	sides, err := j.look(s)
	if err != nil {
		return nil
	}
	theirs, ours, err := sides.answer(ctx, s.Profile)
	if err != nil {
		return nil
	}
	return disagreement(d.About, s.Nodes[node], theirs[0][node], ours[0][node])
}

// disagree counts a disagreement. Of the first ones it keeps the smallest scenario that again finds them in.
func (j *Judge) disagree(d *Disagreement, s *Scenario, again func(*Scenario) *Disagreement) {
	j.Disagreements++
	known := slices.ContainsFunc(j.First, func(first Disagreement) bool { return first.About == d.About })
	if known || len(j.First) == remembered {
		return
	}
	first := *d
	text := smallest(s, func(smaller *Scenario) bool {
		found := again(smaller)
		if found != nil {
			first = *found
		}
		return found != nil
	})
	first.Scenario = text
	j.First = append(j.First, first)
}

// sides are the two views of one scenario.
type sides struct {
	theirs *inTreeView
	ours   *musterView
}

func (j *Judge) look(s *Scenario) (sides, error) {
	theirs, err := j.theirs.look(s)
	if err != nil {
		return sides{}, err
	}
	ours, err := lookWithMuster(s)
	return sides{theirs: theirs, ours: ours}, err
}

func (s sides) answer(ctx context.Context, profile Profile) (theirs, ours answers, err error) {
	if theirs, err = s.theirs.answer(ctx, profile); err != nil {
		return nil, nil, err
	}
	ours, err = s.ours.answer(profile)
	return theirs, ours, err
}

func (j *Judge) count(about string, outcome Outcome) {
	if j.Outcomes[about] == nil {
		j.Outcomes[about] = map[Outcome]int{}
	}
	j.Outcomes[about][outcome]++
}

// Answer is one side's verdict on a pod and a node.
type Answer struct {
	// Code is Success, Unschedulable (evicting pods could help), UnschedulableAndUnresolvable, or Error when a plugin
	// of kube-scheduler failed.
	Code fwk.Code
	// Reasons are why not. None against a node means that it was ruled out before it was looked at, by a PreFilter.
	Reasons []string
	// AllReasons says that the other side names each of them as well: what a node lacks to have room.
	AllReasons bool
	// AnyRejection says that muster may reject the node in any way.
	AnyRejection bool
	// Skipped says that kube-scheduler's filters were not run, since none of them concerns the pod.
	Skipped bool
	// Score is the weighted sum of all scores, compared among the nodes that fit. It is 0 for the other nodes.
	Score int64
	// Unscored says that a score of kube-scheduler failed, so that there is nothing to compare.
	Unscored bool
}

// answers are those to every pending pod, on every node, in the scenario's order.
type answers [][]Answer

// repeatedBy says that the other side says the same. It may name any of the reasons.
func (a Answer) repeatedBy(other Answer) bool {
	switch {
	case a.AnyRejection:
		return other.Code != fwk.Success
	case a.Code != other.Code, a.Score != other.Score && !a.Unscored:
		return false
	case len(a.Reasons) == 0:
		return true
	case a.AllReasons && len(a.Reasons) != len(other.Reasons):
		return false
	}
	return !slices.ContainsFunc(other.Reasons, func(reason string) bool {
		return !slices.ContainsFunc(a.Reasons, func(theirs string) bool { return reason == theirs || isWithoutName(reason, theirs) })
	})
}

// undecided says that a side rejects a node as it has no time to go on looking for devices. muster takes a second for
// that, kube-scheduler ten.
func (a Answer) undecided() bool {
	return slices.ContainsFunc(a.Reasons, func(reason string) bool {
		return reason == searchTakesTooLong || strings.Contains(reason, "timed out trying to allocate devices")
	})
}

// searchTakesTooLong is muster's reason.
const searchTakesTooLong = "to look for devices takes too long"

// isWithoutName says that a reason is another one without one of its words, and without the errors that wrap it. Where
// kube-scheduler names an object in a reason, muster must not: its reasons are constant.
func isWithoutName(reason, named string) bool {
	if cause := strings.LastIndex(named, ": "); cause >= 0 {
		named = named[cause+len(": "):]
	}
	words := strings.Fields(named)
	for i := range words {
		if strings.Join(slices.Delete(slices.Clone(words), i, i+1), " ") == reason {
			return true
		}
	}
	return false
}

// Outcome is a kind of answer.
type Outcome struct {
	Code fwk.Code
	What string
}

// outcome is the kind of the answer to a part of a profile, for a count of how often each came up.
func (a Answer) outcome(of Profile) Outcome {
	outcome := Outcome{Code: a.Code, What: "ruled out by PreFilter"}
	switch {
	case len(of.Filter) == 0:
		outcome.What = fmt.Sprintf("score %3d", a.Score)
	case a.Skipped:
		outcome.What = "skipped"
	case a.Code == fwk.Success:
		outcome.What = "fits"
	case a.Code == fwk.Error:
		outcome.What = "error"
	case len(a.Reasons) > 0:
		outcome.What = a.Reasons[0]
	}
	return outcome
}

func (a Answer) String() string { return fmt.Sprintf("%v %q, score %d", a.Code, a.Reasons, a.Score) }

// HearBinding holds a binding against kube-scheduler's filters. They agree if they let it pass, or fail over another
// pod.
//
// The cluster is as muster could know it when the binding was made: as its watch had shown it, and with every binding
// of its own. What the API server had besides, muster could not know.
//
// Most filters refuse a pod for others that are there, and none for one that is not. These must let the pod pass. Three
// filters may ask for others to be there: InterPodAffinity by affinity, PodTopologySpread, where a pod in another
// domain makes room in this one, and NodeVolumeLimits, where a volume that is there already counts nothing. For these
// filters the pods that muster has decided about count, as in kube-scheduler's own cache, though a decision may come to
// nothing. If muster has picked the node when filter was called, that moment counts, unless the watch has shown more
// since than that pods wait, have come where they counted, or have gone.
func (j *Judge) HearBinding(ctx context.Context, b *Binding) error {
	j.Cases++
	whole, err := j.admits(ctx, b.Known, b.Node)
	if err != nil || whole.Code == fwk.Success || whole.Code == fwk.Error {
		return err
	}
	refusal, of := whole, b.Known
	alone := withoutNeeds(b.Known)
	strict, err := j.admits(ctx, alone, b.Node)
	if err != nil || strict.Code == fwk.Error {
		return err
	}
	if strict.Code != fwk.Success {
		refusal, of = strict, alone
	} else if fitted, err := j.fitted(ctx, b); err != nil || fitted {
		return err
	}
	d := &Disagreement{
		About: fmt.Sprintf("a binding of %v", b.Mode), Node: b.Node, KubeScheduler: refusal.String(),
		Muster: fmt.Sprintf("%s is bound, after\n%s", b.Known.Pending[0].Name, b.Events),
	}
	j.disagree(d, of, func(s *Scenario) *Disagreement {
		if len(s.Profile.Filter) == 0 || len(s.Pending) == 0 {
			return nil
		}
		if answer, err := j.admits(ctx, s, b.Node); err != nil || answer.Code != refusal.Code || !slices.Equal(answer.Reasons, refusal.Reasons) {
			return nil
		}
		return d
	})
	return nil
}

// fitted reports whether the pod of a binding fitted with all that counted, now or when its node was picked.
func (j *Judge) fitted(ctx context.Context, b *Binding) (bool, error) {
	for _, moment := range []*Scenario{b.Counted, b.Picked} {
		if moment == nil {
			continue
		}
		if answer, err := j.admits(ctx, moment, b.Node); err != nil || answer.Code == fwk.Success {
			return true, err
		}
	}
	return false, nil
}

// withoutNeeds is the scenario without what its pod needs others to be there for.
func withoutNeeds(s *Scenario) *Scenario {
	alone := *s
	alone.Profile.Filter = slices.DeleteFunc(slices.Clone(s.Profile.Filter), func(name string) bool {
		return name == config.PodTopologySpread || name == config.NodeVolumeLimits
	})
	pod := s.Pending[0].DeepCopy()
	if pod.Spec.Affinity != nil && pod.Spec.Affinity.PodAffinity != nil {
		pod.Spec.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution = nil
	}
	alone.Pending = []*corev1.Pod{pod}
	return &alone
}

// admits asks kube-scheduler's filters about the pending pod of a scenario on one of its nodes.
func (j *Judge) admits(ctx context.Context, s *Scenario, node string) (Answer, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	at := slices.IndexFunc(s.Nodes, func(n *corev1.Node) bool { return n.Name == node })
	if at < 0 {
		return Answer{Code: fwk.UnschedulableAndUnresolvable, Reasons: []string{"the node is gone"}}, nil
	}
	view, err := j.theirs.look(s)
	if err != nil {
		return Answer{}, err
	}
	view.nodes = view.nodes[at : at+1]
	filters, err := view.framework(ctx, s.Profile, s.Profile.filterSet())
	if err != nil {
		return Answer{}, err
	}
	answer := make([]Answer, 1)
	view.filter(ctx, filters, s.Profile, s.Pending[0], answer)
	return answer[0], nil
}

package conformance

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
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

// Disagreement is a node of which the two sides say different things.
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

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
	// Cases are the pods on nodes so far, each asked once for every part of the profile.
	Cases int
	// Disagreements are the answers on which the sides differ.
	Disagreements int
	// Undecided are the answers of muster's that it had no time to find.
	Undecided int
	// First are the first of them, one about each of a few questions.
	First []Disagreement
	// Outcomes are how often each of kube-scheduler's outcomes came up, by question: a
	// predicate is tried only by a scenario that it can accept or reject.
	Outcomes map[string]map[Outcome]int

	theirs *kubeScheduler
}

// Disagreement is a pod on a node of which the two sides say different things.
type Disagreement struct {
	About         string
	Node          string
	KubeScheduler Answer
	Muster        Answer
	// Scenario is the smallest that was found to show it, in YAML.
	Scenario string
}

func (d Disagreement) String() string {
	return fmt.Sprintf(
		"%s, on %s:\n  kube-scheduler says %v\n  muster says         %v\n%s", d.About, d.Node, d.KubeScheduler, d.Muster, d.Scenario,
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
				j.count(q, answer)
				if answer.repeatedBy(ours[pod][node]) {
					continue
				}
				if ours[pod][node].undecided() {
					j.Undecided++
					continue
				}
				j.Disagreements++
				if len(j.First) < remembered && !slices.ContainsFunc(j.First, func(d Disagreement) bool { return d.About == q.about }) {
					d := Disagreement{About: q.about, Node: s.Nodes[node].Name, KubeScheduler: answer, Muster: ours[pod][node]}
					j.First = append(j.First, j.reduce(ctx, d, s.asking(q.Profile, pod)))
				}
			}
		}
	}
	j.Cases += len(s.Pending) * len(s.Nodes)
	return nil
}

// reduce finds the smallest scenario that shows a disagreement, starting from one of a
// single pending pod.
func (j *Judge) reduce(ctx context.Context, d Disagreement, s *Scenario) Disagreement {
	d.Scenario = smallest(s, func(candidate *Scenario) bool {
		node := slices.IndexFunc(candidate.Nodes, func(node *corev1.Node) bool { return node.Name == d.Node })
		if node < 0 {
			return false
		}
		sides, err := j.look(candidate)
		if err != nil {
			return false
		}
		theirs, ours, err := sides.answer(ctx, candidate.Profile)
		if err != nil || theirs[0][node].repeatedBy(ours[0][node]) || ours[0][node].undecided() {
			return false
		}
		d.KubeScheduler, d.Muster = theirs[0][node], ours[0][node]
		return true
	})
	return d
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

func (j *Judge) count(q question, a Answer) {
	if j.Outcomes[q.about] == nil {
		j.Outcomes[q.about] = map[Outcome]int{}
	}
	outcome := a.outcome()
	if len(q.Filter) == 0 {
		outcome.What = fmt.Sprintf("score %3d", a.Score)
	}
	j.Outcomes[q.about][outcome]++
}

package conformance

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/utils/clock"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement"
	"muster.dev/muster/predicates"
)

// Placing is what came of it when the pending pods of a scenario were placed one after
// the other. Every choice is rated by kube-scheduler's own scores, as the nodes were at
// that moment and compared among those that fit.
type Placing struct {
	// Placed is how many pods got a node.
	Placed int
	// Score is the sum of the scores of their nodes.
	Score int64
	// BelowBest is how many pods got a node while another one had a higher score, or none
	// while one of them fitted.
	BelowBest int
}

// Mean is the score of a choice on average.
func (p Placing) Mean() float64 { return float64(p.Score) / float64(p.Placed) }

// Add adds the placing of another scenario.
func (p *Placing) Add(other Placing) {
	p.Placed, p.Score, p.BelowBest = p.Placed+other.Placed, p.Score+other.Score, p.BelowBest+other.BelowBest
}

// choice is which of a scenario's nodes a pending pod gets, -1 for none.
type choice func(pod int, answers []Answer) int

// PlaceLikeKubeScheduler places the pods as kube-scheduler does when it scores all nodes:
// each on one of the nodes with the highest score, at random by the seed.
func (j *Judge) PlaceLikeKubeScheduler(ctx context.Context, s *Scenario, seed uint64) (Placing, error) {
	random := newSource(seed)
	return j.place(ctx, s, func(_ int, answers []Answer) int {
		highest := best(answers)
		var ties []int
		for i, answer := range answers {
			if answer.Code == fwk.Success && answer.Score == highest {
				ties = append(ties, i)
			}
		}
		if len(ties) == 0 {
			return -1
		}
		return one(random, ties...)
	})
}

// PlaceWithMuster places the pods where a plan of muster says.
func (j *Judge) PlaceWithMuster(ctx context.Context, s *Scenario, seed uint64) (Placing, error) {
	planned, err := plan(s, seed)
	if err != nil {
		return Placing{}, err
	}
	return j.place(ctx, s, func(pod int, _ []Answer) int {
		return slices.IndexFunc(s.Nodes, func(node *corev1.Node) bool { return node.Name == planned[pod] })
	})
}

// plan is the names of the nodes that muster finds for the pending pods, "" for none.
func plan(s *Scenario, seed uint64) ([]string, error) {
	config, err := s.Profile.config()
	if err != nil {
		return nil, err
	}
	profile, err := predicates.NewProfile(config)
	if err != nil {
		return nil, fmt.Errorf("muster: %w", err)
	}
	registry := prometheus.NewRegistry()
	c := cluster.New(cluster.Options{Logger: slog.New(slog.DiscardHandler), Registerer: registry, AssumeTTL: math.MaxInt64})
	for _, object := range slices.Concat(plainly(s.Nodes), s.Objects.all(), plainly(s.Placed)) {
		if err := set(c, object); err != nil {
			return nil, err
		}
	}
	var pods []*cluster.Pod
	for _, pod := range s.Pending {
		trimmed, err := cluster.Trim(pod.DeepCopy())
		if err != nil {
			return nil, err
		}
		pods = append(pods, cluster.NewPod(trimmed.(*corev1.Pod)))
	}
	store := predicates.NewVerdictStore(profile, c, math.MaxInt64, predicates.NewStoreMetrics(registry), clock.RealClock{})
	plan := placement.New(store, pods, seed)
	defer plan.Close()
	var names []string
	for _, place := range plan.PlaceAll(pods, 0, time.Time{}).Places {
		name := ""
		if place.Node >= 0 {
			name = plan.Node(place.Node).Name
		}
		names = append(names, name)
	}
	return names, nil
}

// place puts every pending pod where it is chosen to go, and asks kube-scheduler before
// each.
func (j *Judge) place(ctx context.Context, s *Scenario, chosen choice) (Placing, error) {
	now := *s
	now.Placed = slices.Clone(s.Placed)
	var placing Placing
	for i, pod := range s.Pending {
		view, err := j.theirs.look(now.asking(s.Profile, i))
		if err != nil {
			return placing, err
		}
		all, err := view.answer(ctx, s.Profile)
		if err != nil {
			return placing, err
		}
		answers := all[0]
		at, highest := chosen(i, answers), best(answers)
		if at < 0 {
			if highest != nothingFits {
				placing.BelowBest++
			}
			continue
		}
		if answers[at].Code != fwk.Success {
			return placing, fmt.Errorf("%s is put on %s, of which kube-scheduler says %v", pod.Name, s.Nodes[at].Name, answers[at])
		}
		if answers[at].Score < highest {
			placing.BelowBest++
		}
		placing.Placed++
		placing.Score += answers[at].Score
		placed := pod.DeepCopy()
		placed.Spec.NodeName, placed.Status.Phase = s.Nodes[at].Name, corev1.PodRunning
		now.Placed = append(now.Placed, placed)
	}
	return placing, nil
}

// nothingFits is less than every score.
const nothingFits = -1

// best is the highest score of a node that fits.
func best(answers []Answer) int64 {
	highest := int64(nothingFits)
	for _, answer := range answers {
		if answer.Code == fwk.Success {
			highest = max(highest, answer.Score)
		}
	}
	return highest
}

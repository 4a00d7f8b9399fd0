package conformance

import (
	"context"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/placement"
)

// Placing is the outcome when the pending pods of a scenario were placed one after the other. Every choice is rated by
// kube-scheduler's own scores, as the nodes were at that moment and compared among the fitting nodes.
type Placing struct {
	// Placed is how many pods got a node.
	Placed int
	// Score is the sum of the scores of their nodes.
	Score int64
	// BelowBest is how many pods got a node while another one had a higher score, or none while one of them fitted.
	BelowBest int
}

// Mean is the score of a choice on average.
func (p Placing) Mean() float64 { return float64(p.Score) / float64(p.Placed) }

// Add adds the placing of another scenario.
func (p *Placing) Add(other Placing) {
	p.Placed, p.Score, p.BelowBest = p.Placed+other.Placed, p.Score+other.Score, p.BelowBest+other.BelowBest
}

// moment is a pending pod, and what kube-scheduler says of it on every node when its turn has come.
type moment struct {
	pod     int
	answers []Answer
	// compare rates some nodes that fit, among each other.
	compare func(nodes []int) (map[int]int64, error)
}

// choice is which of a scenario's nodes a pending pod gets, -1 for none.
type choice func(m *moment) (int, error)

// PlaceLikeKubeScheduler places the pods as kube-scheduler does when it scores all nodes: each on one of the nodes with
// the highest score, at random by the seed.
func (j *Judge) PlaceLikeKubeScheduler(ctx context.Context, s *Scenario, seed uint64) (Placing, error) {
	random := newSource(seed)
	return j.place(ctx, s, func(m *moment) (int, error) {
		scores := map[int]int64{}
		for i, answer := range m.answers {
			if answer.Code == fwk.Success {
				scores[i] = answer.Score
			}
		}
		return oneOfTheBest(random, scores), nil
	})
}

// oneOfTheBest is one of the nodes with the highest score, -1 when there is none.
func oneOfTheBest(random *source, scores map[int]int64) int {
	var ties []int
	highest := int64(nothingFits)
	for _, node := range slices.Sorted(maps.Keys(scores)) {
		if score := scores[node]; score > highest {
			highest, ties = score, nil
		}
		if scores[node] == highest {
			ties = append(ties, node)
		}
	}
	if len(ties) == 0 {
		return -1
	}
	return one(random, ties...)
}

// PlaceWithMuster places the pods where a plan of muster says.
func (j *Judge) PlaceWithMuster(ctx context.Context, s *Scenario, seed uint64) (Placing, error) {
	planned, err := plan(s, seed)
	if err != nil {
		return Placing{}, err
	}
	return j.place(ctx, s, func(m *moment) (int, error) {
		return slices.IndexFunc(s.Nodes, func(node *corev1.Node) bool { return node.Name == planned[m.pod] }), nil
	})
}

// plan is the names of the nodes that muster finds for the pending pods, "" for none.
func plan(s *Scenario, seed uint64) ([]string, error) {
	config, err := s.Profile.config()
	if err != nil {
		return nil, err
	}
	registry := prometheus.NewRegistry()
	c := newCluster(registry, math.MaxInt64)
	if err := set(c, slices.Concat(plainly(s.Nodes), s.Objects.all(), plainly(s.Placed))...); err != nil {
		return nil, err
	}
	store, err := newStore(config, c, math.MaxInt64, registry)
	if err != nil {
		return nil, err
	}
	var pods []*cluster.Pod
	for _, pod := range s.Pending {
		pod, err := trimmed(pod)
		if err != nil {
			return nil, err
		}
		pods = append(pods, pod)
	}
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

// place puts every pending pod where it is chosen to go, and asks kube-scheduler before each.
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
		at, err := chosen(&moment{pod: i, answers: answers, compare: func(nodes []int) (map[int]int64, error) {
			return view.compare(ctx, s.Profile, nodes)
		}})
		if err != nil {
			return placing, err
		}
		highest := best(answers)
		if at < 0 {
			if highest != nothingFits {
				placing.BelowBest++
			}
			continue
		}
		if answers[at].Code != fwk.Success {
			return placing, fmt.Errorf("%s is put on %s, and kube-scheduler says %v", pod.Name, s.Nodes[at].Name, answers[at])
		}
		if answers[at].Score < highest {
			placing.BelowBest++
		}
		placing.Placed++
		placing.Score += answers[at].Score
		now.Placed = append(now.Placed, placedOn(pod, s.Nodes[at]))
	}
	return placing, nil
}

// placedOn is a pod that runs on a node.
func placedOn(pod *corev1.Pod, node *corev1.Node) *corev1.Pod {
	placed := pod.DeepCopy()
	placed.Spec.NodeName, placed.Status.Phase = node.Name, corev1.PodRunning
	return placed
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

// Sample is how kube-scheduler looks for nodes, and who has a say in which it takes.
type Sample struct {
	// Find is how many nodes that fit it looks for, each time from where it ended before.
	Find int
	// Selection is the nodeSelection of muster's profile, "" for a kube-scheduler without an extender.
	Selection config.NodeSelection
}

// StockSample is how many nodes that fit kube-scheduler looks for by default (numFeasibleNodesToFind in
// pkg/scheduler/schedule_one.go).
func StockSample(nodes int) int {
	const fewest = 100
	return max(fewest, nodes*max(5, 50-nodes/125)/100)
}

// PlaceOfASample places the pods as kube-scheduler does when it does not look at all nodes. Of nodes that it rates
// alike it takes one at random by the seed.
func (j *Judge) PlaceOfASample(ctx context.Context, s *Scenario, sample Sample, seed uint64) (Placing, error) {
	random, window := newSource(seed), newWindow(s.Nodes)
	var extender *musterOffering
	if sample.Selection != "" {
		var err error
		if extender, err = offerWithMuster(s, sample.Selection, random); err != nil {
			return Placing{}, err
		}
	}
	return j.place(ctx, s, func(m *moment) (int, error) {
		offered := window.find(sample.Find, m.answers)
		if extender != nil {
			var err error
			if offered, err = extender.filter(m.pod, offered); err != nil {
				return -1, err
			}
		}
		if len(offered) == 0 {
			return -1, nil
		}
		scores, err := m.compare(offered)
		if err != nil {
			return -1, err
		}
		chosen := oneOfTheBest(random, scores)
		if extender != nil {
			err = extender.bound(m.pod, chosen)
		}
		return chosen, err
	})
}

// window is where kube-scheduler looks for nodes next.
type window struct {
	order []int // of the nodes: a node of each zone in turn (nodeTree.list in pkg/scheduler/backend/cache)
	next  int
}

func newWindow(nodes []*corev1.Node) *window {
	var zones []string
	byZone := map[string][]int{}
	for i, node := range nodes {
		zone := node.Labels[zoneLabel]
		if byZone[zone] == nil {
			zones = append(zones, zone)
		}
		byZone[zone] = append(byZone[zone], i)
	}
	w := &window{}
	for turn := 0; len(w.order) < len(nodes); turn++ {
		for _, zone := range zones {
			if turn < len(byZone[zone]) {
				w.order = append(w.order, byZone[zone][turn])
			}
		}
	}
	return w
}

// find returns a number of the nodes that fit, all if there are fewer.
func (w *window) find(most int, answers []Answer) (found []int) {
	looked := 0
	for ; looked < len(w.order) && len(found) < most; looked++ {
		if i := w.order[(w.next+looked)%len(w.order)]; answers[i].Code == fwk.Success {
			found = append(found, i)
		}
	}
	w.next = (w.next + looked) % len(w.order)
	return found
}

// musterOffering is a muster that kube-scheduler asks which of some nodes it may take.
type musterOffering struct {
	scenario *Scenario
	cluster  *cluster.Cluster
	verbs    http.Handler
}

func offerWithMuster(s *Scenario, selection config.NodeSelection, random *source) (*musterOffering, error) {
	cfg := config.Default().Profiles[0]
	cfg.NodeSelection = selection
	c, _, verbs, err := serve(s, &cfg, func(n int) int { return random.upTo(n - 1) })
	return &musterOffering{scenario: s, cluster: c, verbs: verbs}, err
}

// filter says which of the nodes muster leaves for a pending pod.
func (m *musterOffering) filter(pod int, offered []int) ([]int, error) {
	at, names := map[string]int{}, make([]string, len(offered))
	for i, node := range offered {
		names[i] = m.scenario.Nodes[node].Name
		at[names[i]] = node
	}
	var result extenderv1.ExtenderFilterResult
	if err := call(m.verbs, "filter", extenderv1.ExtenderArgs{Pod: m.scenario.Pending[pod], NodeNames: &names}, &result); err != nil {
		return nil, err
	}
	if result.Error != "" || result.NodeNames == nil || len(*result.NodeNames) == 0 {
		return nil, fmt.Errorf("filter leaves nothing for %s, and kube-scheduler found %d nodes: %+v",
			m.scenario.Pending[pod].Name, len(offered), result)
	}
	var left []int
	for _, name := range *result.NodeNames {
		left = append(left, at[name])
	}
	return left, nil
}

// bound shows muster where a pod went.
func (m *musterOffering) bound(pod, node int) error {
	return set(m.cluster, placedOn(m.scenario.Pending[pod], m.scenario.Nodes[node]))
}

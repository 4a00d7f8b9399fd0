package conformance

import (
	"context"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

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

// PlaceOfASample places the pods as kube-scheduler does when it does not look at all nodes. Of nodes that it rates alike
// it takes one at random by the seed.
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

// find returns so many of the nodes that fit, all if there are fewer.
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
		return nil, fmt.Errorf("filter leaves nothing for %s, of which kube-scheduler found %d nodes: %+v",
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

package conformance

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
)

// How many classes are asked for in a history, and by how many pods each.
const (
	askedClasses = 8
	podsOfAClass = 2
)

// History is a cluster that changes at random, and the verdict store of a random profile
// that is asked about it all the while. What the store says must be what the profile says
// of the same snapshot when it remembers nothing:
//
//	history, err := conformance.NewHistory(seed)
//	...
//	err = history.Change()
//	checks, stale := history.Compare()
//
// The same seed makes the same one. Every plugin of muster takes part, those that
// kube-scheduler lacks included.
type History struct {
	source  *source
	cluster *cluster.Cluster
	store   *predicates.VerdictStore
	classes [][]*cluster.Pod

	nodes  map[string]*corev1.Node // as they were last set
	pods   map[string]*corev1.Pod
	alike  map[types.UID]types.UID // the controllers of those that are of a class that is asked for
	born   int                     // pods so far
	events []string
}

// NewHistory makes one whose cluster has nodes and objects, but no pods.
func NewHistory(seed uint64) (*History, error) {
	s := newSource(seed)
	cfg, err := s.profile(plugins()).config()
	if err != nil {
		return nil, err
	}
	cfg.Equivalence = one(s, config.EquivalenceControllerRef, config.EquivalenceTemplate)
	registry := prometheus.NewRegistry()
	c := newCluster(registry, math.MaxInt64)
	room := one(s, 1<<30, 1<<30, 1<<10) // all classes are remembered, or hardly one
	store, err := newStore(cfg, c, int64(room), registry, withLoad(cfg)...)
	if err != nil {
		return nil, err
	}
	h := &History{
		source: s, cluster: c, store: store,
		nodes: map[string]*corev1.Node{}, pods: map[string]*corev1.Pod{}, alike: map[types.UID]types.UID{},
	}
	for range askedClasses {
		class, err := h.class()
		if err != nil {
			return nil, err
		}
		h.classes = append(h.classes, class)
	}
	for i := range mostNodes / 2 {
		if err := h.setNode(s.node(nodeName(i)), "new"); err != nil {
			return nil, err
		}
	}
	objects := s.objects()
	return h, set(c, objects.all()...)
}

// class draws pods of one controller that differ in nothing but their names.
func (h *History) class() ([]*cluster.Pod, error) {
	template := h.source.pod("")
	for len(template.OwnerReferences) == 0 {
		template = h.source.pod("")
	}
	if h.source.chance(40) {
		claimForItself(template)
	}
	var class []*cluster.Pod
	for range podsOfAClass {
		h.born++
		pod := template.DeepCopy()
		pod.Name = fmt.Sprintf("asked-%d", h.born)
		pod.UID = types.UID(pod.Name)
		if err := h.makeClaim(pod); err != nil {
			return nil, err
		}
		asked, err := trimmed(pod)
		if err != nil {
			return nil, err
		}
		class = append(class, asked)
	}
	return class, nil
}

// Compare asks about some of the classes, so that others lag behind. It returns how many
// verdicts and totals of a class on a node it compared, and those that were stale.
func (h *History) Compare() (checks int, stale []string) {
	for _, class := range several(h.source, askedClasses, h.classes...) {
		asked, err := h.asking(class)
		if err != nil {
			panic(err) // a pod that was set once can be set again
		}
		if asked == nil {
			continue
		}
		checked, wrong := compare(h.source, h.store, asked)
		checks += checked
		stale = append(stale, wrong...)
	}
	return checks, stale
}

// compare holds what is remembered of the class of a pod against what is not.
func compare(s *source, store *predicates.VerdictStore, pod *cluster.Pod) (checks int, stale []string) {
	view := store.View(pod)
	defer view.Close()
	fresh := store.Profile.Judge(pod, view.Snapshot)
	var ranked []int32
	for node := range view.Snapshot.Nodes() {
		if !s.chance(75) {
			continue // a node that is not asked about stays unjudged
		}
		checks++
		got, want := view.Verdict(node.Index), fresh.Verdict(node)
		if got != want && fresh.Reason(got) != searchTakesTooLong && fresh.Reason(want) != searchTakesTooLong {
			stale = append(stale, fmt.Sprintf("%s: remembered %q, is %q: %s", node.Name, fresh.Reason(got), fresh.Reason(want), inJSON(pod.Pod)))
		}
		if s.chance(75) {
			ranked = append(ranked, node.Index)
		}
	}
	got, want := make([]int64, len(ranked)), make([]int64, len(ranked))
	view.Rank(ranked, got)
	fresh.Rank(ranked, want)
	for i, index := range ranked {
		if got[i] != want[i] {
			node := view.Snapshot.Node(index)
			stale = append(stale, fmt.Sprintf("%s: remembered total %d, is %d: %s", node.Name, got[i], want[i], inJSON(pod.Pod)))
		}
	}
	return checks, stale
}

func inJSON(value any) string {
	data, err := json.Marshal(value)
	if err != nil {
		panic(err) // API types have a JSON form
	}
	return string(data)
}

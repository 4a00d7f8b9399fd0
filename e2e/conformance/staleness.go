package conformance

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// History is a cluster that changes at random, and the verdict store of a random profile that is asked about it all the
// while. What the store says must be what the profile says of the same snapshot when it remembers nothing:
//
//	history, err := conformance.NewHistory(seed)
//	...
//	err = history.Change()
//	checks, stale := history.Compare()
//
// The same seed makes the same one. Every plugin of muster takes part, including ones that kube-scheduler lacks.
type History struct {
	source  *source
	cluster *cluster.Cluster
	store   *predicates.VerdictStore
	classes [][]*cluster.Pod

	nodes  map[string]*corev1.Node // as they were last set
	pods   map[string]*corev1.Pod
	alike  map[types.UID]types.UID // the controllers of pods whose class is asked for
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
	switch {
	case h.source.chance(40):
		claimForItself(template)
	case h.source.chance(50): // hardly anything but its volumes and its controller tells nodes apart
		volumes := template.Spec.Volumes
		template.Spec = anywhere(template)
		template.Spec.Volumes = volumes
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

// Compare asks about some of the classes, so that others lag behind. It returns how many verdicts and totals of a class
// on a node it compared, and the stale ones.
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

// ownClaim names the claim that each pod of some classes has for itself.
const ownClaim = "own"

func hasOwnClaim(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Spec.ResourceClaims, func(c corev1.PodResourceClaim) bool { return c.Name == ownClaim })
}

// claimForItself has the pods of a class have a claim for two devices each, by a template. Hardly anything else keeps
// them from a node, so that it is seen what devices do.
func claimForItself(template *corev1.Pod) {
	template.Spec = anywhere(template)
	template.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: ownClaim, ResourceClaimTemplateName: new(ownClaim)}}
}

// anywhere is the spec of a pod that asks for nothing.
func anywhere(pod *corev1.Pod) corev1.PodSpec {
	return corev1.PodSpec{
		SchedulerName: pod.Spec.SchedulerName, Containers: []corev1.Container{{Name: "main"}},
		Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
	}
}

// makeClaim makes the claim of a pod that has one for itself.
func (h *History) makeClaim(pod *corev1.Pod) error {
	if !hasOwnClaim(pod) {
		return nil
	}
	claim := ownClaimOf(pod)
	others := slices.DeleteFunc(slices.Clone(pod.Status.ResourceClaimStatuses), func(s corev1.PodResourceClaimStatus) bool {
		return s.Name == ownClaim // that of the pod it was copied from
	})
	pod.Status.ResourceClaimStatuses = append(others, corev1.PodResourceClaimStatus{Name: ownClaim, ResourceClaimName: &claim.Name})
	return set(h.cluster, claim)
}

func ownClaimOf(pod *corev1.Pod) *resourcev1.ResourceClaim {
	name := "of-" + strings.ReplaceAll(string(pod.UID), "/", "-")
	exactly := &resourcev1.ExactDeviceRequest{DeviceClassName: "any", AllocationMode: resourcev1.DeviceAllocationModeExactCount, Count: 2}
	return &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: pod.Namespace, UID: types.UID(name),
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID, Controller: new(true)}},
		},
		Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
			Requests: []resourcev1.DeviceRequest{{Name: "device", Exactly: exactly}},
		}},
	}
}

// asking is a pod of a class that is asked about: one that never comes to a node, or one that waits for one and may be
// there when others are asked about, since what is remembered was found out about the first that was asked about. Of
// pods with claims for themselves it is one that waits, nil when none does.
func (h *History) asking(class []*cluster.Pod) (*cluster.Pod, error) {
	of := class[0].OwnerReferences[0].UID
	var waiting []*cluster.Pod
	for _, pod := range h.cluster.Pending() {
		if h.alike[pod.UID] == of && h.cluster.Assumed(pod.UID) == "" {
			waiting = append(waiting, pod)
		}
	}
	switch own := hasOwnClaim(class[0].Pod); {
	case own && len(waiting) == 0:
		return nil, nil
	case own, len(waiting) > 0 && h.source.chance(50):
		slices.SortFunc(waiting, func(a, b *cluster.Pod) int { return strings.Compare(string(a.UID), string(b.UID)) })
		return one(h.source, waiting...), nil
	}
	asked := *one(h.source, class...)
	return &asked, resolveClaims(h.cluster, &asked)
}

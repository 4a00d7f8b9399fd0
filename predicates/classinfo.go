package predicates

import (
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"math/bits"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
)

// ClassInfo describes a class of a store to people.
type ClassInfo struct {
	Profile string `json:"profile"`
	// Hash names the class: 64 bits in hexadecimal digits, which every process of the same configuration and
	// release computes alike.
	Hash string `json:"class"`
	// Pod is the pod that the class was first seen with.
	Pod string `json:"firstPod"`
	// Controller is the UID of the controller of its pods, "" when the profile has pods share across controllers, and Owner
	// names that controller.
	Controller string `json:"controller"`
	Owner      *Owner `json:"owner,omitempty"`
	// Calls is how often it was asked for since it is remembered, Hits how often it was remembered already.
	Calls int   `json:"calls"`
	Hits  int   `json:"hits"`
	Bytes int64 `json:"bytes"`
	// Generation of the snapshot on which it was last asked about, and the time since then.
	Generation uint64  `json:"generation"`
	AgeSeconds float64 `json:"ageSeconds"`
	// Judged is how many of the nodes that there are it was judged on, Fitting how many of these fit then.
	Judged  int `json:"judged"`
	Fitting int `json:"fitting"`
	// Pods are the last ones of the class that were asked about, the latest first.
	Pods []string `json:"pods"`
	// Present are the ones among Pods that the watch shows still.
	Present []string `json:"present"`
}

// Owner names the controller of pods.
type Owner struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// Remembered is the memory of a class about one node.
type Remembered struct {
	Node string `json:"node"`
	Fits bool   `json:"fits"`
	// Reason of the first predicate against the node, "" when the pods fit.
	Reason string `json:"reason,omitempty"`
	// Predicates of the profile, in their order, for a node that was asked about.
	Predicates []RememberedVerdict `json:"predicates,omitempty"`
}

// RememberedVerdict is the verdict of one predicate.
type RememberedVerdict struct {
	Predicate string `json:"predicate"`
	// Verdict is "fits", "against", or "not concerned" for a predicate that has nothing to say of the class at all.
	Verdict string `json:"verdict"`
	// Reasons are why not. The first one is kept for the first predicate against the node; all
	// others can be told while nothing has changed since they were asked.
	Reasons []string `json:"reasons,omitempty"`
}

// Class returns the memory of the class of that hash, as in ClassInfo, on every node that was asked about, and
// the verdicts of single predicates only on the node named in detail. It returns false when there is no such
// class. Nothing is brought up to date.
func (s *VerdictStore) Class(hash, detail string) (ClassInfo, []Remembered, bool) {
	for _, e := range s.remembered() {
		if s.hash(e.class) != hash {
			continue
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		snap := s.cluster.Snapshot()
		var nodes []Remembered
		for node := range e.judged(snap) {
			reason := e.judgement.Reason(e.first[node.Index])
			r := Remembered{Node: node.Name, Fits: reason == "", Reason: reason}
			if node.Name == detail {
				e.detail(&r, node, snap)
			}
			nodes = append(nodes, r)
		}
		return s.info(e, snap), nodes, true
	}
	return ClassInfo{}, nil, false
}

// judged yields the nodes of a snapshot that the entry remembers a verdict on: no node that came under an index
// since, nor one that was not asked about. It must be called with the lock held.
func (e *entry) judged(snap *cluster.Snapshot) iter.Seq[*cluster.Node] {
	changes, replayable := snap.Since(e.generation)
	came := map[int32]bool{}
	for _, change := range changes {
		if change.Aspects == cluster.AspectNode {
			came[change.Node] = true
		}
	}
	return func(yield func(*cluster.Node) bool) {
		if e.judgement == nil || !replayable {
			return
		}
		for node := range snap.Nodes() {
			known := int(node.Index) < len(e.first) && !came[node.Index] && e.first[node.Index] != unjudged
			if known && !yield(node) {
				return
			}
		}
	}
}

// detail must be called with the lock held.
func (e *entry) detail(r *Remembered, node *cluster.Node, snap *cluster.Snapshot) {
	against := e.against[node.Index]
	for i, check := range e.judgement.checks {
		v := RememberedVerdict{Predicate: e.judgement.profile.predicates[i].Name(), Verdict: "against"}
		switch {
		case check == nil:
			v.Verdict = "not concerned"
		case against>>i&1 == 0:
			v.Verdict = "fits"
		case e.generation == snap.Generation:
			v.Reasons = e.judgement.reasonsOf(check, node)
		case i == bits.TrailingZeros32(against):
			v.Reasons = []string{r.Reason}
		}
		r.Predicates = append(r.Predicates, v)
	}
}

// Classes lists what is remembered, the most recently used first.
func (s *VerdictStore) Classes() []ClassInfo {
	var infos []ClassInfo
	for _, e := range s.remembered() {
		e.mu.Lock()
		infos = append(infos, s.info(e, s.cluster.Snapshot()))
		e.mu.Unlock()
	}
	return infos
}

// remembered returns all entries, the most recently used first.
func (s *VerdictStore) remembered() []*entry {
	s.mu.Lock()
	defer s.mu.Unlock()
	var entries []*entry
	for at := s.recent.Front(); at != nil; at = at.Next() {
		entries = append(entries, at.Value.(*entry))
	}
	return entries
}

// mostNamed is how many pods of a class are named.
const mostNamed = 8

// namedPod is a pod that was asked about.
type namedPod struct {
	types.NamespacedName
	uid types.UID
}

// name puts a pod in front of the ones that were asked about last.
func (e *entry) name(pod *cluster.Pod) {
	name := types.NamespacedName{Namespace: pod.Namespace, Name: pod.Name}
	at := slices.IndexFunc(e.pods, func(known namedPod) bool { return known.NamespacedName == name })
	switch {
	case at >= 0:
		copy(e.pods[1:], e.pods[:at])
	case len(e.pods) < mostNamed:
		e.pods = slices.Insert(e.pods, 0, namedPod{})
	default:
		copy(e.pods[1:], e.pods)
	}
	e.pods[0] = namedPod{name, pod.UID}
}

// info must be called with the lock of the entry held.
func (s *VerdictStore) info(e *entry, snap *cluster.Snapshot) ClassInfo {
	info := ClassInfo{
		Profile: s.Profile.Name, Hash: s.hash(e.class), Controller: e.class.controller(),
		Calls: e.calls, Hits: e.calls - e.misses, Bytes: e.size(), Generation: e.generation,
		AgeSeconds: s.clock.Since(e.asked).Round(time.Millisecond).Seconds(), Pods: []string{}, Present: []string{},
	}
	if e.judgement != nil { // else a plugin panicked
		first := e.judgement.pod
		info.Pod = first.FullName()
		if of := metav1.GetControllerOfNoCopy(first); of != nil && info.Controller != "" {
			info.Owner = &Owner{Kind: of.Kind, Namespace: first.Namespace, Name: of.Name}
		}
	}
	for _, pod := range e.pods {
		info.Pods = append(info.Pods, pod.String())
		if s.isPresent(pod.uid) {
			info.Present = append(info.Present, pod.String())
		}
	}
	for node := range e.judged(snap) {
		info.Judged++
		if e.first[node.Index] == Fits {
			info.Fitting++
		}
	}
	return info
}

// isPresent reports whether the watch shows a pod, with or without a node.
func (s *VerdictStore) isPresent(uid types.UID) bool {
	if s.cluster.PendingPod(uid) != nil {
		return true
	}
	pod, _ := s.cluster.Placed(uid)
	return pod != nil
}

// HashOf returns the class of a pod as people see it, [ClassInfo].Hash; "" for a pod that is judged
// for itself. That of a pod that has a node is the one that it had before.
func (s *VerdictStore) HashOf(pod *cluster.Pod) string {
	class := s.ClassOf(unplaced(pod))
	if class.None() {
		return ""
	}
	return s.hash(class)
}

func (s *VerdictStore) hash(class Class) string {
	sum := sha256.Sum256([]byte(class.form.Value()))
	return hex.EncodeToString(sum[:8])
}

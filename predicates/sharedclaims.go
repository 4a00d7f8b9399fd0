package predicates

import (
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
)

// sharedClaims is a deviceCheck for a pod with claims that others may use, too, and that are not allocated: the
// claim will be where one of these pods is on its way to, and so must the pod.
type sharedClaims struct {
	*deviceCheck
	users  sets.Set[int32] // indexes of the nodes that users are on their way to
	end    int32           // of the indexes
	turned bool
}

// claimsNamedBy returns the names of the claims that the spec of a pod names, which others may name, too.
func claimsNamedBy(pod *cluster.Pod) sets.Set[string] {
	names := sets.New[string]()
	for i := range pod.Spec.ResourceClaims {
		if name := pod.Spec.ResourceClaims[i].ResourceClaimName; name != nil {
			names.Insert(*name)
		}
	}
	return names
}

// sharedOf returns the claims of a pod that its spec names, as far as they are not allocated.
func sharedOf(pod *cluster.Pod, open []*resourcev1.ResourceClaim) sets.Set[types.UID] {
	names, shared := claimsNamedBy(pod), sets.New[types.UID]()
	for _, claim := range open {
		if names.Has(claim.Name) {
			shared.Insert(claim.UID)
		}
	}
	return shared
}

// Update implements [Digest].
func (s *sharedClaims) Update(snap *cluster.Snapshot, nodes []int32) {
	s.end = int32(snap.IndexEnd()) //nolint:gosec // a cluster has fewer than 2³¹ nodes
	for _, index := range nodes {
		s.put(index, snap.Node(index))
	}
}

// Suppose implements [Digest].
func (s *sharedClaims) Suppose(_ *cluster.Snapshot, node *cluster.Node) { s.put(node.Index, node) }

// put takes in the pods of a node, which is nil when it is gone.
func (s *sharedClaims) put(index int32, node *cluster.Node) {
	uses := node != nil && s.usedOn(node)
	if uses == s.users.Has(index) {
		return
	}
	if s.turned = true; uses {
		s.users.Insert(index)
	} else {
		s.users.Delete(index)
	}
}

func (s *sharedClaims) usedOn(node *cluster.Node) bool {
	for _, pod := range node.Pods {
		if !isComing(pod) {
			continue
		}
		for _, claim := range pod.Claims {
			if s.shared.Has(claim.UID) {
				return true
			}
		}
	}
	return false
}

// Turned implements [Spanning].
func (s *sharedClaims) Turned(visit func(index int32)) {
	if !s.turned {
		return
	}
	s.turned = false
	for index := range s.end {
		visit(index)
	}
}

// Group implements [Spanning]: each node has devices of its own.
func (s *sharedClaims) Group(node *cluster.Node) uint64 { return uint64(node.Index) } //nolint:gosec // it is not negative

// Verdict implements [Check].
func (s *sharedClaims) Verdict(node *cluster.Node) Verdict {
	if s.always == Fits && len(s.users) > 0 && !s.users.Has(node.Index) {
		return resourceClaimElsewhere | hopeless
	}
	return s.deviceCheck.Verdict(node)
}

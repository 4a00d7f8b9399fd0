package predicates

import (
	"unsafe"

	"muster.dev/muster/cluster"
)

// domainSum sums up something over the nodes of each failure domain of one topology
// key, as pods that a selector matches. What a node adds is its share; a node without
// the label is in no domain and adds to none.
//
// An update is follow, then put for each node that changed, then settle. Suppositions
// are puts after that.
type domainSum[Share int16 | int32] struct {
	key    string
	was    *cluster.Domains // the domains of the sums
	now    *cluster.Domains // the domains that put moves to
	sums   []int32          // by domain
	shares []Share          // by node index
}

// follow prepares for the nodes of a snapshot.
func (s *domainSum[Share]) follow(snap *cluster.Snapshot) {
	s.now = snap.Domains(s.key)
	if s.was == nil {
		s.was = s.now
	}
	s.sums, s.shares = atLeast(s.sums, s.now.End()), atLeast(s.shares, snap.IndexEnd())
}

// put replaces the share of a node, 0 for one that is gone. It calls changed, unless
// that is nil, for each domain whose sum is another one now.
func (s *domainSum[Share]) put(index int32, share Share, changed func(domain, before, after int32)) {
	from, to := s.was.Of(index), s.now.Of(index)
	before := s.shares[index]
	s.shares[index] = share
	if from == to {
		s.add(to, int32(share)-int32(before), changed)
		return
	}
	s.add(from, -int32(before), changed)
	s.add(to, int32(share), changed)
}

func (s *domainSum[Share]) add(domain, amount int32, changed func(domain, before, after int32)) {
	if domain < 0 || amount == 0 {
		return
	}
	before := s.sums[domain]
	s.sums[domain] += amount
	if changed != nil {
		changed(domain, before, before+amount)
	}
}

// settle ends an update: the sums are of the domains that were followed to.
func (s *domainSum[Share]) settle() { s.was = s.now }

// at returns the domain of a node, -1 when it has none, and the sum there.
func (s *domainSum[Share]) at(index int32) (domain, sum int32) {
	domain = s.now.Of(index)
	if domain < 0 {
		return domain, 0
	}
	return domain, s.sums[domain]
}

// size is in bytes. The domains belong to the snapshot.
func (s *domainSum[Share]) size() int64 {
	var share Share
	const perSum = int64(unsafe.Sizeof(int32(0)))
	perShare := int64(unsafe.Sizeof(share)) //nolint:gosec // 2 or 4
	return int64(cap(s.sums))*perSum + int64(cap(s.shares))*perShare
}

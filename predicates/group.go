package predicates

import "math/bits"

// Group is the same for nodes that stand, that every [Spanning] check judges alike and that every [Comparison]
// rates alike among any nodes. A pod elsewhere changes these for a group as a whole, so that a look at one node
// of each group is enough.
func (t *Trial) Group(index int32) uint64 {
	group, j := uint64(0), t.entry.judgement
	if t.spanning != 0 {
		node := t.Node(index)
		for _, check := range j.checks {
			if spanning, ok := check.(Spanning); ok {
				group = mix(group, spanning.Group(node))
			}
		}
	}
	for _, rating := range j.ratings {
		if rating.Among != nil {
			group = mix(group, rating.Among.Group(index))
		}
	}
	return group
}

// regrouping is a plugin that may come to see differences between nodes to which it was
// blind before, when a pod comes that cares for them.
type regrouping interface {
	// kinds of differences that it sees. When there are more, groups are other ones.
	kinds() int
}

func (t *Trial) kinds() int {
	kinds := 0
	for _, r := range t.regroupings {
		kinds += r.kinds()
	}
	return kinds
}

// ofDomain returns the part of a group that stands for a failure domain with several nodes:
// whatever becomes of the domain, it becomes of all of them.
func ofDomain(domain int32) uint64 { return uint64(uint32(domain)) } //nolint:gosec // -1 is one as well

// ofAmount returns the part of a group that stands for what one node has for itself.
func ofAmount(amount int32) uint64 { return 1<<32 | uint64(uint32(amount)) } //nolint:gosec // negative ones as well

// ofTruth is the same for what it has or has not.
func ofTruth(truth bool) uint64 {
	if truth {
		return ofAmount(1)
	}
	return ofAmount(0)
}

// mix makes one number of two, in which no bit of either stands alone: parts that are
// equal, and small, must not cancel each other out. Groups are told apart by 64 bits and
// nothing else: with a thousand of them, two are taken for one in one of 10¹³ plans.
func mix(a, b uint64) uint64 {
	const first, second = 0x9e3779b97f4a7c15, 0xd6e8feb86659fd93 // odd, with bits all over
	high, low := bits.Mul64(a^first, b^second)
	return high ^ low
}

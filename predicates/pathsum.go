package predicates

import (
	"slices"
	"unsafe"

	"muster.dev/muster/cluster"
)

// pathLevels is how many levels a path has at most.
const pathLevels = 3

// pathSums sums something up over the nodes of each domain of a network. A domain is the values of the labels of all levels down to
// its own, so that racks of one name in two blocks are two. A node that lacks a label is in no domain of that level, nor of one below.
// It takes memory for the nodes and domains that there are.
type pathSums struct {
	keys    []string            // by level, the uppermost first
	labels  []*cluster.Domains  // by level: the values of the labels, of the last snapshot
	numbers map[[2]int32]int32  // of domains, from 1 on, by the domain above, 0 for none, and the value of the label
	domains []pathSum           // by number - 1
	unused  []int32             // numbers of domains without nodes
	paths   [][pathLevels]int32 // by index of the node: the number of its domain at each level, 0 for none
	shares  []int16             // by index of the node: what it adds
}

// pathSum sums up the nodes of a domain.
type pathSum struct {
	at    [2]int32 // where it stands in numbers
	nodes int32
	sum   int32
}

// follow prepares for the nodes of a snapshot: each node that came, went or changed its labels must be put.
func (s *pathSums) follow(snap *cluster.Snapshot) {
	s.labels = s.labels[:0]
	for _, key := range s.keys {
		s.labels = append(s.labels, snap.Domains(key))
	}
	s.paths, s.shares = atLeast(s.paths, snap.IndexEnd()), atLeast(s.shares, snap.IndexEnd())
}

// put replaces what a node adds, 0 for one that is gone.
func (s *pathSums) put(index int32, share int16) {
	was := s.paths[index]
	now := s.enter(index)
	s.paths[index] = now
	for level := range s.keys {
		if number := now[level]; number > 0 {
			s.domains[number-1].sum += int32(share)
		}
	}
	for _, number := range slices.Backward(was[:]) {
		if number > 0 {
			s.leave(number, s.shares[index])
		}
	}
	s.shares[index] = share
}

// enter counts a node in the domains that its labels name, and returns their numbers.
func (s *pathSums) enter(index int32) (path [pathLevels]int32) {
	above := int32(0)
	for level := range s.keys {
		value := s.labels[level].Of(index)
		if value < 0 {
			break
		}
		above = s.number([2]int32{above, value})
		s.domains[above-1].nodes++
		path[level] = above
	}
	return path
}

// number returns the number of a domain, which may be new.
func (s *pathSums) number(at [2]int32) int32 {
	number, known := s.numbers[at]
	if known {
		return number
	}
	if last := len(s.unused) - 1; last >= 0 {
		number, s.unused = s.unused[last], s.unused[:last]
	} else {
		s.domains = append(s.domains, pathSum{})
		number = int32(len(s.domains)) //nolint:gosec // no more than pathLevels for each node
	}
	s.domains[number-1] = pathSum{at: at}
	s.numbers[at] = number
	return number
}

// leave takes a node, and what it added, out of a domain. The number of a domain without nodes is given to another one.
func (s *pathSums) leave(number int32, share int16) {
	domain := &s.domains[number-1]
	domain.sum -= int32(share)
	if domain.nodes--; domain.nodes == 0 {
		delete(s.numbers, domain.at)
		s.unused = append(s.unused, number)
	}
}

// of returns the sums of the domains that a node is in, by level, 0 where it is in none.
func (s *pathSums) of(index int32) (sums [pathLevels]int32) {
	for level, number := range s.paths[index] {
		if number > 0 {
			sums[level] = s.domains[number-1].sum
		}
	}
	return sums
}

// size is in bytes. The values of the labels belong to the snapshot.
func (s *pathSums) size() int64 {
	const perNumber, perNode = int64(unsafe.Sizeof([2]int32{}) + unsafe.Sizeof(int32(0))), int64(unsafe.Sizeof([pathLevels]int32{}))
	return int64(unsafe.Sizeof(*s)) + int64(len(s.numbers))*perNumber + int64(cap(s.domains))*int64(unsafe.Sizeof(pathSum{})) +
		int64(cap(s.unused))*int64(unsafe.Sizeof(int32(0))) + int64(cap(s.paths))*perNode + int64(cap(s.shares))*int64(unsafe.Sizeof(int16(0)))
}

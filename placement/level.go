package placement

import "muster.dev/muster/cluster"

// level numbers the domains of a level.
type level struct {
	domains []*cluster.Domains // of its keys
	known   []map[[2]int32]int32
}

func (n *Network) level(i int, snap *cluster.Snapshot) (l level) {
	if i < len(n.Above) {
		for _, key := range n.Above[i] {
			l.domains, l.known = append(l.domains, snap.Domains(key)), append(l.known, map[[2]int32]int32{})
		}
	}
	l.domains = append(l.domains, snap.Domains(n.Levels[i]))
	return l
}

// of returns the number of the domain that a node is in, -1 where it lacks one of the labels.
func (l *level) of(node int32) int32 {
	at := l.domains[0].Of(node)
	for i, known := range l.known {
		pair := [2]int32{at, l.domains[i+1].Of(node)}
		if pair[0] < 0 || pair[1] < 0 {
			return -1
		}
		number, is := known[pair]
		if !is {
			number = int32(len(known)) //nolint:gosec // no more than there are nodes
			known[pair] = number
		}
		at = number
	}
	return at
}

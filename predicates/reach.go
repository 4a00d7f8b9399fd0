package predicates

import "muster.dev/muster/cluster"

// reach notes on which nodes other nodes may have turned a verdict, for a [Spanning]
// check to embed.
type reach struct {
	end        int32 // of the node indexes
	everywhere bool
	domains    []domain
}

// domain is a failure domain: the number of one value of a node label.
type domain struct {
	of *cluster.Domains
	id int32
}

// manyDomains is the number of domains from which to visit all nodes costs less than to visit each domain.
const manyDomains = 16

// turnAll notes that verdicts may be other ones on all nodes.
func (r *reach) turnAll() { r.everywhere = true }

// turn notes that verdicts may be other ones in a failure domain. Nodes outside of
// every domain, of id -1, are not a domain.
func (r *reach) turn(of *cluster.Domains, id int32) {
	switch {
	case id < 0 || r.everywhere:
	case len(r.domains) == manyDomains:
		r.everywhere = true
	default:
		r.domains = append(r.domains, domain{of, id})
	}
}

// Turned implements [Spanning].
func (r *reach) Turned(visit func(index int32)) {
	if r.everywhere {
		for index := range r.end {
			visit(index)
		}
	} else {
		for _, d := range r.domains {
			for index := range d.of.Members(d.id) {
				visit(index)
			}
		}
	}
	r.everywhere, r.domains = false, r.domains[:0]
}

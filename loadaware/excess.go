package loadaware

import "muster.dev/muster/cluster"

// Estimates beyond requests cost nobody anything: a limit may be any number, and a pod need not run to have one.
// So they count in full for pods of the namespace that they are of, which keeps a burst of its own apart, and for all
// others up to a share of the node. Requests are charged: quotas bound them, and a node takes no more than it has.

// namespaceShare is that share, in percent of what a node offers.
const namespaceShare = 10

// excess is the estimated use of a node by the pods of a namespace beyond their requests.
type excess struct {
	namespace string
	// of is that by the sums that it is in.
	of [sumKinds]vector
}

// sumKind is a sum over pods.
type sumKind int

const (
	sumDelta sumKind = iota
	sumProdDelta
	sumEstimates

	sumKinds
)

// tally is a sum over the pods of a node, of each kind.
type tally struct {
	charged    [sumKinds]vector
	namespaces []excess
}

func newTally(resources int) *tally {
	t := &tally{}
	memory := make(vector, int(sumKinds)*resources)
	for kind := range t.charged {
		t.charged[kind] = memory[kind*resources : (kind+1)*resources : (kind+1)*resources]
	}
	return t
}

// add adds to one of the sums what a pod is estimated to use of a resource above what is measured of it anyway:
// as much is charged as its requests come to.
func (t *tally) add(kind sumKind, pod *cluster.Pod, resource int, estimate, requested, measured int64) {
	charged := max(0, min(requested, estimate)-measured)
	t.charged[kind][resource] = plus(t.charged[kind][resource], charged)
	if beyond := max(0, estimate-measured) - charged; beyond > 0 {
		of := t.excess(pod.Namespace).of[kind]
		of[resource] = plus(of[resource], beyond)
	}
}

func (t *tally) excess(namespace string) *excess {
	for i := range t.namespaces { // there are few on a node
		if t.namespaces[i].namespace == namespace {
			return &t.namespaces[i]
		}
	}
	e := excess{namespace: namespace}
	n := len(t.charged[0])
	memory := make(vector, int(sumKinds)*n)
	for kind := range e.of {
		e.of[kind] = memory[kind*n : (kind+1)*n : (kind+1)*n]
	}
	t.namespaces = append(t.namespaces, e)
	return &t.namespaces[len(t.namespaces)-1]
}

// sum is one of the sums as pods see it that are of other namespaces, and by namespace what its own pods see more.
func (t *tally) sum(kind sumKind, allocatable vector) (seen vector, own map[string]vector) {
	seen = append(vector{}, t.charged[kind]...)
	for _, e := range t.namespaces {
		var more vector
		for i, beyond := range e.of[kind] {
			most := percent(namespaceShare, allocatable[i])
			if beyond > most {
				if more == nil {
					more = make(vector, len(seen))
				}
				more[i] = beyond - most
			}
			seen[i] = plus(seen[i], min(beyond, most))
		}
		if more != nil {
			if own == nil {
				own = map[string]vector{}
			}
			own[e.namespace] = more
		}
	}
	return seen, own
}

package fit

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// Ledger is the content of the nodes of a cluster, entered in the order in which the API server
// made it so. It is not for use from several goroutines at once.
type Ledger struct {
	rooms map[string]*room // by node
	held  map[types.UID]tenant
}

// tenant is a pod that holds room.
type tenant struct {
	node string
	demand
}

// NewLedger is of a cluster without nodes and pods.
func NewLedger() *Ledger {
	return &Ledger{rooms: map[string]*room{}, held: map[types.UID]tenant{}}
}

// Node enters a node as it is now. That a node is lost need not be entered: what is bound
// to its name counts against what it last offered.
func (l *Ledger) Node(n *corev1.Node) {
	r := newRoom(n)
	for _, t := range l.held {
		if t.node == n.Name {
			r.take(t.demand)
		}
	}
	l.rooms[n.Name] = r
}

// Pod enters a pod as it is now. When it was bound since it was last entered, bound is
// true, and lacking names what its node had not enough of: resources, "pods", "host
// ports", or "node" if there never was one of that name. Requests are taken to stay as
// they were then.
func (l *Ledger) Pod(p *corev1.Pod) (bound bool, lacking []string) {
	if finished(p) {
		l.Gone(p.UID)
		return false, nil
	}
	if _, known := l.held[p.UID]; known || p.Spec.NodeName == "" {
		return false, nil
	}
	d := newDemand(p)
	l.held[p.UID] = tenant{p.Spec.NodeName, d}
	r := l.rooms[p.Spec.NodeName]
	if r == nil {
		return true, []string{"node"}
	}
	lacking = r.lacking(d)
	r.take(d)
	return true, lacking
}

// Gone enters that a pod was deleted.
func (l *Ledger) Gone(uid types.UID) {
	t, known := l.held[uid]
	if !known {
		return
	}
	delete(l.held, uid)
	if r := l.rooms[t.node]; r != nil {
		r.give(t.demand)
	}
}

package pairs

import (
	"context"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
)

// The Lease of the kube-schedulers.
const (
	leaseNamespace = metav1.NamespaceSystem
	leaseName      = "kube-scheduler"
)

// lookEvery is how often it is looked who plans.
const lookEvery = 50 * time.Millisecond

// witness sees which musters plan nominations, and whether the kube-schedulers beside them have their Lease meanwhile.
type witness struct {
	leases     coordinationv1client.LeaseInterface
	seen       []sight // by pair
	planned    int
	bystanders int
}

// sight is the last sight of a muster.
type sight struct {
	holder  bool // its kube-scheduler had the Lease
	planned int  // pods, since the process started
}

// look looks at all musters that run.
func (p *Pairs) look(ctx context.Context) {
	for i, k := range p.beside {
		before, beforeErr := p.witness.holds(ctx, i)
		planned, err := k.planned(ctx)
		after, afterErr := p.witness.holds(ctx, i)
		if err == nil && beforeErr == nil && afterErr == nil { // else it is gone, or starts
			p.witness.note(i, sight{before || after, planned})
		}
	}
}

// note counts what was planned since the last look. Only what grew between two looks at a muster that was a bystander at
// both counts as a bystander's: all else may be from when its kube-scheduler had the Lease.
func (w *witness) note(i int, now sight) {
	last := w.seen[i]
	w.seen[i] = now
	grown := now.planned - last.planned
	if grown < 0 { // another process
		grown = now.planned
	}
	if now.holder || last.holder {
		w.planned += grown
	} else {
		w.bystanders += grown
	}
}

// holds says whether the kube-scheduler of a pair has the Lease.
func (w *witness) holds(ctx context.Context, i int) (bool, error) {
	lease, err := w.leases.Get(ctx, leaseName, metav1.GetOptions{})
	if err != nil || lease.Spec.HolderIdentity == nil {
		return false, err
	}
	return strings.HasPrefix(*lease.Spec.HolderIdentity, host(i)+"_"), nil
}

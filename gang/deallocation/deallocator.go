package deallocation

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	resourceclient "k8s.io/client-go/kubernetes/typed/resource/v1"
	"k8s.io/utils/clock"

	"muster.dev/muster/cluster"
	"muster.dev/muster/cluster/lock"
	"muster.dev/muster/gang/membership"
)

const (
	// rest is for how long a claim is held in vain before it is taken back: kube-scheduler may do so itself, or the pod
	// may find a place on the node that has the devices.
	rest = 2 * time.Second
	// interval is how often claims are looked at.
	interval = time.Second
)

// Options of a Deallocator. All are required.
type Options struct {
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Clock      clock.WithTicker
	Cluster    *cluster.Cluster
	Client     resourceclient.ResourceClaimsGetter
}

// Deallocator takes back devices. It must be run by one process at a time.
type Deallocator struct {
	logger   *slog.Logger
	clock    clock.WithTicker
	cluster  *cluster.Cluster
	client   resourceclient.ResourceClaimsGetter
	outcomes *prometheus.CounterVec

	mu      lock.Mutex
	waiting map[types.UID]*cluster.Pod // members that wait, and claim devices

	since map[types.UID]time.Time // since when claims are held in vain; only Run uses it
}

// Outcomes of taking back an allocation.
const (
	outcomeDone    = "done"
	outcomeChanged = "changed" // somebody else wrote to the claim
	outcomeFailed  = "failed"
)

// New makes one that does nothing until it is run.
func New(o Options) *Deallocator {
	d := &Deallocator{
		logger: o.Logger, clock: o.Clock, cluster: o.Cluster, client: o.Client,
		mu: lock.New(lock.Inbox), waiting: map[types.UID]*cluster.Pod{}, since: map[types.UID]time.Time{},
		outcomes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "muster_gang_deallocations_total",
			Help: "Devices of claims that were taken back from members of gangs that wait, by outcome.",
		}, []string{"outcome"}),
	}
	for _, outcome := range []string{outcomeDone, outcomeChanged, outcomeFailed} {
		d.outcomes.WithLabelValues(outcome)
	}
	o.Registerer.MustRegister(d.outcomes)
	return d
}

// Run takes back devices until the context ends.
func (d *Deallocator) Run(ctx context.Context) {
	defer d.cluster.FollowPending(d.follow)()
	ticker := d.clock.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			d.look(ctx)
		}
	}
}

func (d *Deallocator) follow(e cluster.PodEvent) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.waiting, e.UID)
	if e.Pod == nil || len(e.Pod.Claims) == 0 {
		return
	}
	if _, member := membership.Of(e.Pod); member {
		d.waiting[e.UID] = e.Pod
	}
}

// look takes back what has been held in vain for long enough.
func (d *Deallocator) look(ctx context.Context) {
	now, since := d.clock.Now(), map[types.UID]time.Time{}
	for _, held := range d.inVain() {
		began, known := d.since[held.claim.UID]
		if !known {
			began = now
		}
		since[held.claim.UID] = began
		if now.Sub(began) >= rest && ctx.Err() == nil {
			d.deallocate(ctx, held.pod, held.claim)
		}
	}
	d.since = since
}

// holding is a claim, and the pod that it holds devices for.
type holding struct {
	pod   *cluster.Pod
	claim *resourcev1.ResourceClaim
}

// inVain returns the claims that hold devices for members that wait, and that nobody has reserved.
func (d *Deallocator) inVain() (found []holding) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, pod := range d.waiting {
		for _, claim := range pod.Claims {
			if isInVain(claim, pod) {
				found = append(found, holding{pod, claim})
			}
		}
	}
	return found
}

// isInVain reports whether a claim has devices that nobody has reserved, and is of the pod alone.
func isInVain(claim *resourcev1.ResourceClaim, pod *cluster.Pod) bool {
	return claim.Status.Allocation != nil && len(claim.Status.ReservedFor) == 0 && claim.DeletionTimestamp == nil &&
		metav1.IsControlledBy(claim, pod)
}

func (d *Deallocator) deallocate(ctx context.Context, pod *cluster.Pod, seen *resourcev1.ResourceClaim) {
	if d.cluster.Assumed(pod.UID) != "" {
		return // it has a place
	}
	claims := d.client.ResourceClaims(seen.Namespace)
	claim, err := claims.Get(ctx, seen.Name, metav1.GetOptions{})
	if err == nil && (claim.UID != seen.UID || !isInVain(claim, pod)) {
		d.outcomes.WithLabelValues(outcomeChanged).Inc()
		return
	}
	if err == nil {
		claim.Status.Allocation, claim.Status.Devices = nil, nil
		_, err = claims.UpdateStatus(ctx, claim, metav1.UpdateOptions{})
	}
	switch {
	case err == nil:
		d.outcomes.WithLabelValues(outcomeDone).Inc()
		d.logger.Info("devices taken back", "claim", seen.Namespace+"/"+seen.Name, "pod", pod.Name)
	case apierrors.IsConflict(err), apierrors.IsNotFound(err):
		d.outcomes.WithLabelValues(outcomeChanged).Inc()
	case ctx.Err() == nil:
		d.outcomes.WithLabelValues(outcomeFailed).Inc()
		d.logger.Warn("devices that a pod holds in vain cannot be taken back", "claim", seen.Namespace+"/"+seen.Name, "err", err)
	}
}

package backfill

import (
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement"
	"muster.dev/muster/rescheduler/reservation"
)

// isModest reports whether pods ask for no more than half of what all nodes have together, of each resource: a larger gang keeps
// nobody waiting.
func isModest(places []placement.Place, snap *cluster.Snapshot) bool {
	asked := cluster.Resources{}
	for _, place := range places {
		asked = asked.Plus(&place.Pod.Requests)
	}
	return within(asked.Plus(&asked), snap.Offered())
}

// within reports whether what is asked for is no more than what there is, of each resource that is asked for.
func within(asked, all cluster.Resources) bool {
	tooMuch := func(of cluster.Scalar) bool { return of.Amount > all.Scalar(of.Name) }
	return asked.MilliCPU <= all.MilliCPU && asked.Memory <= all.Memory && asked.EphemeralStorage <= all.EphemeralStorage &&
		!slices.ContainsFunc(asked.Scalars, tooMuch)
}

// count adds up for how long nodes had room for pods, by their resources, and kept it for a gang, since it was looked last.
func (b *Booker) count(snap *cluster.Snapshot, now time.Time) {
	since := now.Sub(b.looked)
	b.looked = now
	var namespace string
	var share float64
	if b.inForce != nil {
		namespace = b.Booked().Key.Namespace
		idle, kept := keptIdle(b.inForce, snap)
		b.idle.WithLabelValues(namespace).Add(float64(idle) * since.Seconds())
		if idle > 0 {
			all := snap.Offered()
			share = kept.ShareOf(&all)
		}
	}
	if b.costs.add(namespace, share, since) {
		b.log.Info("bookings of a namespace have kept too much room idle, and it gets none until that is down to half",
			slog.String("namespace", namespace))
	}
}

// keptIdle returns for how many pods nodes have room and keep it, and how much.
func keptIdle(b *reservation.Booking, snap *cluster.Snapshot) (pods int, kept cluster.Resources) {
	for name, planned := range b.Pods {
		node := snap.NodeByName(name)
		if node == nil {
			continue
		}
		taken := node.Requested
		for _, pod := range planned {
			if with := taken.Plus(&pod.Requests); node.Pod(pod.UID) == nil && within(with, node.Allocatable) {
				taken, kept = with, kept.Plus(&pod.Requests)
				pods++
			}
		}
	}
	return pods, kept
}

// costs are the shares of all nodes that bookings have kept idle, by the namespaces of the gangs: averages in which a time that lies an
// hour back counts half. Nobody else reads them.
type costs struct {
	most   float64 // from which on a namespace gets no booking, 0 for ever
	share  *prometheus.GaugeVec
	of     map[string]float64
	barred map[string]bool
}

const (
	// halfLife is the time after which a cost counts half.
	halfLife = time.Hour
	// negligible is a cost that is forgotten.
	negligible = 0.0005
)

// add has a share be kept idle for a namespace, and nothing for the others, for a time. It reports whether the namespace gets no booking
// from now on: until its cost is down to half, so that it has not a booking now and then that is of no use.
func (c *costs) add(namespace string, share float64, long time.Duration) (bars bool) {
	left := math.Exp2(-long.Hours() / halfLife.Hours())
	for name, cost := range c.of {
		c.of[name] = cost * left
	}
	if share > 0 {
		c.of[namespace] += share * (1 - left)
	}
	for name, cost := range c.of {
		switch {
		case c.most > 0 && cost >= c.most && !c.barred[name]:
			c.barred[name], bars = true, true
		case cost < c.most/2:
			delete(c.barred, name)
		}
		if cost < negligible && name != namespace && !c.barred[name] {
			delete(c.of, name)
			c.share.DeleteLabelValues(name)
			continue
		}
		c.share.WithLabelValues(name).Set(cost)
	}
	return bars
}

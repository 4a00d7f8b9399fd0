package backfill

import (
	"log/slog"
	"math"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement"
	"muster.dev/muster/rescheduler/reservation"
)

// immodest returns a resource that pods ask for too much of, more than half of what all nodes have together; "" for none. A larger gang
// keeps nobody waiting.
func immodest(places []placement.Place, snap *cluster.Snapshot) string {
	asked := cluster.Resources{}
	for _, place := range places {
		asked = asked.Plus(&place.Pod.Requests)
	}
	return beyond(asked.Plus(&asked), snap.Offered())
}

// beyond returns a resource that there is less of than is asked for, "" for none.
func beyond(asked, all cluster.Resources) string {
	tooMuch := func(of cluster.Scalar) bool { return of.Amount > all.Scalar(of.Name) }
	switch at := slices.IndexFunc(asked.Scalars, tooMuch); {
	case at >= 0:
		return string(asked.Scalars[at].Name.Value())
	case asked.MilliCPU > all.MilliCPU:
		return string(corev1.ResourceCPU)
	case asked.Memory > all.Memory:
		return string(corev1.ResourceMemory)
	case asked.EphemeralStorage > all.EphemeralStorage:
		return string(corev1.ResourceEphemeralStorage)
	}
	return ""
}

// count adds up for how long nodes had room for pods, by their resources, and kept it for a gang, since it was looked last.
func (b *Booker) count(snap *cluster.Snapshot, now time.Time) {
	since := now.Sub(b.looked)
	b.looked = now
	var namespace string
	var share float64
	if of := b.last.Load(); of.booking != nil {
		namespace = of.Key.Namespace
		idle, kept := keptIdle(of.booking, snap)
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
			if with := taken.Plus(&pod.Requests); node.Pod(pod.UID) == nil && beyond(with, node.Allocatable) == "" {
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

// forget forgets all costs, and tells of none any more.
func (c *costs) forget() {
	clear(c.of)
	clear(c.barred)
	c.share.Reset()
}

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

package core

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// done are the pods of a group that have finished. They are no members any more. Pods of a former PodGroup of
// the name do not count: they were created before this one, and were not there when its start was recorded. A
// process that has not recorded the start takes the pods created since a time for having been there.
type done struct {
	pods              map[types.UID]donePod
	of                types.UID // the PodGroup
	since             time.Time // the oldest pod that counts is not created before, zero for any
	succeeded, failed int       // of the pods that count
}

// donePod is a pod that has finished.
type donePod struct {
	created time.Time // by the API server's clock, as the time of a PodGroup
	phase   corev1.PodPhase
	startOf types.UID // the PodGroup for whose start it was there, as this process has last recorded; "" for none
}

func newDone() done { return done{pods: map[types.UID]donePod{}} }

func (d *done) has(uid types.UID) bool {
	_, has := d.pods[uid]
	return has
}

func (d *done) add(uid types.UID, p donePod) {
	d.remove(uid)
	d.pods[uid] = p
	d.count(p, 1)
}

// wasThere notes that a pod was there for a start of a PodGroup, if it has finished.
func (d *done) wasThere(uid, of types.UID) {
	if p, has := d.pods[uid]; has {
		p.startOf = of
		d.add(uid, p)
	}
}

func (d *done) remove(uid types.UID) {
	if p, has := d.pods[uid]; has {
		delete(d.pods, uid)
		d.count(p, -1)
	}
}

// countFor recounts if pods of another PodGroup, or since another time, count now. It reports whether that is
// so.
func (d *done) countFor(of types.UID, since time.Time) bool {
	if of == d.of && since.Equal(d.since) {
		return false
	}
	d.of, d.since, d.succeeded, d.failed = of, since, 0, 0
	for _, p := range d.pods {
		d.count(p, 1)
	}
	return true
}

// counts reports whether a pod is not of a former PodGroup.
func (d *done) counts(p donePod) bool {
	return !p.created.Before(d.since) || p.startOf != "" && p.startOf == d.of
}

func (d *done) count(p donePod, by int) {
	switch {
	case !d.counts(p):
	case p.phase == corev1.PodFailed:
		d.failed += by
	default:
		d.succeeded += by
	}
}

package core

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
)

// done are the pods of a group that have finished. They are no members any more. Those of a former
// PodGroup of the name do not count: they were created before this one, and before every pod that
// was there when its start was recorded.
type done struct {
	pods              map[types.UID]donePod
	since             time.Time // the oldest pod that counts is not created before, zero for any
	succeeded, failed int       // of those that count
}

// donePod is a pod that has finished.
type donePod struct {
	created time.Time // by the API server's clock, as the time of a PodGroup
	phase   corev1.PodPhase
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

func (d *done) remove(uid types.UID) {
	if p, has := d.pods[uid]; has {
		delete(d.pods, uid)
		d.count(p, -1)
	}
}

// countSince counts anew if those since another time count now. It reports whether that is so.
func (d *done) countSince(since time.Time) bool {
	if since.Equal(d.since) {
		return false
	}
	d.since, d.succeeded, d.failed = since, 0, 0
	for _, p := range d.pods {
		d.count(p, 1)
	}
	return true
}

func (d *done) count(p donePod, by int) {
	switch {
	case p.created.Before(d.since):
	case p.phase == corev1.PodFailed:
		d.failed += by
	default:
		d.succeeded += by
	}
}

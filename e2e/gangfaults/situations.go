package gangfaults

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/faultcampaign"
)

// Situations in which gangs find themselves, without anything going wrong.

// addBundle has two or three gangs come that start together. Their pods are alike, so that whether there is
// room for all does not depend on who goes where.
func (w *writer) addBundle() {
	first := w.drawGang("")
	parts := []*gang{first}
	for range 1 + w.rand.IntN(2) {
		other := w.drawGang("")
		other.label, other.milliCPU, other.priority, other.match = first.label, first.milliCPU, first.priority, first.match
		if first.podGroup() == nil {
			other.timeout, other.asks = gangTimeout, 0
		}
		parts = append(parts, other)
	}
	var names []string
	for _, g := range parts {
		names = append(names, g.name)
	}
	begin := len(w.events)
	for _, g := range parts {
		g.minMember, g.with = min(g.minMember, 3), names
		g.replicas = g.minMember + w.rand.IntN(2)
		w.addEvents(g)
	}
	w.events[begin].fault = bundle
}

// addRefused has a gang come of which the scheduler refuses some members by itself, mostly too many: with a
// high priority it would keep room from all others, if it was let.
func (w *writer) addRefused() {
	if w.refusing {
		return
	}
	w.refusing = true
	g := w.drawGang([]string{raised, urgent}[w.rand.IntN(2)])
	g.timeout, g.replaced, g.asks, g.match = refusedTimeout, false, 0, ""
	if g.label == v1alpha1.LabelMuster {
		g.label = v1alpha1.LabelX
	}
	spare := g.replicas - g.minMember
	count := 1
	if w.rand.IntN(4) > 0 {
		count = spare + 1 + w.rand.IntN(g.minMember)
	}
	from := w.rand.IntN(g.replicas)
	for i := range min(count, g.replicas) {
		g.refused = append(g.refused, (from+i)%g.replicas)
	}
	begin := len(w.events)
	w.addEvents(g)
	w.events[begin].fault = membersRefused
}

// refusedTimeout is the time of gangs with members that the scheduler refuses: short, so that a run sees several
// tries of theirs.
const refusedTimeout = 2 * time.Second

// liveAgain has all members of a gang finish, and its PodGroup deleted and created again. Then others come, for
// which those of the former life do not count.
func (w *writer) liveAgain() {
	g := w.someGang()
	object := g.podGroup()
	if object == nil || g.finishing > 0 || len(g.refused) > 0 || len(g.with) > 0 || g.former {
		return
	}
	w.finish(g, g.replicas)
	g.former = true
	after := w.within(window / 4)
	again := g.minMember - w.rand.IntN(2)
	w.add(event{
		0,
		w.begun(g),
		"let members of " + g.name + " finish, for a former life", formerLife,
		func(ctx context.Context, r *run) error {
			r.awaitFinished(ctx, g)
			if err := r.deletePodGroup(ctx, object); err != nil {
				return err
			}
			faultcampaign.Pause(ctx, time.Second+after) // the API server counts creations in seconds
			r.Note(fmt.Sprintf("create PodGroup %s again, and %d members", g.name, again))
			if err := r.createPodGroup(ctx, object); err != nil {
				return err
			}
			for i := range again {
				if err := r.lane.CreatePod(ctx, g.pod(laterLife+i)); err != nil {
					return err
				}
			}
			return nil
		},
	})
}

const (
	// laterLife is the first number of members of a later life.
	laterLife = 100
	// finishLimit is how long members may take to finish.
	finishLimit = 4 * time.Second
)

// awaitFinished returns when all members of a gang that are there have finished, or some have taken too long.
func (r *run) awaitFinished(ctx context.Context, g *gang) {
	ctx, cancel := context.WithTimeout(ctx, finishLimit)
	defer cancel()
	for ctx.Err() == nil && !r.record.finished(g) {
		faultcampaign.Pause(ctx, faultcampaign.Look)
	}
}

// finished says that all members of a gang that are there have succeeded.
func (r *record) finished(g *gang) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, pod := range r.now.pods {
		if keyOf(pod).name == g.name && pod.Status.Phase != corev1.PodSucceeded {
			return false
		}
	}
	return true
}

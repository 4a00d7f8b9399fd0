package extender

import (
	"muster.dev/muster/api/config"
	"muster.dev/muster/server/wire"
)

// filter answers which of the nodes the pod fits: all that do, the best of them where the
// profile has a shortlist, or with nodeSelection: Muster the one that muster picks.
func (e *Extender) filter(c *call) error {
	if err := e.read(c); err != nil {
		return err
	}
	if err := e.find(c); err != nil {
		return err
	}
	if err := e.profile(c); err != nil {
		c.outcome = outcomeError
		wire.FilterError(&c.reply, err.Error())
		return nil
	}
	generation := e.watch.cluster.Snapshot().Generation
	err := error(nil)
	if c.subject.known {
		err = e.filterKnown(c)
	} else {
		err = e.filterStranger(c)
	}
	if err != nil || c.outcome != outcomeUnschedulable {
		return err
	}
	for _, refusals := range e.refusals {
		refusals.Refused(c.subject.pod.UID, generation)
	}
	return nil
}

// filterKnown answers about a pod that waits for a node. Earlier offers are void.
func (e *Extender) filterKnown(c *call) error {
	e.picker.offers.end(c.subject.pod.UID)
	for _, claimant := range e.claimants {
		if answered, err := claimant.claim(c); answered || err != nil {
			return err
		}
	}
	return e.filterAlone(c)
}

// filterAlone answers about a pod that is placed for itself. If it fits nowhere, what is
// planned for others may give way to it.
func (e *Extender) filterAlone(c *call) error {
	if err := e.picker.answer(c); err != nil || c.outcome != outcomeUnschedulable {
		return err
	}
	for _, planner := range e.planners {
		if planner.giveWay(c) {
			c.outcome = outcomeOK
			c.reply.Reset()
			return e.picker.answer(c)
		}
	}
	return nil
}

// filterStranger answers which of the nodes a pod would fit that the watch does not show.
func (e *Extender) filterStranger(c *call) error {
	for _, claimant := range e.strangers {
		if answered, err := claimant.claim(c); answered || err != nil {
			return err
		}
	}
	view := c.store.ViewAlone(c.subject.pod)
	defer view.Close()
	if c.picksNode() {
		e.picker.offerBest(c, &view)
		return nil
	}
	e.picker.sift(c, &view)
	return nil
}

// picksNode reports whether muster picks the node of the call's pod, and not kube-scheduler.
func (c *call) picksNode() bool {
	return c.store.Profile.NodeSelection == config.NodeSelectionMuster
}

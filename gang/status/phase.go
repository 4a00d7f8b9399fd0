package status

import "muster.dev/muster/api/scheduling/v1alpha1"

// Counts are the pods of a group, all in the namespace of the group, each counted once.
type Counts struct {
	Pending   int // without a place
	Held      int // their bindings wait for the others
	Bound     int // bound to a node, and not running yet
	Running   int
	Succeeded int
	Failed    int

	Leaving int // of the bound and running ones: they are being deleted
}

// All returns how many pods there are.
func (c Counts) All() int { return c.unfinished() + c.Succeeded + c.Failed }

func (c Counts) unfinished() int { return c.Pending + c.Held + c.Bound + c.Running }

// scheduled returns the pods that were bound and have not failed.
func (c Counts) scheduled() int { return c.Bound + c.started() }

// satisfies reports whether pods that are bound or have succeeded, and stay, are enough.
func (c Counts) satisfies(minMember int) bool { return c.scheduled()-c.Leaving >= minMember }

func (c Counts) started() int { return c.Running + c.Succeeded }

// Phases returns all phases of a group.
func Phases() []v1alpha1.PodGroupPhase {
	return []v1alpha1.PodGroupPhase{
		v1alpha1.PodGroupPending, v1alpha1.PodGroupPreScheduling, v1alpha1.PodGroupScheduling, v1alpha1.PodGroupScheduled,
		v1alpha1.PodGroupRunning, v1alpha1.PodGroupFailed, v1alpha1.PodGroupFinished,
	}
}

// Phase returns the phase of a group by its minMember and the counts of its pods.
func Phase(minMember int, c Counts) v1alpha1.PodGroupPhase {
	switch {
	case c.All() < minMember:
		return v1alpha1.PodGroupPending
	case c.Succeeded >= minMember:
		return v1alpha1.PodGroupFinished
	case c.Failed > 0 && c.Failed+c.started() >= minMember:
		return v1alpha1.PodGroupFailed
	case c.started() >= minMember:
		return v1alpha1.PodGroupRunning
	case c.scheduled() >= minMember:
		return v1alpha1.PodGroupScheduled
	case c.Held+c.scheduled() > 0:
		return v1alpha1.PodGroupScheduling
	default:
		return v1alpha1.PodGroupPreScheduling
	}
}

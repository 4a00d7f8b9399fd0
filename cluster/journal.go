package cluster

import (
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// Change is one line of the journal: at that generation, these aspects of that
// node changed, or that object of the cluster as a whole.
type Change struct {
	Generation uint64
	Node       int32 // -1 for an aspect of the cluster as a whole
	Aspects    Aspect
	// Object came, changed or went, when there is no node. Its namespace is "" if its kind has none. The
	// Objects before and after have its two states.
	Object types.NamespacedName
}

// journalLength is the least number of changes that can be replayed. A reader further behind starts over.
const journalLength = 1 << 16

// journal is append-only: a published part of it never changes, so snapshots
// share its memory. Every generation has one change, so the first of them is
// that of the generation after the forgotten ones.
type journal struct {
	changes []Change
	// forgotten is the last generation whose changes are gone.
	forgotten uint64
}

func (j *journal) append(c Change) {
	if len(j.changes) >= 2*journalLength {
		keep := len(j.changes) - journalLength
		j.forgotten = j.changes[keep-1].Generation
		j.changes = append(make([]Change, 0, 2*journalLength), j.changes[keep:]...)
	}
	j.changes = append(j.changes, c)
}

// forget restarts the journal after a generation, which must be the last one.
func (j *journal) forget(generation uint64) { *j = journal{forgotten: generation} }

// since returns what came after a generation, oldest first. It says false when
// part of that is forgotten.
func (j *journal) since(generation uint64) ([]Change, bool) {
	if generation < j.forgotten {
		return nil, false
	}
	seen := min(generation-j.forgotten, uint64(len(j.changes)))
	return slices.Clip(j.changes[seen:]), true
}

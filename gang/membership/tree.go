package membership

import (
	"cmp"
	"fmt"
	"iter"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/cluster"
)

// MostLeaves is how many gangs may be in one tree of groups: as all of them are looked at to start one.
const MostLeaves = 256

// Standing is how far a gang in a tree of groups is, from the best on.
type Standing int

// The standings of gangs. Of two gangs that would do, the one with the better standing starts.
const (
	Started    Standing = iota // members are bound, so that its tree has started with it once
	Holding                    // members have places, and wait for others
	Whole                      // enough members wait
	Incomplete                 // too few members are there, or it has no room even alone
)

// Leaf is a gang in a tree of groups.
type Leaf struct {
	Key      Key
	Above    []cluster.GroupOfGroups // from the root on
	Standing Standing
	// InVain is how often its places came to nothing in a row.
	InVain   int
	Priority int32
}

// Root returns the root of the tree that a pod is in by its owners, the zero value for none.
func Root(pod *cluster.Pod) Key {
	above := pod.Affiliation.Above
	if len(above) == 0 {
		return Key{}
	}
	key, member := Of(pod)
	if !member {
		return Key{}
	}
	return Key{Label: key.Label, NamespacedName: types.NamespacedName{Namespace: key.Namespace, Name: above[0].Name}}
}

// Choices yields the sets of gangs of a tree with which one of them would start, the best first. Each begins with that gang. The
// leaves are all gangs of the tree.
//
// A gang that has started is alone, and so is one below groups of groups that have all started. Otherwise a set has just enough
// gangs for the uppermost group of groups that has not: first gangs that have started or hold places, which are in each set,
// then others, by their standing, tries in vain, priority and name. There is a hindrance when too few gangs are there, or
// enough others hold places.
//
// Kubernetes asks the same of CompositePodGroups, and its scheduler tries one set.
func Choices(of Key, leaves []Leaf) (iter.Seq[[]Key], *Hindrance) {
	if len(leaves) > MostLeaves {
		return nil, TooManyLeaves(len(leaves))
	}
	all := &branch{}
	for i := range leaves {
		all.add(&leaves[i], leaves[i].Above)
	}
	path := all.pathTo(of)
	if path == nil {
		return nil, &Hindrance{Invalid, "it is in no tree"}
	}
	path = path[1:] // from its root on
	path[0].weigh()
	for len(path) > 1 && (path[0].standing == Started || path[len(path)-1].standing == Started) {
		path = path[1:]
	}
	top := path[0]
	top.sort(path)
	for _, b := range path {
		if not := b.hinders(path); not != nil {
			return nil, not
		}
	}
	if lacks := top.lacks(); lacks != nil {
		return nil, &Hindrance{NoSibling, lacks.waits()}
	}
	return func(yield func([]Key) bool) {
		top.choices(func(chosen []*Leaf) bool {
			keys := make([]Key, 0, len(chosen))
			for _, leaf := range chosen {
				keys = append(keys, leaf.Key)
			}
			i := slices.Index(keys, of)
			copy(keys[1:], keys[:i])
			keys[0] = of
			return yield(keys)
		})
	}, nil
}

// TooManyLeaves says that a tree has more gangs than one may have.
func TooManyLeaves(count int) *Hindrance {
	return &Hindrance{Invalid, fmt.Sprintf("its tree has %d groups of pods, and %d may be in one", count, MostLeaves)}
}

// branch is a group of groups, or a gang, which has nothing below it.
type branch struct {
	name    string
	atLeast int
	below   []*branch
	leaf    *Leaf
	// By weigh: how far the branch is, and the highest priority below it.
	standing Standing
	priority int32
	// By sort: the most tries in vain of those below that come first, and how many of those below, from the first on, are in
	// each choice.
	inVain int
	chosen int
}

// add puts a gang below a branch, and what is between them.
func (b *branch) add(leaf *Leaf, above []cluster.GroupOfGroups) {
	if len(above) == 0 {
		b.below = append(b.below, &branch{name: leaf.Key.Name, leaf: leaf})
		return
	}
	i := slices.IndexFunc(b.below, func(other *branch) bool { return other.leaf == nil && other.name == above[0].Name })
	if i < 0 {
		i = len(b.below)
		b.below = append(b.below, &branch{name: above[0].Name})
	}
	b.below[i].atLeast = max(b.below[i].atLeast, int(above[0].AtLeast))
	b.below[i].add(leaf, above[1:])
}

// pathTo returns the branches from this one to a gang, nil when that is not below it.
func (b *branch) pathTo(of Key) []*branch {
	if b.leaf != nil && b.leaf.Key == of {
		return []*branch{b}
	}
	for _, other := range b.below {
		if path := other.pathTo(of); path != nil {
			return append([]*branch{b}, path...)
		}
	}
	return nil
}

// weigh works out how far the branch is, and all below it: as far as the last of those below that it needs.
func (b *branch) weigh() {
	if b.leaf != nil {
		b.standing, b.priority, b.inVain = b.leaf.Standing, b.leaf.Priority, b.leaf.InVain
		return
	}
	standings := make([]Standing, 0, len(b.below))
	for i, other := range b.below {
		other.weigh()
		standings = append(standings, other.standing)
		if i == 0 || other.priority > b.priority {
			b.priority = other.priority
		}
	}
	b.standing = Incomplete
	if len(b.below) < b.atLeast {
		return
	}
	slices.Sort(standings)
	switch last := standings[b.atLeast-1]; {
	case last == Started || last == Incomplete && !slices.Contains(standings, Holding):
		b.standing = last
	case slices.Contains(standings, Holding):
		b.standing = Holding
	default:
		b.standing = Whole
	}
}

// sort puts the branches below, and all further down, in the order in which they are chosen. The ones that are in each choice
// come first: which have started, or hold places, or are on the path.
func (b *branch) sort(path []*branch) {
	if b.leaf != nil {
		return
	}
	turn := func(other *branch) int {
		switch {
		case other.standing <= Holding:
			return int(other.standing)
		case slices.Contains(path, other):
			return int(Whole)
		}
		return int(Incomplete)
	}
	for _, other := range b.below {
		other.sort(path)
	}
	slices.SortFunc(b.below, func(x, y *branch) int {
		return cmp.Or(
			cmp.Compare(turn(x), turn(y)), cmp.Compare(x.standing, y.standing), cmp.Compare(x.inVain, y.inVain),
			cmp.Compare(y.priority, x.priority), cmp.Compare(x.name, y.name),
		)
	})
	for i, other := range b.below {
		if i < b.atLeast {
			b.inVain = max(b.inVain, other.inVain)
		}
		if b.chosen < b.atLeast && turn(other) < int(Incomplete) {
			b.chosen++
		}
	}
}

// hinders says why the branch of a path that is below this one does not start now: enough others hold places, so that it
// starts after them.
func (b *branch) hinders(path []*branch) *Hindrance {
	i := slices.IndexFunc(b.below, func(other *branch) bool { return slices.Contains(path, other) })
	if i < b.atLeast || b.leaf != nil {
		return nil
	}
	return &Hindrance{Later, fmt.Sprintf("%d of the groups of %s start before it", b.atLeast, b.name)}
}

// lacks returns the first group of groups in the order of choice that too few are in, nil when there is none.
func (b *branch) lacks() *branch {
	if b.leaf != nil {
		return nil
	}
	if len(b.below) < b.atLeast {
		return b
	}
	for _, other := range b.below[:b.atLeast] {
		if lacks := other.lacks(); lacks != nil {
			return lacks
		}
	}
	return nil
}

func (b *branch) waits() string {
	return fmt.Sprintf("waiting for members of %d more of the groups of %s to be created", b.atLeast-len(b.below), b.name)
}

// choices yields sets of gangs with which a branch starts, and reports whether more were asked for.
func (b *branch) choices(yield func([]*Leaf) bool) bool {
	if b.leaf != nil {
		return yield([]*Leaf{b.leaf})
	}
	last := b.atLeast // with too few that are whole, to say what the others lack
	for last < len(b.below) && b.below[last].standing != Incomplete {
		last++
	}
	return combine(b.below[:b.chosen], b.below[b.chosen:last], b.atLeast-b.chosen, nil, yield)
}

// combine yields the choices of all of some branches, with a number of others.
func combine(all, others []*branch, more int, so []*Leaf, yield func([]*Leaf) bool) bool {
	if len(all) > 0 {
		return all[0].choices(func(leaves []*Leaf) bool {
			return combine(all[1:], others, more, slices.Concat(so, leaves), yield)
		})
	}
	if more == 0 {
		return yield(so)
	}
	for i := range len(others) - more + 1 {
		if !combine(others[i:i+1], others[i+1:], more-1, so, yield) {
			return false
		}
	}
	return true
}

package v1alpha1

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// TopologyLevel is a level of a network, as an object lists it.
type TopologyLevel struct {
	// Key is of a label of nodes.
	Key string
	// Alias may stand for the key, "" for nothing.
	Alias string
}

// Along returns the topology with the levels that an object lists, the uppermost first: domains are told apart by the values of
// all levels down to theirs. Levels above the lowest named one become levels of the topology, the lowest of them first, while
// there are no more than it may have. It reports false, and returns the topology as it is, if a level is not listed.
func (t Topology) Along(levels []TopologyLevel) (Topology, bool) {
	levels = withoutNodes(levels)
	at := make([]int, len(t.Levels)+2) // of a level of t: its level in the list
	for i, name := range t.Levels {
		at[i+1] = 1 + indexOf(levels, name, t.Name != "")
		if at[i+1] == 0 {
			return t, false
		}
	}
	nodes, lowest := len(levels)+1, slices.Max(at)
	at[len(t.Levels)+1] = nodes
	if t.Nodes {
		lowest = nodes - 1
	}
	next, required := Topology{Name: t.Name, Nodes: t.Nodes, WaitFor: t.WaitFor}, at[t.Required]
	own := ownLevels(at, lowest, required)
	to := make([]int, nodes+1) // of a level of the list: its level in next
	var above []string
	for i, level := range levels[:lowest] {
		if !own[i+1] {
			above = append(above, level.Key)
			continue
		}
		next.Levels, next.Above = append(next.Levels, level.Key), append(next.Above, above)
		to[i+1], above = len(next.Levels), nil
	}
	to[nodes] = len(next.Levels) + 1
	next.Required, next.Preferred = to[required], to[at[t.Preferred]]
	if t.Balanced > 0 {
		next.Balanced = max(to[at[t.Balanced]], next.Required)
	}
	next.Shares, next.SharesLevel = t.Shares, to[at[t.SharesLevel]]
	floor := max(next.Required, next.SharesLevel)
	for _, s := range t.Slices { // a slice at a level above the one that it divides is whole in any case
		floor = max(floor, to[at[s.Level]])
		next.Slices = append(next.Slices, TopologySlice{Size: s.Size, Level: floor})
	}
	return next, true
}

// withoutNodes leaves out the level of nodes.
func withoutNodes(levels []TopologyLevel) []TopologyLevel {
	return slices.DeleteFunc(slices.Clone(levels), func(level TopologyLevel) bool { return level.Key == corev1.LabelHostname })
}

// indexOf returns which level of a list has a key, or stands under it as an alias where these count, -1 for none.
func indexOf(levels []TopologyLevel, name string, aliases bool) int {
	at := slices.IndexFunc(levels, func(level TopologyLevel) bool { return level.Key == name })
	if at < 0 && aliases {
		at = slices.IndexFunc(levels, func(level TopologyLevel) bool { return level.Alias == name })
	}
	return at
}

// PathsOf returns for each of some levels, which are named by their keys or aliases, the keys of all levels of a list down to it: the
// values of these tell its domains apart, see [Topology.Along]. The levels are in the order of the list, each once. It reports false
// if a level is not listed.
func PathsOf(levels []TopologyLevel, names []string) (paths [][]string, listed bool) {
	levels = withoutNodes(levels)
	named := map[int]bool{}
	for _, name := range names {
		at := indexOf(levels, name, true)
		if at < 0 {
			return nil, false
		}
		named[at] = true
	}
	var keys []string
	for i, level := range levels {
		keys = append(keys, level.Key)
		if named[i] {
			paths = append(paths, slices.Clone(keys))
		}
	}
	return paths, true
}

// ownLevels returns which levels of a list, from 1 on, are levels of a topology that names some of them. All pods are in one domain of
// each level above the one that is required.
func ownLevels(named []int, lowest, required int) map[int]bool {
	own := map[int]bool{}
	for _, level := range named {
		if level > 0 && level >= required && level <= lowest {
			own[level] = true
		}
	}
	for level := lowest; level > required && len(own) < maxLevels; level-- {
		own[level] = true
	}
	return own
}

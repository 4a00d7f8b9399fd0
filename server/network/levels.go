package network

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
)

// MostLevels is how many levels a Network has at most: a gang may name no more.
const MostLevels = 3

// mostNetworks bounds what is told.
const mostNetworks = 16

// Level is the keys of labels of nodes whose values tell its domains apart, the uppermost first and its own last. So domains of one
// name in two domains above are two.
type Level []string

// String returns the keys with commas between them.
func (l Level) String() string { return strings.Join(l, ",") }

// Without stands in a path for a label that a node lacks. No value of a label is like it.
const Without = "(none)"

// Path returns the path of the domain that a node is in: the values of its labels.
func (l Level) Path(node *cluster.Node) []string {
	path := make([]string, len(l))
	for i, key := range l {
		value, labelled := node.Labels[key]
		if !labelled {
			value = Without
		}
		path[i] = value
	}
	return path
}

// Network is levels that lie in one another, the uppermost first. It has one at the least.
type Network []Level

func (n Network) compare(other Network) int {
	return slices.CompareFunc(n, other, func(a, b Level) int { return slices.Compare(a, b) })
}

// covers reports whether a network has all levels of another one.
func (n Network) covers(other Network) bool {
	return !slices.ContainsFunc(other, func(level Level) bool {
		return !slices.ContainsFunc(n, func(own Level) bool { return slices.Equal(own, level) })
	})
}

// Named is the network of levels as a gang names them, by their keys or by what a Topology calls them. Where a Topology lists all of
// them, and no other one that does says otherwise, domains are told apart by all levels that it lists above them.
func Named(snap *cluster.Snapshot, names []string) Network {
	var found [][]string
	for _, topology := range snap.Topologies.All() {
		paths, listed := v1alpha1.PathsOf(topology.Levels, names)
		switch {
		case !listed:
		case found == nil:
			found = paths
		case !slices.EqualFunc(found, paths, slices.Equal):
			return plain(names)
		}
	}
	if found == nil {
		return plain(names)
	}
	return networkOf(found)
}

// plain is a network of keys that no Topology lists.
func plain(keys []string) Network {
	var n Network
	for i := range keys {
		n = append(n, keys[:i+1])
	}
	return n
}

func networkOf(paths [][]string) Network {
	var n Network
	for _, path := range paths {
		n = append(n, path)
	}
	return n
}

// InUse returns the networks by whose levels nodes are labelled, of Topologies first and then of gangs, and how many there are besides.
func InUse(snap *cluster.Snapshot, gangs []core.Summary) (networks []Network, more int) {
	for _, topology := range snap.Topologies.All() {
		var keys []string
		for _, level := range topology.Levels {
			if level.Key != corev1.LabelHostname {
				keys = append(keys, level.Key)
			}
		}
		if n := labelled(snap, plain(keys)); len(n) > 0 {
			networks = append(networks, n[max(0, len(n)-MostLevels):])
		}
	}
	slices.SortFunc(networks, Network.compare)
	networks = append(networks, asked(snap, gangs)...)
	more = max(0, len(networks)-mostNetworks)
	networks = networks[:len(networks)-more]
	var told []Network
	for i, n := range networks {
		if !slices.ContainsFunc(networks[:i], func(other Network) bool { return other.covers(n) }) &&
			!slices.ContainsFunc(networks[i+1:], func(other Network) bool { return other.covers(n) && !n.covers(other) }) {
			told = append(told, n)
		}
	}
	return told, more
}

// LevelsOf returns the levels of networks, each once, in their order.
func LevelsOf(networks []Network) (levels []Level) {
	for _, level := range slices.Concat(networks...) {
		if !slices.ContainsFunc(levels, func(other Level) bool { return slices.Equal(other, level) }) {
			levels = append(levels, level)
		}
	}
	return levels
}

// labelled leaves out levels that no node is labelled by.
func labelled(snap *cluster.Snapshot, n Network) Network {
	return slices.DeleteFunc(n, func(level Level) bool {
		return slices.ContainsFunc(level, func(key string) bool { return !snap.Labelled(key) })
	})
}

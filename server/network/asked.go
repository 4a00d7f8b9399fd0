package network

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
)

// wish is a network that gangs ask for.
type wish struct {
	Network
	turn       int // when the namespace with the earliest turn for it has that
	namespaces int
}

// asked returns the networks that gangs ask for. Namespaces take turns, so that one that asks for many crowds out no other; in a turn
// comes first what most of them ask for.
func asked(snap *cluster.Snapshot, gangs []core.Summary) (networks []Network) {
	of := map[string]sets.Set[string]{} // what is named, by namespace
	wishes := map[string]*wish{}        // by what is named
	for i := range gangs {
		names := strings.Join(gangs[i].Levels, ",")
		if names == "" {
			continue
		}
		if wishes[names] == nil {
			wishes[names] = &wish{Network: labelled(snap, Named(snap, gangs[i].Levels)), turn: math.MaxInt}
		}
		if len(wishes[names].Network) == 0 {
			continue
		}
		namespace, _, _ := strings.Cut(gangs[i].Name, "/")
		if of[namespace] == nil {
			of[namespace] = sets.New[string]()
		}
		of[namespace].Insert(names)
	}
	for _, named := range of {
		for turn, names := range sets.List(named) {
			w := wishes[names]
			w.turn, w.namespaces = min(w.turn, turn), w.namespaces+1
		}
	}
	for _, w := range slices.SortedFunc(maps.Values(wishes), func(a, b *wish) int {
		return cmp.Or(cmp.Compare(a.turn, b.turn), cmp.Compare(b.namespaces, a.namespaces), a.compare(b.Network))
	}) {
		if w.namespaces > 0 {
			networks = append(networks, w.Network)
		}
	}
	return networks
}

package holes

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// About is a hole, for people.
type About struct {
	Plan, Node, For, Taker string
	Open                   bool
}

// Report is all holes, by plan and node.
func (k *Keeper) Report() []About {
	k.mu.Lock()
	defer k.mu.Unlock()
	names := map[types.UID]string{}
	for _, plan := range k.plans {
		names[plan.UID] = plan.Name
	}
	var all []About
	for _, h := range k.holes {
		about := About{Plan: names[h.plan], Node: h.node, For: "pod " + string(h.beneficiary), Taker: cmp.Or(string(h.taker), "-"), Open: h.open}
		if h.beneficiary == "" {
			about.For = "pod of controller " + string(h.controller)
		}
		all = append(all, about)
	}
	slices.SortFunc(all, func(a, b About) int {
		return cmp.Or(cmp.Compare(a.Plan, b.Plan), cmp.Compare(a.Node, b.Node), cmp.Compare(a.For, b.For))
	})
	return all
}

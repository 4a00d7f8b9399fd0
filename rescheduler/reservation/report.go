package reservation

import (
	"cmp"
	"slices"

	"k8s.io/apimachinery/pkg/types"
)

// About is a reservation, for people.
type About struct {
	Plan string `json:"plan"`
	Node string `json:"node"`
	For  string `json:"for"`
	// Open says that its pod may come.
	Open bool `json:"open"`
	// Taker is the UID of the pod that has it.
	Taker string `json:"takenBy"`
}

// Report returns all reservations, by plan and node.
func (k *Keeper) Report() []About {
	k.mu.Lock()
	defer k.mu.Unlock()
	names := map[types.UID]string{}
	for _, plan := range k.plans {
		names[plan.UID] = plan.Name
	}
	var all []About
	for _, r := range k.reservations {
		about := About{Plan: names[r.plan], Node: r.node, For: "pod " + string(r.beneficiary), Taker: cmp.Or(string(r.taker), "-"), Open: r.open}
		if r.beneficiary == "" {
			about.For = "pod of controller " + string(r.controller)
		}
		all = append(all, about)
	}
	slices.SortFunc(all, func(a, b About) int {
		return cmp.Or(cmp.Compare(a.Plan, b.Plan), cmp.Compare(a.Node, b.Node), cmp.Compare(a.For, b.For))
	})
	return all
}

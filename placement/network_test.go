package placement

import (
	"fmt"
	"testing"
	"time"

	"k8s.io/utils/clock"
)

// Where there is no time to compare all divisions, a gang comes to places by a simple rule, and the plan says so.
func TestWhenTimeIsUpAGangIsPlacedByASimpleRule(t *testing.T) {
	const rack = "example.com/rack"
	for name, test := range map[string]struct {
		clock clock.PassiveClock
		cut   bool
	}{
		"there is time":       {clock.RealClock{}, false},
		"time is up too soon": {&ticking{}, true},
	} {
		t.Run(name, func(t *testing.T) {
			c, store := newStoreAt(t, test.clock)
			for i := range 24 {
				node := amount{cpu: 1 + i%6}.node(fmt.Sprint("node-", i))
				node.Labels[rack] = fmt.Sprint("rack-", i/2)
				set(t, c, node)
			}
			pods := podsAsking(amount{cpu: 1}, "pod", 40)
			network := &Network{Levels: []string{rack}}
			plan := New(store, pods, 1)
			defer plan.Close()
			got := plan.PlaceTogether([]Demand{{Pods: pods, AtLeast: 40, Network: network}}, store.Clock().Now().Add(20*time.Second))
			if !got.Kept || got.Enough[0].Placed != 40 || got.Cut != test.cut {
				t.Fatalf("kept: %t with %d places, cut: %t", got.Kept, got.Enough[0].Placed, got.Cut)
			}
			racks := map[string]int{}
			for _, place := range got.Enough[0].Places {
				racks[plan.Node(place.Node).Labels[rack]]++
			}
			if len(racks) != 4 { // four have 11 places each, and the others less
				t.Errorf("places by rack: %v", racks)
			}
		})
	}
}

package extender

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"muster.dev/muster/api/config"
)

// BenchmarkProfileLookup measures what it costs that there are 50 profiles and not one: the filter
// verb at 1,000 nodes, asked in turn with one and with 50 profiles in force. The pod is of the
// default profile, which is among both.
func BenchmarkProfileLookup(b *testing.B) {
	const (
		profiles = 50
		rounds   = 200
		calls    = 25 // of each in a round
	)
	extender, body := benchExtender(b, benchNodes(b, 1000), config.NodeSelectionScheduler)
	one, many := extender.profiles, config.Default()
	for i := 1; i < profiles; i++ {
		profile := many.Profiles[0]
		profile.SchedulerName = fmt.Sprintf("scheduler-%02d", i)
		many.Profiles = append(many.Profiles, profile)
	}
	c := extender.picker.cluster
	beside := newExtender(c, nil, profilesOf(b, c, many))
	if len(one.Stores()) != 1 || len(beside.profiles.Stores()) != profiles {
		b.Fatalf("%d and %d profiles are in force, want 1 and %d", len(one.Stores()), len(beside.profiles.Stores()), profiles)
	}
	extenders := []*Extender{extender, beside}
	var requests [2]call
	ask := func(i int) time.Duration {
		started := time.Now()
		for range calls {
			requests[i].memory.reply.Reset()
			_, err := requests[i].serve(b.Context(), extenders[i].verb("filter"), body)
			must(b, err)
		}
		return time.Since(started) / calls
	}
	for b.Loop() {
		var ratios []float64
		for round := range rounds {
			var took [2]time.Duration
			for turn := range extenders { // who is first changes
				i := (round + turn) % len(extenders)
				took[i] = ask(i)
			}
			ratios = append(ratios, float64(took[1])/float64(took[0]))
		}
		slices.Sort(ratios)
		fmt.Printf("figure profile_lookup_overhead=%.3f\n", ratios[rounds/2])
	}
}

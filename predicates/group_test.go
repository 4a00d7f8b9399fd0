package predicates

import "testing"

// Parts of a group are small numbers, and mixtures of such.
func TestGroupsOfDifferentPartsAreDifferent(t *testing.T) {
	seen := map[uint64][4]int{}
	for a := range int32(8) {
		for b := range int32(8) {
			for c := range int32(8) {
				for d := range int32(8) {
					// A tally, a spread over domains, sums of weights and images.
					group := mix(0, uint64(a))
					group = mix(group, mix(0, ofDomain(b)))
					group = mix(group, mix(0, ofAmount(c)))
					group = mix(group, uint64(d))
					of := [4]int{int(a), int(b), int(c), int(d)}
					if other, taken := seen[group]; taken {
						t.Fatalf("%v and %v are one group", of, other)
					}
					seen[group] = of
				}
			}
		}
	}
}

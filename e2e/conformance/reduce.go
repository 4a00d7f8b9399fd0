package conformance

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// mostTrials bounds how often a scenario is tried on the way to the smallest, which takes some seconds.
const mostTrials = 3000

// smallest takes away from a scenario whatever it can lose while it still holds, and returns the rest of it in YAML.
func smallest(s *Scenario, holds func(*Scenario) bool) string {
	tree := plain(s)
	trials := 0
	for shrink(tree, func() bool {
		if trials++; trials > mostTrials {
			return false
		}
		candidate := scenarioOf(tree)
		return candidate.validate() == nil && holds(candidate)
	}) {
	}
	text, err := yaml.Marshal(tree)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	return string(text)
}

// scenarioOf is the scenario in its decoded form.
func scenarioOf(tree any) *Scenario {
	s := &Scenario{}
	data, err := json.Marshal(tree)
	if err == nil {
		err = json.Unmarshal(data, s)
	}
	if err != nil {
		panic(err) // values were left out of what a scenario was encoded to
	}
	return s
}

// shrink takes away, one after the other, the values in the tree without which it still holds, and says whether there
// was one. It goes from the top downwards, so that what is not needed as a whole is not looked into. What the tree is
// made of is changed in place.
func shrink(tree any, holds func() bool) bool {
	shrunk := false
	for level := []any{tree}; len(level) > 0; {
		var below []any
		for _, value := range level {
			switch v := value.(type) {
			case map[string]any:
				shrunk = shrinkMap(v, holds) || shrunk
				for _, key := range keys(v) {
					below = append(below, v[key])
				}
			case []any:
				below = append(below, v...)
			}
		}
		level = below
	}
	return shrunk
}

func shrinkMap(m map[string]any, holds func() bool) bool {
	shrunk := false
	for _, key := range keys(m) {
		value := m[key]
		if delete(m, key); holds() {
			shrunk = true
			continue
		}
		m[key] = value
		if list, ok := value.([]any); ok {
			shorter := shorten(list, func(candidate []any) bool {
				m[key] = candidate
				return holds()
			})
			m[key] = shorter
			shrunk = shrunk || len(shorter) < len(list)
		}
	}
	return shrunk
}

// keys returns the keys of a map from the last to the first. So pods come before the nodes that they are on: a node
// goes only after its pods.
func keys(m map[string]any) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int { return strings.Compare(b, a) })
}

// shorten leaves out elements without which the list still holds, many at once first.
func shorten(list []any, holds func([]any) bool) []any {
	for size := max(len(list)/2, 1); size > 0; size /= 2 {
		for end := len(list); end > 0; end -= size {
			start := max(end-size, 0)
			if shorter := slices.Delete(slices.Clone(list), start, end); holds(shorter) {
				list = shorter
			}
		}
	}
	return list
}

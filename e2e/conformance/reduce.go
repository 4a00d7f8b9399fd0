package conformance

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"sigs.k8s.io/yaml"
)

// smallest takes away from a scenario of one pod and one node, on which the sides
// disagree, whatever it can lose without them coming to agree.
func (j *Judge) smallest(ctx context.Context, d Disagreement, s Scenario) Disagreement {
	tree := plain(s)
	disagrees := func() bool {
		theirs, ours, err := j.retry(ctx, tree)
		if err != nil || theirs.repeatedBy(ours) {
			return false
		}
		d.KubeScheduler, d.Muster = theirs, ours
		return true
	}
	for shrink(tree, disagrees) {
	}
	text, err := yaml.Marshal(tree)
	if err != nil {
		panic(err) // it was decoded from JSON
	}
	d.Scenario = string(text)
	return d
}

// retry puts what the tree says to both sides.
func (j *Judge) retry(ctx context.Context, tree any) (theirs, ours Answer, err error) {
	data, err := json.Marshal(tree)
	if err != nil {
		return theirs, ours, err
	}
	s, err := Read(data)
	if err != nil {
		return theirs, ours, err
	}
	sides, err := j.look(s)
	if err != nil {
		return theirs, ours, err
	}
	theirAnswers, ourAnswers, err := sides.answer(ctx, s.Profile)
	if err != nil {
		return theirs, ours, err
	}
	return theirAnswers[0][0], ourAnswers[0][0], nil
}

// shrink takes away, one after the other, every value in the tree without which it still
// holds, and says whether there was one. What the tree is made of is changed in place.
func shrink(tree any, holds func() bool) bool {
	shrunk := false
	switch t := tree.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(t)) {
			value := t[key]
			if delete(t, key); holds() {
				shrunk = true
				continue
			}
			if list, ok := value.([]any); ok {
				value = shorten(list, func(shorter []any) bool {
					t[key] = shorter
					return holds()
				})
				shrunk = shrunk || len(value.([]any)) < len(list)
			}
			t[key] = value
			shrunk = shrink(value, holds) || shrunk
		}
	case []any:
		for _, value := range t {
			shrunk = shrink(value, holds) || shrunk
		}
	}
	return shrunk
}

// shorten leaves out every element without which the list still holds.
func shorten(list []any, holds func([]any) bool) []any {
	for i := range slices.Backward(list) {
		if shorter := slices.Delete(slices.Clone(list), i, i+1); holds(shorter) {
			list = shorter
		}
	}
	return list
}

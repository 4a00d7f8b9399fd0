package conformance

import (
	"math/rand/v2"
	"slices"
)

// source is where everything random comes from. Two of the same seed draw the same.
type source struct {
	random *rand.Rand
}

func newSource(seed uint64) *source {
	return &source{random: rand.New(rand.NewPCG(seed, 0))}
}

// chance is true so many times in a hundred.
func (s *source) chance(percent int) bool { return s.random.IntN(100) < percent }

// upTo draws a number from 0 to most.
func (s *source) upTo(most int) int { return s.random.IntN(most + 1) }

// one draws one of the choices.
func one[T any](s *source, choices ...T) T { return choices[s.random.IntN(len(choices))] }

// several draws from none to most of the choices, none of them twice.
func several[T any](s *source, most int, choices ...T) []T {
	choices = slices.Clone(choices)
	s.random.Shuffle(len(choices), func(i, j int) { choices[i], choices[j] = choices[j], choices[i] })
	return choices[:s.upTo(min(most, len(choices)))]
}

package faultcampaign

import (
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"time"
)

// Fault is a kind of things that go wrong.
type Fault string

// Verb is a kind of calls that something may happen to.
type Verb string

// Call says which calls are alike: calls of a verb about a pod or another object.
type Call struct {
	Verb  Verb
	About string
}

// Spoiled happens to a call, with a duration if it is about time.
type Spoiled struct {
	Fault Fault // "" for nothing
	Time  time.Duration
}

// Trouble says what happens to which call. It is a function of the seed and of the call, and of how
// many like it were before.
type Trouble struct {
	Seed uint64
	Odds map[Verb]map[Fault]float64
	// First happens to the first of some calls, whatever the odds.
	First map[Call]Spoiled
}

// NewTrouble is none yet.
func NewTrouble(seed uint64) Trouble {
	return Trouble{Seed: seed, Odds: map[Verb]map[Fault]float64{}, First: map[Call]Spoiled{}}
}

// Add has a fault happen to calls of a verb.
func (t *Trouble) Add(v Verb, f Fault, odds float64) {
	if t.Odds[v] == nil {
		t.Odds[v] = map[Fault]float64{}
	}
	t.Odds[v][f] = odds
}

// AddAPIFaults puts each fault of the API server into an urn: that it happens to calls of one of some
// verbs, at odds of 0.1 and up to a spread more.
func (t *Trouble) AddAPIFaults(to *Urn, r *rand.Rand, verbs []Verb, spread float64) {
	for _, f := range APIFaults() {
		to.Add(4, func() {
			v := verbs[r.IntN(len(verbs))]
			t.Add(v, f, 0.1+spread*r.Float64())
		})
	}
}

// Of draws the trouble of a call, given the number of earlier ones like it.
func (t *Trouble) Of(c Call, before int) Spoiled {
	if first, is := t.First[c]; is && before == 0 {
		return first
	}
	hash := fnv.New64a()
	for _, text := range []string{string(c.Verb), c.About} {
		_, _ = hash.Write(append([]byte(text), 0)) // never fails
	}
	r := rand.New(rand.NewPCG(t.Seed, hash.Sum64()+uint64(before)))
	drawn, d := r.Float64(), time.Duration(r.Int64N(int64(300*time.Millisecond)))
	for _, f := range slices.Sorted(maps.Keys(t.Odds[c.Verb])) {
		if drawn -= t.Odds[c.Verb][f]; drawn < 0 {
			return Spoiled{Fault: f, Time: d}
		}
	}
	return Spoiled{Time: d}
}

// Urn holds what a script may draw.
type Urn struct {
	lots  []lot
	total int
}

// lot is drawn as often as it weighs.
type lot struct {
	weight int
	take   func()
}

// Add puts something in.
func (u *Urn) Add(weight int, take func()) {
	u.lots = append(u.lots, lot{weight, take})
	u.total += weight
}

// Draw takes something, which stays in.
func (u *Urn) Draw(r *rand.Rand) {
	drawn := r.IntN(u.total)
	for _, lot := range u.lots {
		if drawn -= lot.weight; drawn < 0 {
			lot.take()
			return
		}
	}
}

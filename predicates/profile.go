package predicates

import (
	"fmt"

	"muster.dev/muster/api/config/v1alpha2"
	"muster.dev/muster/cluster"
)

// Profile is the predicates and scores that apply to the pods of one scheduler
// name. It is immutable and safe for concurrent use.
type Profile struct {
	// Name is the scheduler name.
	Name string
	// NodeSelection says who picks the node.
	NodeSelection v1alpha2.NodeSelection

	equivalence v1alpha2.Equivalence
	predicates  []Predicate
	scores      []weighted
	weights     int64
}

type weighted struct {
	Score
	weight int64
}

// NewProfile builds the plugins that a validated configuration turns on.
func NewProfile(config *v1alpha2.Profile) (*Profile, error) {
	p := &Profile{Name: config.SchedulerName, NodeSelection: config.NodeSelection, equivalence: config.Equivalence}
	for _, name := range config.FilterPlugins() {
		r, err := register(name)
		if err != nil {
			return nil, err
		}
		if r.filter == nil {
			return nil, fmt.Errorf("plugin %q does not filter", name)
		}
		predicate, err := r.filter(config)
		if err != nil {
			return nil, fmt.Errorf("plugin %q: %w", name, err)
		}
		p.predicates = append(p.predicates, predicate)
	}
	for _, plugin := range config.ScorePlugins() {
		r, err := register(plugin.Name)
		if err != nil {
			return nil, err
		}
		if r.score == nil {
			return nil, fmt.Errorf("plugin %q does not score", plugin.Name)
		}
		score, err := r.score(config)
		if err != nil {
			return nil, fmt.Errorf("plugin %q: %w", plugin.Name, err)
		}
		p.scores = append(p.scores, weighted{Score: score, weight: plugin.Weight})
		p.weights += plugin.Weight
	}
	return p, nil
}

// Filter prepares all predicates for a pod.
func (p *Profile) Filter(pod *cluster.Pod, snap *cluster.Snapshot) Filter {
	checks := make([]Check, 0, len(p.predicates))
	for _, predicate := range p.predicates {
		if check := predicate.For(pod, snap); check != nil {
			checks = append(checks, check)
		}
	}
	return Filter{checks: checks}
}

// Filter is all predicates of a profile, prepared for a pod.
type Filter struct {
	checks []Check
}

// Verdict is the first verdict against the node, in the order of the profile's
// plugins, or Fits.
func (f Filter) Verdict(node *cluster.Node) Verdict {
	for _, check := range f.checks {
		if v := check(node); v != Fits {
			return v
		}
	}
	return Fits
}

// Rank prepares all scores for a pod.
func (p *Profile) Rank(pod *cluster.Pod, snap *cluster.Snapshot) Rank {
	r := Rank{weights: p.weights}
	for _, score := range p.scores {
		if rate := score.For(pod, snap); rate != nil {
			r.rates = append(r.rates, weightedRate{rate: rate, weight: score.weight})
		}
	}
	return r
}

// Rank is all scores of a profile, prepared for a pod.
type Rank struct {
	rates   []weightedRate
	weights int64
}

type weightedRate struct {
	rate   Rate
	weight int64
}

// Total is the weighted sum of the scores: 0 to MaxScore times the sum of the
// weights. Only comparisons within one Rank mean something.
func (r Rank) Total(node *cluster.Node) int64 {
	var total int64
	for _, s := range r.rates {
		total += s.weight * s.rate(node)
	}
	return total
}

// Scale brings a Total down to 0..top, rounded to the nearest.
func (r Rank) Scale(total, top int64) int64 { return scale(total, top, r.weights) }

func scale(total, top, weights int64) int64 {
	full := weights * MaxScore
	if full == 0 {
		return 0
	}
	return (total*top + full/2) / full
}

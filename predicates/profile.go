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
	rated       cluster.Aspect // what the scores read together
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
		p.rated |= score.Aspects()
	}
	if len(p.predicates) > mostPredicates {
		return nil, fmt.Errorf("%d predicates: there must be at most %d", len(p.predicates), mostPredicates)
	}
	return p, nil
}

// reads says that one of the plugins reads an aspect.
func (p *Profile) reads(aspect cluster.Aspect) bool {
	for _, predicate := range p.predicates {
		if predicate.Aspects()&aspect != 0 {
			return true
		}
	}
	return p.rated&aspect != 0
}

func scale(total, top, weights int64) int64 {
	full := weights * MaxScore
	if full == 0 {
		return 0
	}
	return (total*top + full/2) / full
}

package predicates

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// Profile is the predicates and scores that apply to the pods of one scheduler
// name. It is immutable and safe for concurrent use.
type Profile struct {
	// Name is the scheduler name.
	Name string
	// NodeSelection says who picks the node.
	NodeSelection config.NodeSelection
	// Gates says how long pods are gated.
	Gates config.Gates
	// Offload says that kube-scheduler leaves to muster the predicates that both know.
	Offload bool
	// Mirrors says that a kube-scheduler with its default plugins decides as the profile does.
	Mirrors bool
	// ReserveAfter is how long gangs wait before room is booked for them, 0 for ever; nil where that is as for all profiles.
	ReserveAfter *metav1.Duration
	// Shortlist is how many nodes kube-scheduler is to be offered at most, to pick one by the same scores that the
	// profile has then; 0 for all that fit.
	Shortlist int

	equivalence config.Equivalence
	predicates  []Predicate
	scores      []weighted
	rated       cluster.Aspect // what the scores read together
	plugins     []Plugin       // of other packages
	reasons     []string       // theirs
}

type weighted struct {
	Score
	weight int64
}

// NewProfile builds the plugins that a validated configuration turns on: plugins of this package and the given
// ones, each made for this profile. Given plugins that are not turned on are left out.
func NewProfile(cfg *config.Profile, plugins ...Plugin) (*Profile, error) {
	p := &Profile{
		Name: cfg.SchedulerName, NodeSelection: cfg.NodeSelection, Gates: cfg.Gates, Offload: cfg.Offload, Mirrors: cfg.IsDefault(),
		Shortlist: cfg.ShortlistSize(), ReserveAfter: cfg.ReserveAfter, equivalence: cfg.Equivalence,
	}
	scores := cfg.OwnScores()
	if p.Shortlist > 0 {
		scores = cfg.ScorePlugins()
	}
	known := registrations()
	for _, plugin := range plugins {
		known = append(known, p.adopt(plugin))
	}
	for _, name := range cfg.FilterPlugins() {
		r, err := find(known, name)
		if err != nil {
			return nil, err
		}
		if r.filter == nil {
			return nil, fmt.Errorf("plugin %q does not filter", name)
		}
		predicate, err := r.filter(cfg)
		if err != nil {
			return nil, fmt.Errorf("plugin %q: %w", name, err)
		}
		p.predicates = append(p.predicates, predicate)
	}
	for _, plugin := range scores {
		r, err := find(known, plugin.Name)
		if err != nil {
			return nil, err
		}
		if r.score == nil {
			return nil, fmt.Errorf("plugin %q does not score", plugin.Name)
		}
		score, err := r.score(cfg)
		if err != nil {
			return nil, fmt.Errorf("plugin %q: %w", plugin.Name, err)
		}
		p.scores = append(p.scores, weighted{Score: score, weight: plugin.Weight})
		p.rated |= score.Aspects()
	}
	for _, plugin := range plugins {
		if p.has(plugin.Name) {
			p.plugins = append(p.plugins, plugin)
		}
	}
	if last := pluginReason + Verdict(len(p.reasons)); last > insufficientScalar { //nolint:gosec // there are few
		return nil, fmt.Errorf("%d reasons of plugins: there must be at most %d", len(p.reasons), insufficientScalar-pluginReason)
	}
	if len(p.predicates) > mostPredicates {
		return nil, fmt.Errorf("%d predicates: there must be at most %d", len(p.predicates), mostPredicates)
	}
	return p, nil
}

// PlacesGated reports whether pods are placed while a gate keeps them from kube-scheduler, which need not ask about them.
func (p *Profile) PlacesGated() bool { return p.Gates == config.GatesUntilPlace }

// Plugin returns the plugin of that name that the profile was made with. It says false when there
// is none, or it is not turned on.
func (p *Profile) Plugin(name string) (Plugin, bool) {
	at := slices.IndexFunc(p.plugins, func(plugin Plugin) bool { return plugin.Name == name })
	if at < 0 {
		return Plugin{}, false
	}
	return p.plugins[at], true
}

// adopt numbers the reasons of a plugin and makes it one among the others.
func (p *Profile) adopt(plugin Plugin) registration {
	r := registration{name: plugin.Name}
	first := pluginReason + Verdict(len(p.reasons)) //nolint:gosec // there are few
	p.reasons = append(p.reasons, plugin.Reasons...)
	if plugin.Filter != nil {
		r.filter = func(*config.Profile) (Predicate, error) { return plugin.Filter(first), nil }
	}
	if plugin.Score != nil {
		r.score = func(*config.Profile) (Score, error) { return plugin.Score, nil }
	}
	return r
}

// has reports whether a plugin filters or scores.
func (p *Profile) has(name string) bool {
	return slices.ContainsFunc(p.predicates, func(predicate Predicate) bool { return predicate.Name() == name }) ||
		slices.ContainsFunc(p.scores, func(score weighted) bool { return score.Name() == name })
}

// DependsOn reports whether one of the plugins reads an aspect.
func (p *Profile) DependsOn(aspect cluster.Aspect) bool {
	for _, predicate := range p.predicates {
		if predicate.Aspects()&aspect != 0 {
			return true
		}
	}
	return p.rated&aspect != 0
}

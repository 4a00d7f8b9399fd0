package policy

import (
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/api/config"
	"muster.dev/muster/rescheduler/planner"
)

// RulesOf returns the rules of a valid configuration. A pod is not evicted when its replacement may come only
// after the plan has expired.
func RulesOf(settings *config.Rescheduler) planner.Rules {
	c := &settings.Evictable
	r := planner.Rules{
		MaxGrace:            settings.PlanTTL() - settings.ReplacementTimeout.Duration,
		AllowLocalStorage:   c.AllowLocalStorage,
		AllowClaims:         c.AllowClaims,
		AllowHigherPriority: c.AllowHigherPriority,
		AllowSingleReplica:  c.MinReplicas == 0,
		Controllers:         sets.New(c.Controllers...),
		BelowPriority:       c.BelowPriority,
		Namespaces:          sets.New(c.Namespaces...),
		ExceptNamespaces:    sets.New(c.ExceptNamespaces...),
		MinAge:              c.MinAge.Duration,
		MinReplicas:         int(c.MinReplicas),
	}
	if r.Namespaces.Has(config.AllNamespaces) {
		r.Namespaces, r.AllowKubeSystem = nil, true
	}
	if c.Selector != "" {
		r.Selector = Selector(c.Selector)
	}
	if c.NodeSelector != "" {
		r.Nodes = Selector(c.NodeSelector)
	}
	return r
}

// Selector parses the text of a selector in a valid configuration.
func Selector(text string) labels.Selector {
	parsed, err := labels.Parse(text)
	if err != nil {
		return labels.Nothing() // validation has refused it
	}
	return parsed
}

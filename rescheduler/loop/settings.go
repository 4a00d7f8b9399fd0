package loop

import (
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/api/config/v1alpha2"
	"muster.dev/muster/rescheduler/executor"
	"muster.dev/muster/rescheduler/planner"
)

// rules are those of a valid configuration.
func rules(c *v1alpha2.Evictable) planner.Rules {
	r := planner.Rules{
		AllowLocalStorage: c.AllowLocalStorage, AllowClaims: c.AllowClaims, AllowHigherPriority: c.AllowHigherPriority, BelowPriority: c.BelowPriority,
		Namespaces: sets.New(c.Namespaces...), ExceptNamespaces: sets.New(c.ExceptNamespaces...),
		MinAge: c.MinAge.Duration, MinReplicas: int(c.MinReplicas),
	}
	if c.Selector != "" {
		r.Selector = selector(c.Selector)
	}
	if c.NodeSelector != "" {
		r.Nodes = selector(c.NodeSelector)
	}
	return r
}

// selector is that of a valid text.
func selector(text string) labels.Selector {
	parsed, err := labels.Parse(text)
	if err != nil {
		return labels.Nothing() // validation has refused it
	}
	return parsed
}

func limits(c *v1alpha2.Rescheduler) executor.Limits {
	l := executor.Limits{
		ReplacementTimeout: c.ReplacementTimeout.Duration, Rate: rate(c.Budgets.Rate),
		WorkloadCoolDown: c.Budgets.WorkloadCoolDown.Duration, NodeCoolDown: c.Budgets.NodeCoolDown.Duration,
	}
	for _, s := range c.Budgets.Selected {
		selected := executor.Selected{Name: s.Selector, Namespace: s.Namespace, Selector: selector(s.Selector), Rate: rate(s.Rate), MaxDown: -1}
		if s.MaxDown != nil {
			selected.MaxDown = int(*s.MaxDown)
		}
		l.Selected = append(l.Selected, selected)
	}
	for _, w := range c.Budgets.Windows {
		zone, err := time.LoadLocation(w.TimeZone)
		if err != nil {
			zone = time.UTC // validation has refused it
		}
		from, to := w.Times()
		l.Windows = append(l.Windows, executor.Window{From: from, To: to, Days: w.Weekdays(), Zone: zone})
	}
	return l
}

func rate(c v1alpha2.EvictionRate) executor.Rate {
	return executor.Rate{Evictions: int(c.Evictions), Per: c.Per.Duration}
}

// budgets are those of one plan. A selected budget that lets so many pods be down allows as
// many evictions, one after the other: the executor counts those that are down.
func budgets(c *v1alpha2.DisruptionBudgets) planner.Budgets {
	b := planner.Budgets{Total: int(c.PerPlan), PerNode: int(c.PerNode), PerNamespace: int(c.PerNamespace), PerWorkload: int(c.PerWorkload)}
	for _, s := range c.Selected {
		most := int(s.Rate.Evictions)
		if s.MaxDown != nil && *s.MaxDown == 0 {
			most = 0
		} else if most == 0 {
			continue // any number
		}
		b.Selected = append(b.Selected, planner.SelectedBudget{Namespace: s.Namespace, Selector: selector(s.Selector), Evictions: most})
	}
	return b
}

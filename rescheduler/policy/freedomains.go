package policy

import (
	"fmt"

	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/api/config"
	"muster.dev/muster/rescheduler/planner"
)

// freeDomains empties nodes of one topology domain together.
func freeDomains(c *config.FreeDomainsPolicy) func(Situation) (*planner.Plan, string) {
	return func(s Situation) (*planner.Plan, string) {
		domains := sets.New[string]()
		for node := range s.Problem.Snapshot.Nodes() {
			if name, labelled := node.Labels[c.Key]; labelled {
				domains.Insert(name)
			}
		}
		if len(domains) == 0 {
			return nil, fmt.Sprintf("no node has the label %q", c.Key)
		}
		plan := s.Problem.FreeDomains(planner.Domains{Key: c.Key, Nodes: int(c.Nodes), Count: int(c.Domains)})
		switch {
		case len(plan.Steps) > 0:
			return plan, ""
		case len(plan.Kept) > 0:
			return plan, "no domain can be freed; of " + first(plan.Kept)
		case len(domains) < int(c.Domains):
			return plan, fmt.Sprintf("all domains are free, but there are %d, not %d", len(domains), c.Domains)
		default:
			return plan, fmt.Sprintf("enough domains are free (%d)", c.Domains)
		}
	}
}

package kubescheduler

import (
	"encoding/json"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"muster.dev/muster/api/config"
)

const scoringStrategy = "scoringStrategy"

// requestsArgs are the arguments of the plugins that score by what is requested.
type requestsArgs struct {
	Shape     []config.UtilizationShapePoint `json:"shape"`
	Resources []config.ResourceSpec          `json:"resources"`
}

// requests has NodeResourcesFit score by what is requested as the plugin did that a profile runs for it: one of its own,
// or the one that runs by default.
func (m *making) requests(said said, made *set) {
	off, on := names(said.disabled), names(said.enabled)
	var runs []entry
	if !off[config.AllPlugins] && !off[m.usual] && !on[m.usual] {
		runs = append(runs, entry{name: m.usual})
	}
	for _, e := range said.enabled {
		if isRequests(e.name) || e.name == config.NodeResourcesFit {
			runs = append(runs, e)
		}
	}
	switch {
	case len(runs) > 1:
		other := runs[0].name
		if runs[0].path == nil {
			other += " by default"
		}
		m.refuse(runs[1].at(), runs[1].name, "scores by what is requested, and so does "+other+
			": muster has one such score, so disable one of the two")
	case len(runs) == 1:
		m.strategy(runs[0], made)
	case !off[config.AllPlugins]:
		made.disable(config.NodeResourcesFit)
	}
	for _, e := range runs {
		m.used[e.name] = true
	}
}

// strategy has NodeResourcesFit score as a plugin did.
func (m *making) strategy(e entry, made *set) {
	if e.path != nil {
		made.enable(config.NodeResourcesFit, m.weight(e))
	}
	if e.name == config.NodeResourcesFit {
		return
	}
	if m.hasArg(config.NodeResourcesFit, scoringStrategy) {
		fit := m.argsOf(config.NodeResourcesFit)
		m.warnf(fit.path.Child(scoringStrategy), "left out: it is %s that scores", e.name)
		delete(fit.args, scoringStrategy)
	}
	a := m.use(e.name)
	var args requestsArgs
	if !m.into(a, &args) {
		return
	}
	strategy := map[string]any{}
	switch e.name {
	case nodeResourcesMostAllocated:
		strategy["type"] = config.MostAllocated
	case nodeResourcesLeastAllocated:
		strategy["type"] = config.LeastAllocated
	case requestedToCapacityRatio:
		if len(args.Shape) == 0 {
			m.errs = append(m.errs, field.Required(a.path.Child("shape"), "give the shape"))
			return
		}
		strategy["type"] = config.RequestedToCapacityRatio
		strategy["requestedToCapacityRatio"] = map[string]json.RawMessage{"shape": a.args["shape"]}
	}
	if e.name != requestedToCapacityRatio && len(args.Shape) > 0 {
		m.refuse(a.path.Child("shape"), string(a.args["shape"]), "unknown field, known here are resources")
		return
	}
	if len(args.Resources) > 0 {
		strategy["resources"] = a.args["resources"]
	}
	if e.name != nodeResourcesLeastAllocated || len(args.Resources) > 0 {
		m.setArg(config.NodeResourcesFit, scoringStrategy, strategy,
			moved{"." + scoringStrategy + ".requestedToCapacityRatio", a.path},
			moved{"." + scoringStrategy + ".resources", a.path.Child("resources")})
	}
}

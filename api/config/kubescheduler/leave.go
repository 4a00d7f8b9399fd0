package kubescheduler

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"muster.dev/muster/api/config"
)

const defaultPreemption = "DefaultPreemption"

// leave names every plugin of a profile that does not become one of muster's, at every extension point, and refuses names
// that kube-scheduler refuses.
func (m *making) leave() {
	for _, point := range slices.Sorted(maps.Keys(m.from.Plugins)) {
		said, path := m.from.of(point), m.from.path.Child("plugins", point)
		if point == multiPoint && !m.version.multiPoint {
			if len(said.enabled)+len(said.disabled) > 0 {
				m.warnf(path, "%s left out, as kube-scheduler goes by multiPoint from v1beta3 on", list(said))
			}
			continue
		}
		seen := map[string]bool{}
		for _, e := range said.enabled {
			switch {
			case e.name == "":
				m.errs = append(m.errs, field.Required(e.at(), "name a plugin"))
			case seen[e.name]:
				m.errs = append(m.errs, field.Duplicate(e.at(), e.name))
			default:
				m.leaveEnabled(point, e)
			}
			seen[e.name] = true
		}
		for _, e := range said.disabled {
			m.leaveDisabled(point, e, len(said.enabled) > 0)
		}
	}
	if percentage := m.from.PercentageOfNodesToScore; percentage != nil {
		m.warnf(m.from.path.Child("percentageOfNodesToScore"), "%d stays with kube-scheduler", *percentage)
	}
}

// list joins the names in a set.
func list(said said) string {
	var all []string
	for _, e := range slices.Concat(said.enabled, said.disabled) {
		all = append(all, e.name)
	}
	return strings.Join(all, ", ")
}

// role is the name that an extension point has today.
func (m *making) role(point string) string {
	if m.version.single && point == postFilter {
		return preScore
	}
	return point
}

// becomes reports whether what is said of a plugin at an extension point is said of a plugin of muster's.
func (m *making) becomes(point, name string) bool {
	_, known := find(name)
	switch point {
	case filter:
		return runsAt(filter, name) || isVolumeLimit(name) || m.isOld(name)
	case score:
		return runsAt(score, name) || isSpread(name) || m.isOld(name) || m.version.old && name == config.NodeResourcesFit
	case multiPoint:
		return known || isVolumeLimit(name) || isSpread(name)
	default:
		return false
	}
}

// leaveEnabled says what becomes of a plugin that is enabled.
func (m *making) leaveEnabled(point string, e entry) {
	role := m.role(point)
	switch {
	case e.name == coscheduling:
		m.takeOver(point, e)
	case isRemoved(e.name) && !m.version.old:
		m.refuse(e.at(), e.name, m.removed(e.name))
	case m.becomes(point, e.name):
	case (role == queueSort || role == multiPoint) && e.name == prioritySort:
		m.warnf(e.at(), "%s stays with kube-scheduler: muster goes by the same order", e.name)
	case role == queueSort:
		m.warnf(e.at(), "%s stays with kube-scheduler: muster takes pods ahead of it in the order of %s", e.name, prioritySort)
	case m.prepares(role, e.name):
		m.warnf(e.at(), "%s is left out: what counts for muster is whether it filters and scores", e.name)
	case m.mayBeMusters(role, e.name):
		m.warnf(e.at(), "%s stays with kube-scheduler: muster has no such plugin", e.name)
	default:
		m.warnf(e.at(), "%s stays with kube-scheduler: muster does not run it at %s", e.name, role)
	}
}

// prepares reports whether a plugin that becomes one of muster's gets ready at an extension point.
func (m *making) prepares(role, name string) bool {
	known, is := find(name)
	return (role == preFilter || role == preScore) && (is && !known.Partial || m.isOld(name) || isSpread(name))
}

// mayBeMusters reports whether a plugin could be one of muster's, by the extension point, and is none.
func (m *making) mayBeMusters(role, name string) bool {
	_, is := find(name)
	return !is && (role == filter || role == score || role == multiPoint)
}

// leaveDisabled says what becomes of a plugin that is disabled, at an extension point with others or not.
func (m *making) leaveDisabled(point string, e entry, others bool) {
	role, all := m.role(point), e.name == config.AllPlugins
	switch {
	case all && (role == filter || role == score) || m.becomes(point, e.name):
	case role == queueSort && others: // what takes its place was named
	case all && role == multiPoint:
		m.warnf(e.at(), "%s counts at filter and score; at the other points it turns plugins off in kube-scheduler alone", e.name)
	case (all || e.name == defaultPreemption) && (role == postFilter || role == multiPoint):
		m.warnf(e.at(), "%s is turned off in kube-scheduler alone: muster evicts nobody for gangs with gangs.evict: Never", e.name)
	case e.name == coscheduling:
		m.warnf(e.at(), "%s is not turned off: muster starts gangs in every profile", e.name)
	default:
		m.warnf(e.at(), "%s is turned off in kube-scheduler alone: muster does not run it at %s", e.name, role)
	}
}

// leaveRest warns of the fields beside the profiles.
func (c *conversion) leaveRest(written []byte) {
	var rest map[string]json.RawMessage
	if json.Unmarshal(written, &rest) != nil {
		return // it was read already
	}
	taken := []string{"apiVersion", "kind", "profiles"}
	if c.version.single {
		taken = []string{
			"apiVersion", "kind", "schedulerName", "algorithmSource", "hardPodAffinitySymmetricWeight", "plugins", "pluginConfig",
		}
	}
	for _, name := range taken {
		delete(rest, name)
	}
	switch names := slices.Sorted(maps.Keys(rest)); len(names) {
	case 0:
	case 1:
		c.warnings = append(c.warnings, names[0]+": stays with kube-scheduler")
	default:
		c.warnings = append(c.warnings, strings.Join(names, ", ")+": these stay with kube-scheduler")
	}
	if name := "disablePreemption"; string(rest[name]) == "true" {
		c.warnf(field.NewPath(name), "true counts for kube-scheduler alone: muster evicts nobody for gangs with gangs.evict: Never")
	}
}

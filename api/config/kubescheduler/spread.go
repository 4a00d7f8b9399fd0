package kubescheduler

import (
	"slices"

	"muster.dev/muster/api/config"
)

const (
	defaultingType     = "defaultingType"
	defaultConstraints = "defaultConstraints"
)

// spread has PodTopologySpread spread the pods of services where SelectorSpread did, by its default constraints.
func (m *making) spread(said said, made *set) {
	const name = config.PodTopologySpread
	runs := made.on[name] || made.isDefault(name)
	on := false
	for _, e := range said.enabled {
		if !isSpread(e.name) {
			continue
		}
		on = true
		if runs {
			m.warnf(e.at(), "%s is left out: the default constraints of %s spread the pods of a service", e.name, name)
			continue
		}
		runs = true
		made.enable(name, m.weight(e))
		m.warnf(e.at(), "%s becomes %s, which spreads the pods of a service by its default constraints, and pods by their own", e.name, name)
	}
	if m.version.old {
		m.stopSpread(said, on, runs)
		return
	}
	for _, e := range said.disabled {
		if isSpread(e.name) {
			m.warnf(e.at(), "%s is left out: it does not run by default in %s", e.name, m.version.name)
		}
	}
}

// stopSpread turns the default constraints of PodTopologySpread off where SelectorSpread did not run, or where the profile
// has some of its own.
func (m *making) stopSpread(said said, on, runs bool) {
	const name, turned = config.PodTopologySpread, "args.defaultingType of PodTopologySpread is List"
	byList := func() { m.setArg(name, defaultingType, config.ListDefaulting) }
	own := m.hasArg(name, defaultConstraints)
	off := slices.DeleteFunc(slices.Clone(said.disabled), func(e entry) bool { return !m.stopsSpread(e.name) })
	for _, e := range off {
		if !on && runs && !own && !m.hasArg(name, defaultingType) {
			byList()
			m.warnf(e.at(), "%s turns off the default constraints that SelectorSpread became: %s", e.name, turned)
		}
	}
	if own && !m.hasArg(name, defaultingType) {
		byList()
		m.warnf(m.argsOf(name).path.Child(defaultConstraints), "%s, without which they would not count today", turned)
	}
	if left := own || !runs; left && m.version.selectorSpread && !on && len(off) == 0 {
		m.warnf(m.from.path.Child("plugins", score), "%s, which runs by default, is left out: %s does not spread by services here",
			defaultPodTopologySpread, name)
	}
}

// stopsSpread reports whether SelectorSpread does not run when a name is disabled.
func (m *making) stopsSpread(name string) bool {
	return isSpread(name) || name == config.AllPlugins && m.version.selectorSpread
}

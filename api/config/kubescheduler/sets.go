package kubescheduler

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"muster.dev/muster/api/config"
)

// find returns muster's plugin of a name that kube-scheduler, or Koordinator's scheduler, has.
func find(name string) (config.KnownPlugin, bool) {
	if name == config.LoadAwareScheduling {
		name = config.LoadAware
	}
	return config.FindPlugin(name)
}

// runsAt reports whether muster has a plugin at an extension point.
func runsAt(point, name string) bool {
	known, is := find(name)
	switch point {
	case filter:
		return is && known.Filter != config.Never
	case score:
		return is && known.Score != config.Never
	default:
		return false
	}
}

// set is a plugin set of muster's in the making.
type set struct {
	made config.ScoreSet
	on   map[string]bool
	off  map[string]bool
}

func newSet() *set { return &set{on: map[string]bool{}, off: map[string]bool{}} }

func (s *set) isEmpty() bool { return len(s.on)+len(s.off) == 0 }

func (s *set) enable(name string, weight *int32) {
	if !s.on[name] {
		s.made.Enabled = append(s.made.Enabled, config.WeightedPlugin{Name: name, Weight: weight})
	}
	s.on[name] = true
}

func (s *set) disable(name string) {
	if !s.off[name] {
		s.made.Disabled = append(s.made.Disabled, config.Plugin{Name: name})
	}
	s.off[name] = true
}

// isDefault reports whether a default plugin is left at what it is.
func (s *set) isDefault(name string) bool {
	return !s.on[name] && !s.off[name] && !s.off[config.AllPlugins]
}

// plugins joins the sets of a profile.
func plugins(filters, scores *set) config.Plugins {
	made := config.Plugins{Filter: config.PluginSet{Disabled: filters.made.Disabled}, Score: scores.made}
	for _, plugin := range filters.made.Enabled {
		made.Filter.Enabled = append(made.Filter.Enabled, config.Plugin{Name: plugin.Name})
	}
	return made
}

// filters are the plugins that filter nodes.
func (m *making) filters() *set {
	said, made := m.from.at(filter, m.version), newSet()
	for _, e := range said.disabled {
		if e.name == config.AllPlugins || runsAt(filter, e.name) && !m.isOld(e.name) {
			m.disable(made, filter, e)
		} else if isVolumeLimit(e.name) {
			m.warnf(e.at(), "%s is not turned off: NodeVolumeLimits counts these volumes, as all have CSI drivers today", e.name)
		}
	}
	for _, e := range said.enabled {
		switch {
		case isVolumeLimit(e.name):
			m.warnf(e.at(), "%s becomes NodeVolumeLimits, as all volumes have CSI drivers today", e.name)
			if !made.isDefault(config.NodeVolumeLimits) {
				made.enable(config.NodeVolumeLimits, nil)
			}
		case m.isOld(e.name):
			m.oldFilter(e, made)
		case runsAt(filter, e.name):
			made.enable(e.name, nil)
		}
	}
	return made
}

// scores are the plugins that score nodes.
func (m *making) scores() *set {
	said, made := m.from.at(score, m.version), newSet()
	for _, e := range said.disabled {
		switch {
		case e.name == config.NodeResourcesFit && m.version.old:
			m.warnf(e.at(), "%s has no effect: it is %s that scores by default", e.name, m.usual)
		case e.name == config.AllPlugins || runsAt(score, e.name):
			m.disable(made, score, e)
		}
	}
	for _, e := range said.enabled {
		switch {
		case isSpread(e.name):
		case m.isOld(e.name) || e.name == config.NodeResourcesFit && m.version.old:
			m.oldScore(e)
		case runsAt(score, e.name):
			made.enable(e.name, m.weight(e))
		}
	}
	if m.version.old {
		m.requests(said, made)
	}
	m.spread(said, made)
	m.writeWeights(made)
	return made
}

// disable disables what an entry names.
func (m *making) disable(made *set, point string, e entry) {
	at := m.to.Child("plugins", point, "disabled").Index(len(made.made.Disabled))
	made.disable(e.name)
	m.place(at.Child("name").String(), e.at())
}

// weight returns the weight of an entry.
func (m *making) weight(e entry) *int32 {
	if e.weight != nil && (*e.weight < 1 || *e.weight > 100) {
		m.refuse(e.path.Child("weight"), *e.weight, "must be between 1 and 100 in muster: divide all weights of the profile alike")
		return nil
	}
	return e.weight
}

// writeWeights writes the weights of default plugins that the version had and today's has not.
func (m *making) writeWeights(made *set) {
	var written []string
	for _, name := range slices.Sorted(maps.Keys(m.version.weights)) {
		if !made.isDefault(name) {
			continue
		}
		weight := m.version.weights[name]
		today, _ := find(name)
		made.enable(name, &weight)
		written = append(written, fmt.Sprintf("%s %d (today %d)", name, weight, today.Weight))
	}
	if len(written) > 0 {
		at := m.from.path.Child("plugins", score)
		m.warnf(at, "the weights are written that %s has by default: %s", m.version.name, strings.Join(written, ", "))
	}
}

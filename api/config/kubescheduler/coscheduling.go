package kubescheduler

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"muster.dev/muster/api/config/strict"
)

// coscheduling is the plugin of scheduler-plugins, and of Koordinator, that starts gangs, as muster does in every profile.
const coscheduling = "Coscheduling"

// timeout is gangs.scheduleTimeout, and what says it.
type timeout struct {
	value time.Duration
	path  *field.Path
	times int
}

// takeOver says that muster does what Coscheduling does at an extension point.
func (m *making) takeOver(point string, e entry) {
	const taken = "%s is taken over by muster, which starts gangs in every profile: "
	switch m.role(point) {
	case queueSort:
		m.warnf(e.at(), taken+"kube-scheduler's file goes back to %s, and muster orders gangs itself", e.name, prioritySort)
	case multiPoint:
		m.warnf(e.at(), taken+"take it out of kube-scheduler's file, whose queue goes back to %s", e.name, prioritySort)
	default:
		m.warnf(e.at(), taken+"take it out of kube-scheduler's file", e.name)
	}
}

// coschedulingArgs makes gangs.scheduleTimeout of the arguments of Coscheduling, and names the other ones.
func (m *making) coschedulingArgs(a pluginArgs) {
	if !m.from.enables(coscheduling, m.version) {
		m.warnf(a.path, "left out: %s does not run", coscheduling)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(a.args)) {
		at, raw := a.path.Child(name), a.args[name]
		switch name {
		case "permitWaitingTimeSeconds":
			m.timeoutSeconds(at, raw)
		case "podGroupBackoffSeconds", "deniedPGExpirationTimeSeconds":
			m.warnf(at, "%s is left out: muster looks again after 3s, and a gang takes room that comes up at once", raw)
		case "defaultTimeout": // Koordinator's
			m.timeoutDuration(at, raw)
		case "podGroupGCIntervalSeconds", "podGroupExpirationTimeSeconds":
			m.warnf(at, "%s is left out: muster forgets a gang with its last pod", raw)
		case "kubeMaster", "kubeConfigPath":
			m.warnf(at, "%s is left out: clientConnection.kubeconfig names a kubeconfig for muster", raw)
		default:
			m.warnf(at, "%s is left out: muster has no such argument", raw)
		}
	}
}

// timeoutSeconds makes gangs.scheduleTimeout of a number of seconds. It leaves 0 out, and says why.
func (m *making) timeoutSeconds(path *field.Path, raw []byte) {
	var seconds *int64
	if errs := strict.Decode(path, raw, &seconds); len(errs) > 0 || seconds == nil {
		m.errs = append(m.errs, errs...)
		return
	}
	switch {
	case *seconds < 0:
		m.refuse(path, *seconds, "must not be negative")
	case *seconds == 0:
		m.warnf(path, "0 is left out: it stands for a minute, which gangs.scheduleTimeout is by default")
	case *seconds > math.MaxInt64/int64(time.Second):
		m.refuse(path, *seconds, "is longer than muster can count")
	default:
		m.setTimeout(path, time.Duration(*seconds)*time.Second)
	}
}

// timeoutDuration makes gangs.scheduleTimeout of a duration.
func (m *making) timeoutDuration(path *field.Path, raw []byte) {
	if string(raw) == "null" {
		return
	}
	var duration metav1.Duration
	if errs := strict.Decode(path, raw, &duration); len(errs) > 0 {
		m.errs = append(m.errs, errs...)
	} else if duration.Duration <= 0 {
		m.refuse(path, duration.Duration.String(), "must be greater than zero")
	} else {
		m.setTimeout(path, duration.Duration)
	}
}

// setTimeout sets gangs.scheduleTimeout, which holds for all profiles.
func (c *conversion) setTimeout(path *field.Path, value time.Duration) {
	if c.timeout == nil {
		c.timeout = &timeout{value: value, path: path}
	}
	if other := c.timeout; other.value != value {
		const why = "becomes gangs.scheduleTimeout, which holds for all profiles, and %s is %s"
		c.refuse(path, value.String(), fmt.Sprintf(why, other.path, other.value))
		return
	}
	c.timeout.times++
}

// spanTimeout says of gangs.scheduleTimeout that it holds for profiles that do not say it.
func (c *conversion) spanTimeout(profiles int) {
	if t := c.timeout; t != nil && t.times < profiles {
		c.warnf(t.path, "becomes gangs.scheduleTimeout: %s, which holds for all profiles", t.value)
	}
}

package kubescheduler

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/config/strict"
)

// coscheduling is the plugin of scheduler-plugins, and of Koordinator, that starts gangs, as muster does in every profile.
const coscheduling = "Coscheduling"

// The options of gangs that arguments of Coscheduling become.
const (
	scheduleTimeout    = "scheduleTimeout"
	maxScheduleTimeout = "maxScheduleTimeout"
	deniedTTL          = "deniedTTL"
)

// gangsOption is an option of gangs, and what says it.
type gangsOption struct {
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

// coschedulingArgs makes options of gangs of the arguments of Coscheduling, and names the other ones.
func (m *making) coschedulingArgs(a pluginArgs) {
	if !m.from.enables(coscheduling, m.version) {
		m.warnf(a.path, "left out: %s does not run", coscheduling)
		return
	}
	for _, name := range slices.Sorted(maps.Keys(a.args)) {
		at, raw := a.path.Child(name), a.args[name]
		switch name {
		case "permitWaitingTimeSeconds":
			m.gangsSeconds(scheduleTimeout, at, raw, "it stands for a minute, which gangs.scheduleTimeout is by default")
		case "podGroupBackoffSeconds", "deniedPGExpirationTimeSeconds":
			m.gangsSeconds(deniedTTL, at, raw, "gangs.deniedTTL has to be longer, and a gang takes room that comes up at once all the same")
		case "defaultTimeout": // Koordinator's
			m.gangsDuration(at, raw)
		case "podGroupGCIntervalSeconds", "podGroupExpirationTimeSeconds":
			m.warnf(at, "%s is left out: muster forgets a gang with its last pod", raw)
		case "kubeMaster", "kubeConfigPath":
			m.warnf(at, "%s is left out: clientConnection.kubeconfig names a kubeconfig for muster", raw)
		default:
			m.warnf(at, "%s is left out: muster has no such argument", raw)
		}
	}
}

// gangsSeconds makes an option of gangs of a number of seconds. It leaves 0 out, and says why.
func (m *making) gangsSeconds(option string, path *field.Path, raw []byte, why string) {
	var seconds *int64
	if errs := strict.Decode(path, raw, &seconds); len(errs) > 0 || seconds == nil {
		m.errs = append(m.errs, errs...)
		return
	}
	switch {
	case *seconds < 0:
		m.refuse(path, *seconds, "must not be negative")
	case *seconds == 0:
		m.warnf(path, "0 is left out: %s", why)
	case *seconds > math.MaxInt64/int64(time.Second):
		m.refuse(path, *seconds, "is longer than muster can count")
	default:
		m.setGangs(option, path, time.Duration(*seconds)*time.Second)
	}
}

// gangsDuration makes gangs.scheduleTimeout of a duration.
func (m *making) gangsDuration(path *field.Path, raw []byte) {
	if string(raw) == "null" {
		return
	}
	var duration metav1.Duration
	if errs := strict.Decode(path, raw, &duration); len(errs) > 0 {
		m.errs = append(m.errs, errs...)
	} else if duration.Duration <= 0 {
		m.refuse(path, duration.Duration.String(), "must be greater than zero")
	} else {
		m.setGangs(scheduleTimeout, path, duration.Duration)
	}
}

// setGangs sets an option of gangs, which holds for all profiles.
func (c *conversion) setGangs(option string, path *field.Path, value time.Duration) {
	other, given := c.gangs[option]
	if given && other.value != value {
		const why = "becomes gangs.%s, which holds for all profiles, and %s is %s"
		c.refuse(path, value.String(), fmt.Sprintf(why, option, other.path, other.value))
		return
	}
	if !given {
		other = gangsOption{value: value, path: path}
	}
	other.times++
	c.gangs[option] = other
}

// spanGangs says of options of gangs that they hold for profiles that do not say them, and has the longest timeout of a
// group be no shorter than the usual one.
func (c *conversion) spanGangs(profiles int) {
	for _, name := range slices.Sorted(maps.Keys(c.gangs)) {
		if option := c.gangs[name]; option.times < profiles {
			c.warnf(option.path, "becomes gangs.%s: %s, which holds for all profiles", name, option.value)
		}
	}
	longest := config.Base().Gangs.MaxScheduleTimeout.Duration
	if option := c.gangs[scheduleTimeout]; option.value > longest {
		c.gangs[maxScheduleTimeout] = option
		c.warnf(option.path, "gangs.%s is %s as well, so that groups may take as long", maxScheduleTimeout, option.value)
	}
}

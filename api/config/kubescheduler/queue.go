package kubescheduler

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	"muster.dev/muster/api/config"
)

// Plugins that sort the queue, as does Coscheduling.
const (
	prioritySort = "PrioritySort"
	qosSort      = "QOSSort"
	nothing      = "no plugin"
)

// queue is how a profile sorts the queue.
type queue struct {
	path             *field.Path // of what says so
	enabled, without []string
	sorter           string
	args             any
	argsPath         *field.Path
}

// sameQueue refuses profiles that sort the one queue of kube-scheduler in several ways, as kube-scheduler does
// (validateCommonQueueSort, and cfgValidator of its profiles): the sets are the same, and so are the plugin that sorts and
// its arguments.
func (c *conversion) sameQueue(profiles []profile) {
	if len(profiles) == 0 {
		return
	}
	first := c.queueOf(&profiles[0])
	if len(first.enabled) > 1 {
		at := profiles[0].path.Child("plugins", queueSort, "enabled")
		c.refuse(at, strings.Join(first.enabled, ", "), "one plugin sorts the queue")
	}
	const same = "must be the same in all profiles, as there is one queue: the first has "
	for i := range profiles[1:] {
		q := c.queueOf(&profiles[i+1])
		switch {
		case !slices.Equal(q.enabled, first.enabled) || !slices.Equal(q.without, first.without):
			c.refuse(profiles[i+1].path.Child("plugins", queueSort), q.String(), same+first.String())
		case q.sorter != first.sorter:
			c.refuse(q.path, q.sorter, same+first.sorter)
		case !reflect.DeepEqual(q.args, first.args):
			c.refuse(q.argsPath, text(q.args), same+text(first.args)+" for "+q.sorter)
		}
	}
}

// queueOf is how a profile sorts the queue.
func (c *conversion) queueOf(p *profile) queue {
	said := p.of(queueSort)
	q := queue{path: p.path.Child("plugins", queueSort), sorter: prioritySort}
	for _, e := range said.enabled {
		q.enabled = append(q.enabled, e.name)
	}
	for _, e := range said.disabled {
		q.without = append(q.without, e.name)
	}
	off := names(said.disabled)
	if len(q.enabled) > 0 {
		q.sorter = q.enabled[0]
	} else if c.version.multiPoint {
		q.path, q.sorter = p.sortsEverywhere(off)
	}
	if c.version.wholeQueue {
		if len(q.enabled) == 0 && !off[config.AllPlugins] && !off[prioritySort] {
			q.enabled = []string{prioritySort}
		}
		q.without = nil
	}
	q.args, q.argsPath = p.argsOf(q.sorter)
	return q
}

// sortsEverywhere is the plugin that sorts by being enabled at all points, and not off where the queue is sorted; and what
// says so. Without PrioritySort it is one of the others, most of them unknown.
func (p *profile) sortsEverywhere(off map[string]bool) (path *field.Path, sorter string) {
	path = p.path.Child("plugins", multiPoint)
	if off[config.AllPlugins] {
		return p.path.Child("plugins", queueSort), nothing
	}
	said := p.of(multiPoint)
	usual := !names(said.disabled)[prioritySort] && !names(said.disabled)[config.AllPlugins]
	var others []string
	for _, e := range said.enabled {
		if off[e.name] {
			continue
		}
		if e.name == coscheduling || e.name == qosSort {
			return e.at(), e.name
		}
		usual = usual || e.name == prioritySort
		if _, known := find(e.name); !known {
			others = append(others, e.name)
		}
	}
	switch {
	case usual && !off[prioritySort]:
		return path, prioritySort
	case len(others) > 0:
		return path.Child("enabled"), strings.Join(others, ", ")
	default:
		return path, nothing
	}
}

// argsOf are the arguments that a profile has for a plugin, without their header, nil when they are empty.
func (p *profile) argsOf(name string) (any, *field.Path) {
	path := p.path.Child("pluginConfig")
	for i := range p.PluginConfig {
		if p.PluginConfig[i].Name != name {
			continue
		}
		var args map[string]any
		if json.Unmarshal(p.PluginConfig[i].Args.Raw, &args) != nil {
			return nil, path.Index(i).Child("args") // of a wrong type, as was said
		}
		delete(args, "apiVersion")
		delete(args, "kind")
		if len(args) == 0 {
			return nil, path.Index(i).Child("args")
		}
		return args, path.Index(i).Child("args")
	}
	return nil, path
}

// text is arguments as they are written.
func text(args any) string {
	if args == nil {
		return "no args"
	}
	encoded, err := json.Marshal(args)
	if err != nil {
		return err.Error()
	}
	return string(encoded)
}

func (q *queue) String() string {
	if len(q.enabled)+len(q.without) == 0 {
		return prioritySort + " by default"
	}
	var said []string
	if len(q.enabled) > 0 {
		said = append(said, strings.Join(q.enabled, ", "))
	}
	if len(q.without) > 0 {
		said = append(said, "without "+strings.Join(q.without, ", "))
	}
	return strings.Join(said, " ")
}

package kubescheduler

import (
	"encoding/json"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	schedulerv1 "k8s.io/kube-scheduler/config/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/config/strict"
)

// pluginArgs are the arguments of a plugin, as they are written, without their header.
type pluginArgs struct {
	entry *field.Path
	path  *field.Path // of args
	name  string
	args  map[string]json.RawMessage
	// moved tells where parts of the arguments were written.
	moved []moved
}

// moved places a part of the arguments that was written elsewhere.
type moved struct {
	to   string // from the dot or bracket on
	from *field.Path
}

// readArgs sorts the arguments of a profile by who has them today.
func (m *making) readArgs() {
	seen, path := map[string]bool{}, m.from.path.Child("pluginConfig")
	for i := range m.from.PluginConfig {
		plugin, at := &m.from.PluginConfig[i], path.Index(i)
		switch name := at.Child("name"); {
		case plugin.Name == "":
			m.errs = append(m.errs, field.Required(name, "name the plugin whose args these are"))
			continue
		case seen[plugin.Name]:
			m.errs = append(m.errs, field.Duplicate(name, plugin.Name))
			continue
		}
		seen[plugin.Name] = true
		m.pluginConfig(at, plugin)
	}
}

// pluginConfig keeps the arguments of a plugin that muster has or that becomes one of its plugins, and names all others.
func (m *making) pluginConfig(path *field.Path, plugin *schedulerv1.PluginConfig) {
	name := path.Child("name")
	known, is := find(plugin.Name)
	switch {
	case plugin.Name == coscheduling:
		if args, ok := m.decodeArgs(path, plugin); ok {
			m.coschedulingArgs(args)
		}
	case isRemoved(plugin.Name) && m.version.old:
		if args, ok := m.decodeArgs(path, plugin); ok {
			m.old[plugin.Name] = args
		}
	case isRemoved(plugin.Name):
		m.refuse(name, plugin.Name, m.removed(plugin.Name))
	case !is:
		m.warnf(name, "%s stays with kube-scheduler: muster has no such plugin", plugin.Name)
	case known.NewArgs == nil:
		m.warnf(name, "%s stays with kube-scheduler: muster has no arguments of it", plugin.Name)
	default:
		if args, ok := m.decodeArgs(path, plugin); ok {
			m.args = append(m.args, args)
		}
	}
}

// decodeArgs returns arguments without their header, which must be right where kube-scheduler looks at it.
func (m *making) decodeArgs(path *field.Path, plugin *schedulerv1.PluginConfig) (made pluginArgs, ok bool) {
	entry := path
	path = path.Child("args")
	made = pluginArgs{entry: entry, path: path, name: plugin.Name, args: map[string]json.RawMessage{}}
	if raw := plugin.Args.Raw; len(raw) > 0 && string(raw) != "null" {
		if err := json.Unmarshal(raw, &made.args); err != nil {
			m.refuse(path, string(raw), "must be an object")
			return made, false
		}
	}
	known, _ := find(plugin.Name)
	if isRemoved(plugin.Name) || known.InTree {
		var kind any
		if raw, given := made.args["kind"]; given && json.Unmarshal(raw, &kind) == nil && kind != plugin.Name+"Args" {
			m.refuse(path.Child("kind"), kind, "must be "+plugin.Name+"Args, as these are the args of "+plugin.Name)
		}
	}
	delete(made.args, "apiVersion")
	delete(made.args, "kind")
	return made, true
}

// into decodes arguments of an older version, strictly.
func (m *making) into(a pluginArgs, args any) bool {
	document, err := json.Marshal(a.args)
	if err != nil {
		m.refuse(a.path, a.name, err.Error())
		return false
	}
	errs := strict.Decode(a.path, document, args)
	m.errs = append(m.errs, errs...)
	return len(errs) == 0
}

// argsOf returns the arguments of a plugin of muster's to be read or changed. They are added if there are none yet.
func (m *making) argsOf(name string) *pluginArgs {
	i := slices.IndexFunc(m.args, func(a pluginArgs) bool { return a.name == name })
	if i < 0 {
		i = len(m.args)
		m.args = append(m.args, pluginArgs{name: name, args: map[string]json.RawMessage{}})
	}
	return &m.args[i]
}

// hasArg reports whether a plugin of muster's has an argument.
func (m *making) hasArg(name, arg string) bool {
	return slices.ContainsFunc(m.args, func(a pluginArgs) bool { return a.name == name && a.args[arg] != nil })
}

// setArg sets an argument of a plugin of muster's. Some of its parts may have been written elsewhere.
func (m *making) setArg(name, arg string, value any, parts ...moved) {
	encoded, err := json.Marshal(value)
	if err != nil {
		m.refuse(m.from.path.Child("pluginConfig"), name, err.Error())
		return
	}
	of := m.argsOf(name)
	of.args[arg] = encoded
	of.moved = append(of.moved, parts...)
}

// hardPodAffinityWeight gives InterPodAffinity its argument, which v1alpha1 has at the top.
func (m *making) hardPodAffinityWeight(path *field.Path, weight int32) {
	const arg = "hardPodAffinityWeight"
	switch {
	case weight < 0 || weight > 100:
		m.refuse(path, weight, "must be between 0 and 100")
	case m.hasArg(config.InterPodAffinity, arg):
		at := m.argsOf(config.InterPodAffinity).path.Child(arg)
		m.refuse(path, weight, at.String()+" says it as well, and one of them has to go")
	default:
		m.setArg(config.InterPodAffinity, arg, weight, moved{"." + arg, path})
	}
}

// writtenArgs are the arguments of the profile that is made, which go to a path of the document.
func (m *making) writtenArgs(path *field.Path) []any {
	var all []any
	for i, a := range m.args {
		all = append(all, map[string]any{"name": a.name, "args": a.args})
		at := path.Index(i)
		for _, moved := range a.moved {
			m.place(at.Child("args").String()+moved.to, moved.from)
		}
		if a.path != nil {
			m.place(at.Child("args").String(), a.path)
			m.place(at.Child("name").String(), a.entry.Child("name"))
		}
	}
	return all
}

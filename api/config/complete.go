package config

import (
	"encoding/json"
	"errors"
	"fmt"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"muster.dev/muster/api/config/strict"
)

// InSource puts the name of where a configuration came from in front of err, or of each
// of its errors when it is an Aggregate.
func InSource(name string, err error) error {
	all, ok := errors.AsType[utilerrors.Aggregate](err)
	if !ok {
		return fmt.Errorf("%s: %w", name, err)
	}
	var errs []error
	for _, e := range all.Errors() {
		errs = append(errs, fmt.Errorf("%s: %w", name, e))
	}
	return utilerrors.NewAggregate(errs)
}

// Complete makes what was decoded on top of Base complete and valid: arguments get their types, what
// was left out its default, and plugins their names of today. The errors are everything that is wrong
// with its values, each with the path of the field and the bad value.
func (c *Configuration) Complete() field.ErrorList {
	errs := c.decodeArgs()
	c.setDefaults()
	if errs = append(errs, c.Validate()...); len(errs) > 0 {
		return errs
	}
	c.replaceOldNames()
	return nil
}

// decodeArgs turns the arguments of known plugins into their types. Arguments that do
// not decode are dropped, so that they are reported once.
func (c *Configuration) decodeArgs() field.ErrorList {
	var errs field.ErrorList
	for i := range c.Profiles {
		for j := range c.Profiles[i].PluginConfig {
			path := field.NewPath("profiles").Index(i).Child("pluginConfig").Index(j).Child("args")
			errs = append(errs, c.Profiles[i].PluginConfig[j].decodeArgs(path)...)
		}
	}
	return errs
}

func (c *PluginConfig) decodeArgs(path *field.Path) field.ErrorList {
	plugin, known := c.plugin()
	if c.Args == nil || !known {
		return nil
	}
	written := c.Args
	c.Args = nil
	if plugin.NewArgs == nil {
		return field.ErrorList{field.Forbidden(path, c.Name+" takes no args")}
	}
	data, err := json.Marshal(written)
	if err == nil && c.ofKoordinator(data) {
		data, err = c.ignoreUnknown(path, data)
	}
	if err != nil {
		return field.ErrorList{field.InternalError(path, err)}
	}
	args := plugin.NewArgs()
	if errs := strict.Decode(path, data, args); len(errs) > 0 {
		return errs
	}
	c.Args = args
	return nil
}

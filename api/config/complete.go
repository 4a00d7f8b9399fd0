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
			config := &c.Profiles[i].PluginConfig[j]
			plugin, known := config.plugin()
			if config.Args == nil || !known {
				continue
			}
			path := field.NewPath("profiles").Index(i).Child("pluginConfig").Index(j).Child("args")
			if plugin.NewArgs == nil {
				errs = append(errs, field.Forbidden(path, config.Name+" takes no args"))
				config.Args = nil
				continue
			}
			data, err := json.Marshal(config.Args)
			if err != nil {
				errs = append(errs, field.InternalError(path, err))
				continue
			}
			args := plugin.NewArgs()
			config.Args = nil
			if invalid := strict.Decode(path, data, args); len(invalid) > 0 {
				errs = append(errs, invalid...)
				continue
			}
			config.Args = args
		}
	}
	return errs
}

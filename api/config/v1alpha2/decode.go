package v1alpha2

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

// Decode decodes, defaults and validates one YAML or JSON document. Nothing in it may
// be unknown, repeated or of the wrong type.
//
// The error is an Aggregate: either everything that is wrong with the shape of the
// document or, when its shape is right, everything that is wrong with its values.
// Errors about fields name the path of the field and the bad value.
func Decode(data []byte) (*MusterConfiguration, error) {
	document, err := strict.YAML(data, APIVersion, Kind)
	if err != nil {
		return nil, err
	}
	config := base()
	if errs := strict.Decode(nil, document, config); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	errs := config.decodeArgs()
	config.setDefaults()
	errs = append(errs, config.Validate()...)
	if len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	config.replaceOldNames()
	return config, nil
}

// decodeArgs turns the arguments of known plugins into their types. Arguments that do
// not decode are dropped, so that they are reported once.
func (c *MusterConfiguration) decodeArgs() field.ErrorList {
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

package main

import (
	"strings"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/config/document"
)

// fieldFlag is a flag that says what a field of the configuration says, and wins over it.
type fieldFlag struct {
	name  string
	value string // "" when the flag was not given
	field *string
}

// override puts flags on top of a valid configuration. If they make it invalid, the error names the given flags.
func override(cfg *config.Configuration, flags ...fieldFlag) error {
	var given []string
	for _, flag := range flags {
		if flag.value != "" {
			*flag.field, given = flag.value, append(given, flag.name)
		}
	}
	if len(given) == 0 {
		return nil
	}
	if errs := cfg.Validate(); len(errs) > 0 {
		return config.InSource(strings.Join(given, ", "), errs.ToAggregate())
	}
	return nil
}

// decodeChanged is the configuration that a later content of its file stands for, with flags put on top of it.
func decodeChanged(
	file string, content []byte, override func(*config.Configuration) error,
) (cfg *config.Configuration, warnings []string, err error) {
	if cfg, warnings, err = document.DecodeFrom(file, content); err != nil {
		return nil, nil, err
	}
	return cfg, warnings, override(cfg)
}

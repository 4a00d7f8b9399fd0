package main

import (
	"strings"

	"github.com/spf13/cobra"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/config/document"
	"muster.dev/muster/server/app"
	"muster.dev/muster/server/logging"
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

// processOptions returns the options of a process that runs by a configuration of a file, with flags put on top of it: now, and
// of each later content of the file.
func processOptions(
	cmd *cobra.Command, log *logging.Log,
	file string, cfg *config.Configuration, warnings []string, override func(*config.Configuration) error,
) (app.Options, error) {
	if err := override(cfg); err != nil {
		return app.Options{}, usagef(cmd, "%w", err)
	}
	log.Level.Set(cfg.Logging.Level.Level())
	for _, warning := range warnings {
		log.Logger.Warn("configuration", "warning", warning)
	}
	decode := func(content []byte) (*config.Configuration, []string, error) {
		changed, warnings, err := document.DecodeFrom(file, content)
		if err != nil {
			return nil, nil, err
		}
		return changed, warnings, override(changed)
	}
	return app.Options{
		Config: cfg, File: app.ConfigFile{Path: file, Decode: decode, LogLevel: &log.Level},
		Logger: log.Logger, Version: buildInfo().Main.Version, Flags: flagValues(cmd),
	}, nil
}

package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"muster.dev/muster/api/config"
	"muster.dev/muster/inspect"
	"muster.dev/muster/server/logging"
)

// logFlags say what a server logs, and how.
type logFlags struct {
	level, format string
}

func (f *logFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(
		&f.level, "log-level", "", "the least important `LEVEL` to log: debug, info, warn or error; overrides logging.level",
	)
	flags.StringVar(&f.format, "log-format", logging.FormatText, "`FORMAT` of log lines: text or json")
}

// named is the level that was given, "" for none.
func (f *logFlags) named() config.LogLevel { return config.LogLevel(strings.ToLower(f.level)) }

// override names the field of a configuration that the flags change.
func (f *logFlags) override(cfg *config.Configuration) fieldFlag {
	return fieldFlag{name: "--log-level", value: string(f.named()), field: (*string)(&cfg.Logging.Level)}
}

// withLogs runs a server that nobody has to read the log of: what it logs, the error that it ends with
// included, keeps nothing waiting.
func withLogs(cmd *cobra.Command, flags *logFlags, run func(*logging.Log, inspect.Registry) error) error {
	// The level is the flag's until the configuration has been read.
	log, err := logging.New(logging.Options{Output: cmd.ErrOrStderr(), Level: flags.named(), Format: flags.format})
	if err != nil {
		return usagef(cmd, "--log-format: %w", err)
	}
	defer log.Close()
	klog.SetSlogLogger(log.Logger)
	registry := prometheus.NewRegistry()
	registry.MustRegister(log)
	if err = run(log, registry); err == nil {
		return nil
	}
	if _, usage := errors.AsType[*usageError](err); usage {
		return err
	}
	for _, line := range errorLines(err) {
		fmt.Fprintf(log, "muster: %s\n", line)
	}
	return statusError(exitFailure)
}

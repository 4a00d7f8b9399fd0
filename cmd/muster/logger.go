package main

import (
	"errors"
	"fmt"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"muster.dev/muster/inspect"
	"muster.dev/muster/server/logging"
)

// withLogs runs a server that nobody has to read the log of: what it logs, the error that it ends with
// included, keeps nothing waiting.
func withLogs(cmd *cobra.Command, level slog.Level, format string, run func(*slog.Logger, inspect.Registry) error) error {
	log, err := logging.New(logging.Options{Output: cmd.ErrOrStderr(), Level: level, Format: format})
	if err != nil {
		return usagef(cmd, "--log-format: %w", err)
	}
	defer log.Close()
	klog.SetSlogLogger(log.Logger)
	registry := prometheus.NewRegistry()
	registry.MustRegister(log)
	if err = run(log.Logger, registry); err == nil {
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

package main

import (
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this binary",
		Long: `version prints what this binary was built from: its own version and commit, the
Kubernetes libraries, the Go release and the platform. The minor version of the
libraries is that of the Kubernetes release whose scheduling rules muster follows.`,
		Example: `  muster version`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return printVersion(cmd.OutOrStdout(), buildInfo())
		},
	}
}

// buildInfo returns what this binary was built from; empty when it was built without
// modules.
func buildInfo() *debug.BuildInfo {
	if info, ok := debug.ReadBuildInfo(); ok {
		return info
	}
	return &debug.BuildInfo{GoVersion: runtime.Version()}
}

func printVersion(w io.Writer, info *debug.BuildInfo) error {
	commit := "unknown"
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			commit = setting.Value
		}
	}
	libraries := "unknown"
	for _, module := range info.Deps {
		if module.Path == "k8s.io/client-go" {
			libraries = module.Version
		}
	}
	_, err := fmt.Fprintf(w, "muster:     %s\ncommit:     %s\nkubernetes: %s\ngo:         %s\nplatform:   %s/%s\n",
		info.Main.Version, commit, libraries, info.GoVersion, runtime.GOOS, runtime.GOARCH)
	return err
}

package main

import (
	_ "embed"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"muster.dev/muster/api/config/v1alpha2"
)

//go:embed default.yaml
var defaultConfig string

func newConfigCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print or check muster's configuration",
		Long: `config prints and checks files of kind MusterConfiguration, which 'muster serve'
and 'muster scheduler-config' read with --config.`,
		Example: `  muster config default > muster.yaml
  muster config validate muster.yaml`,
	}
	cmd.AddCommand(newConfigDefaultCommand(), newConfigValidateCommand())
	return group(cmd)
}

func newConfigDefaultCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "default",
		Short: "Print the default configuration with comments",
		Long: `default prints every field with its default and what it means. Running muster
with the printed file is the same as running it without one, so it is a place to
start from: keep the lines that you change and delete the rest.`,
		Example: `  muster config default > muster.yaml`,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(cmd.OutOrStdout(), defaultConfig)
			return err
		},
	}
}

func newConfigValidateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "validate FILE...",
		Short: "Check configuration files",
		Long: `validate reads each file as 'muster serve --config' would and prints either
"FILE: ok" or every error with the path of its field and the bad value. The name -
stands for standard input. The exit status is 1 when any file has an error.

Files that the configuration names, such as certificates, are not looked at: they
may be missing on the machine where the configuration is checked.`,
		Example: `  muster config validate muster.yaml

  # What runs in a cluster.
  kubectl -n kube-system get configmap muster -o jsonpath='{.data.muster\.yaml}' | muster config validate -`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usagef(cmd, "name at least one file, or - for standard input")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, files []string) error {
			out := cmd.OutOrStdout()
			bad := 0
			for _, file := range files {
				if err := validateFile(file, cmd.InOrStdin()); err != nil {
					bad++
					for _, line := range errorLines(err) {
						fmt.Fprintln(out, line)
					}
					continue
				}
				fmt.Fprintf(out, "%s: ok\n", file)
			}
			if bad > 0 {
				return fmt.Errorf("%d of %d files have errors", bad, len(files))
			}
			return nil
		},
	}
}

func validateFile(file string, stdin io.Reader) error {
	if file != "-" {
		_, err := v1alpha2.Load(file)
		return err
	}
	data, err := io.ReadAll(stdin)
	if err != nil {
		return fmt.Errorf("read standard input: %w", err)
	}
	if _, err := v1alpha2.Decode(data); err != nil {
		return v1alpha2.InSource(file, err)
	}
	return nil
}

// loadConfig reads the configuration file, or returns the defaults when file is empty.
func loadConfig(file string) (*v1alpha2.MusterConfiguration, error) {
	if file == "" {
		return v1alpha2.Default(), nil
	}
	return v1alpha2.Load(file)
}

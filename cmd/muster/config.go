package main

import (
	_ "embed"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/config/document"
)

//go:embed default.yaml
var defaultConfig string

func newConfigCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "config",
		Short: "Print, check or convert muster's configuration",
		Long: `config prints, checks and converts files of kind MusterConfiguration, which 'muster
serve' and 'muster scheduler-config' read with --config. The version of today is
config.muster.dev/v1alpha2; config.muster.dev/v1alpha1, which has one profile, is
still read, with a warning.`,
		Example: `  muster config default > muster.yaml
  muster config validate muster.yaml
  muster config convert -f old.yaml -o muster.yaml`,
	}
	cmd.AddCommand(newConfigDefaultCommand(), newConfigValidateCommand(), newConfigConvertCommand())
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
stands for standard input. The exit status is 1 when any file has an error. Warnings
are about what is valid but likely to harm, or deprecated.

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
				warnings, err := validateFile(file, cmd.InOrStdin())
				for _, warning := range warnings {
					fmt.Fprintf(out, "warning: %s\n", warning)
				}
				if err != nil {
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

func validateFile(file string, stdin io.Reader) (warnings []string, err error) {
	data, err := readFile(file, stdin)
	if err != nil {
		return nil, err
	}
	_, warnings, err = document.DecodeFrom(file, data)
	return warnings, err
}

// readFile reads a file, or standard input when it is called -.
func readFile(file string, stdin io.Reader) ([]byte, error) {
	if file != "-" {
		data, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read configuration: %w", err)
		}
		return data, nil
	}
	data, err := io.ReadAll(stdin)
	if err != nil {
		return nil, fmt.Errorf("read standard input: %w", err)
	}
	return data, nil
}

// loadConfig reads the configuration file, or returns the defaults when file is empty.
func loadConfig(file string) (loaded *config.Configuration, warnings []string, err error) {
	if file == "" {
		return config.Default(), nil, nil
	}
	return document.Load(file)
}

// loadConfigWarning is loadConfig for a command that tells of the warnings.
func loadConfigWarning(cmd *cobra.Command, file string) (*config.Configuration, error) {
	loaded, warnings, err := loadConfig(file)
	if err != nil {
		return nil, err
	}
	for _, warning := range warnings {
		fmt.Fprintf(cmd.ErrOrStderr(), "muster: warning: %s\n", warning)
	}
	return loaded, nil
}

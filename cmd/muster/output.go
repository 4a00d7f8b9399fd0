package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"muster.dev/muster/inspect"
)

// outputFlag is the format in which a command prints an answer.
type outputFlag struct {
	named   string
	offered []string
}

// register adds the flag. Only some answers have more columns to show.
func (f *outputFlag) register(flags *pflag.FlagSet, wide bool) {
	f.offered = []string{string(inspect.Text), string(inspect.JSON), string(inspect.YAML)}
	if wide {
		f.offered = slices.Insert(f.offered, 1, string(inspect.Wide))
	}
	flags.StringVarP(&f.named, "output", "o", string(inspect.Text), "`FORMAT` of the answer: "+f.list("or"))
}

func (f *outputFlag) format(cmd *cobra.Command) (inspect.Format, error) {
	if !slices.Contains(f.offered, f.named) {
		return "", usagef(cmd, "--output: unknown format %q, supported are %s", f.named, f.list("and"))
	}
	return inspect.Format(f.named), nil
}

// list has the formats in words.
func (f *outputFlag) list(last string) string {
	end := len(f.offered) - 1
	return strings.Join(f.offered[:end], ", ") + " " + last + " " + f.offered[end]
}

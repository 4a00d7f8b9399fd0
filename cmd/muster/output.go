package main

import (
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"muster.dev/muster/inspect"
)

// outputFlag is the format in which a command prints an answer, and whether in colours.
type outputFlag struct {
	named   string
	offered []string
	color   colorFlag
}

// register adds the flags. Only some answers have more columns to show.
func (f *outputFlag) register(flags *pflag.FlagSet, wide bool) {
	f.offered = []string{string(inspect.Text), string(inspect.JSON), string(inspect.YAML)}
	if wide {
		f.offered = slices.Insert(f.offered, 1, string(inspect.Wide))
	}
	flags.StringVarP(&f.named, "output", "o", string(inspect.Text), "`FORMAT` of the answer: "+f.list("or"))
	f.color.register(flags)
}

// printer checks the flags.
func (f *outputFlag) printer(cmd *cobra.Command) (printer, error) {
	if !slices.Contains(f.offered, f.named) {
		return printer{}, usagef(cmd, "--output: unknown format %q, supported are %s", f.named, f.list("and"))
	}
	colors, err := f.color.colors(cmd)
	return printer{format: inspect.Format(f.named), colors: colors}, err
}

// printer prints the answers of a command.
type printer struct {
	format inspect.Format
	colors bool
}

func (p printer) print(w io.Writer, told inspect.Answer) error {
	if p.colors {
		return inspect.PrintInColor(w, told, p.format)
	}
	return inspect.Print(w, told, p.format)
}

// list has the formats in words.
func (f *outputFlag) list(last string) string {
	end := len(f.offered) - 1
	return strings.Join(f.offered[:end], ", ") + " " + last + " " + f.offered[end]
}

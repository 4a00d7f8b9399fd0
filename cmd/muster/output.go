package main

import (
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"

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

// data reports whether programs read what is printed.
func (p printer) data() bool { return p.format == inspect.JSON || p.format == inspect.YAML }

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

// When answers are printed in colours.
const (
	colorAuto   = "auto" // on a terminal that shows them, unless somebody wants none: https://no-color.org
	colorAlways = "always"
	colorNever  = "never"
)

// colorFlag says when answers are printed in colours.
type colorFlag struct{ when string }

func (f *colorFlag) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.when, "color", colorAuto,
		"`WHEN` to print text in colours: auto, which is on a terminal unless $NO_COLOR is set or $TERM is dumb, always or never")
}

// colors says whether a command prints colours.
func (f *colorFlag) colors(cmd *cobra.Command) (bool, error) {
	switch f.when {
	case colorAuto:
		return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(cmd.OutOrStdout()), nil
	case colorAlways, colorNever:
		return f.when == colorAlways, nil
	}
	return false, usagef(cmd, "--color: %q is none of auto, always and never", f.when)
}

// isTerminal reports whether people see what is written.
func isTerminal(w io.Writer) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

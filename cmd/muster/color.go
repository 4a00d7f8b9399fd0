package main

import (
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
)

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

package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// printed returns the output of a command line about a dump.
func printed(t *testing.T, args string) string {
	t.Helper()
	out, _ := says(t, "", append(strings.Fields(args), "--snapshot", "testdata/gang.yaml")...)
	return out
}

func TestAnswersHaveColorsOnlyWhereTheyAreAskedFor(t *testing.T) {
	t.Setenv("NO_COLOR", "")
	t.Setenv("TERM", "xterm-256color")
	colors := regexp.MustCompile(`\x1b\[[0-9]+m`)
	times := regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:]+Z`)
	for args, want := range map[string]string{
		"status":                    "\x1b[33mlab/sweep waits: ",
		"explain pod lab/trainer-1": "\x1b[33mpod lab/trainer-1 waits as a member of gang lab/training",
		"why gang lab/training":     "\x1b[33mgang lab/training waits: ",
	} {
		plain := times.ReplaceAllString(printed(t, args), "TIME")
		if strings.Contains(plain, "\x1b") {
			t.Errorf("%s has colours where nobody sees them: %q", args, plain)
		}
		colored := times.ReplaceAllString(printed(t, args+" --color always"), "TIME")
		if !strings.Contains(colored, want) {
			t.Errorf("%s --color always lacks %q: %q", args, want, colored)
		}
		if got := colors.ReplaceAllString(colored, ""); got != plain {
			t.Errorf("%s --color always is, without its colours,\n%s\nwant\n%s", args, got, plain)
		}
		for _, format := range []string{"json", "yaml"} {
			if got := printed(t, args+" --color always -o "+format); strings.Contains(got, "\x1b") {
				t.Errorf("%s -o %s has colours: %q", args, format, got)
			}
		}
	}
}

func TestColorsByDefaultAreForTerminalsThatShowThem(t *testing.T) {
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil || !isTerminal(terminal) {
		t.Skipf("there is no terminal to open here (%v)", err)
	}
	defer terminal.Close()
	reader, pipe, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	defer pipe.Close()
	for name, test := range map[string]struct {
		out                 *os.File
		when, noColor, term string
		want                bool
	}{
		"on a terminal":                         {terminal, "auto", "", "xterm", true},
		"on a terminal where nobody wants them": {terminal, "auto", "1", "xterm", false},
		"on a terminal that is dumb":            {terminal, "auto", "", "dumb", false},
		"on a terminal, never":                  {terminal, "never", "", "xterm", false},
		"into a pipe":                           {pipe, "auto", "", "xterm", false},
		"into a pipe, always":                   {pipe, "always", "1", "dumb", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("NO_COLOR", test.noColor)
			t.Setenv("TERM", test.term)
			cmd := newStatusCommand()
			cmd.SetOut(test.out)
			if got, err := (&colorFlag{when: test.when}).colors(cmd); err != nil || got != test.want {
				t.Errorf("colours: %t (%v), want %t", got, err, test.want)
			}
		})
	}
}

package trace

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Format is how a trace is written.
type Format string

// The formats of traces.
const (
	CSV   Format = "csv"   // a table of ours
	Sacct Format = "sacct" // what Slurm's sacct prints with --parsable2
	Dump  Format = "dump"  // what 'kubectl get nodes,pods -A -o yaml' prints, or -o json
)

// ParseFormat returns the format of a name; of "", the one that a text seems to have.
func ParseFormat(name string, text []byte) (Format, error) {
	switch f := Format(name); {
	case name == "":
		return formatOf(text), nil
	case slices.Contains([]Format{CSV, Sacct, Dump}, f):
		return f, nil
	}
	return "", fmt.Errorf("%q is none of csv, sacct and dump", name)
}

// formatOf guesses by the first line that says anything.
func formatOf(text []byte) Format {
	for len(text) > 0 {
		var line []byte
		line, text, _ = bytes.Cut(text, []byte("\n"))
		first := strings.TrimSpace(string(line[:min(len(line), 4096)]))
		switch {
		case first == "" || strings.HasPrefix(first, "#"):
			continue
		case strings.HasPrefix(first, "{") || first == "---" || strings.HasPrefix(first, "apiVersion:") ||
			strings.HasPrefix(first, "kind:") || strings.HasPrefix(first, "items:"):
			return Dump
		case strings.Contains(first, "|"):
			return Sacct
		}
		return CSV
	}
	return CSV
}

// Read reads a trace. An error begins with the name of the file.
func Read(name string, text []byte, format Format) (*Trace, error) {
	if len(text) > MostBytes {
		return nil, fmt.Errorf("%s: it has more than %d MiB", name, MostBytes>>20)
	}
	switch format {
	case Sacct:
		return readSacct(name, text)
	case Dump:
		return readDump(name, text)
	case CSV:
	}
	return readCSV(name, text)
}

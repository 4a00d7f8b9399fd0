package inspect

import (
	"fmt"
	"io"
	"strings"
)

// A mark is a byte that stands for a colour while cells are aligned. None is printable, so no cell has one, and each
// counts as one column. With one in front of every cell and one behind it, columns stand as they do without marks.
const (
	markPlain    = "\x01" // in front of a cell without a colour, and behind it
	markGood     = "\x02"
	markDoubtful = "\x03"
	markBad      = "\x04"
	markEnd      = "\x05" // behind a cell with a colour
)

// colored is a cell that tells something at a glance, where answers are printed in colours.
type colored struct {
	cell any
	mark string
}

// String is the cell without its colour.
func (c colored) String() string { return fmt.Sprint(c.cell) }

// Good is a cell of a [Table] about what is in order.
func Good(cell any) fmt.Stringer { return colored{cell, markGood} }

// Doubtful is a cell of a [Table] about what waits, or what somebody should look at.
func Doubtful(cell any) fmt.Stringer { return colored{cell, markDoubtful} }

// Bad is a cell of a [Table] about what has failed, or stops something.
func Bad(cell any) fmt.Stringer { return colored{cell, markBad} }

// marked puts marks around the text of a cell.
func marked(cell any, text string) string {
	if c, ok := cell.(colored); ok && text != "" {
		return c.mark + text + markEnd
	}
	return markPlain + text + markPlain
}

// PrintInColor is [Print] for a terminal that shows colours. Formats for programs have none.
func PrintInColor(w io.Writer, told Answer, format Format) error {
	if format != Text && format != Wide {
		return Print(w, told, format)
	}
	t := newTable(painter{out: w, colors: strings.NewReplacer(
		markPlain, "", markGood, "\x1b[32m", markDoubtful, "\x1b[33m", markBad, "\x1b[31m", markEnd, "\x1b[0m",
	)})
	t.marks = true
	format.text(t, told)
	return nil
}

// painter writes colours for marks.
type painter struct {
	out    io.Writer
	colors *strings.Replacer
}

// Write implements [io.Writer].
func (p painter) Write(text []byte) (int, error) {
	if _, err := p.colors.WriteString(p.out, string(text)); err != nil {
		return 0, err
	}
	return len(text), nil
}

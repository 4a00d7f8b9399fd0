package inspect

import (
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// Table writes lines, and rows of aligned cells between them. What it is given is made [Printable],
// so that nothing in it ends a line, begins another cell or speaks to a terminal.
type Table struct {
	out   *tabwriter.Writer
	marks bool // cells have marks for colours
}

func newTable(w io.Writer) *Table { return &Table{out: tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)} }

// Title starts the answer with a line, and an empty one.
func (t *Table) Title(format string, args ...any) {
	_, _ = fmt.Fprintf(t.out, format+"\n\n", printables(args)...)
	t.flush()
}

// Time returns a time as people are shown it, - for none.
func Time(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

// Seconds returns a number of seconds as people are shown a duration, in whole seconds.
func Seconds(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second)).Round(time.Second)
}

// Row adds cells. Cells of a column are aligned until it is interrupted. One that is [Good], [Doubtful] or [Bad] has a colour
// where answers are printed in colours.
func (t *Table) Row(cells ...any) {
	for i, cell := range cells {
		if i > 0 {
			_, _ = fmt.Fprint(t.out, "\t")
		}
		text := Printable(fmt.Sprint(cell))
		if t.marks {
			text = marked(cell, text)
		}
		_, _ = fmt.Fprint(t.out, text)
	}
	_, _ = fmt.Fprintln(t.out)
}

// Gap ends the columns with an empty line.
func (t *Table) Gap() {
	t.flush()
	_, _ = fmt.Fprintln(t.out)
}

func (t *Table) flush() { _ = t.out.Flush() }

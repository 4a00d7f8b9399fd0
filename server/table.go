package server

import (
	"fmt"
	"net/http"
	"text/tabwriter"
)

// table writes aligned text for people. Errors are the reader's: it may be gone.
type table struct{ w *tabwriter.Writer }

// newTable starts an answer with a line and an empty one. flush must follow.
func newTable(w http.ResponseWriter, title string) table {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	_, _ = fmt.Fprintf(w, "%s\n\n", title)
	return table{w: tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)}
}

func (t table) row(cells ...any) {
	for i, cell := range cells {
		if i > 0 {
			_, _ = fmt.Fprint(t.w, "\t")
		}
		_, _ = fmt.Fprint(t.w, cell)
	}
	_, _ = fmt.Fprintln(t.w)
}

func (t table) flush() { _ = t.w.Flush() }

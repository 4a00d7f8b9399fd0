package inspect

import (
	"html/template"
	"io"
	"net/http"
	"strings"
)

// index is the list of endpoints.
type index struct {
	Endpoints []indexRow `json:"endpoints"`
}

type indexRow struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	About  string `json:"about"`
}

func newIndex(endpoints []Endpoint) index {
	var rows []indexRow
	for _, e := range endpoints {
		rows = append(rows, indexRow{e.Method, e.Pattern, e.About})
	}
	return index{rows}
}

// Link is the path as seen from the index, so that it holds behind a proxy that puts a prefix
// before it; "" for one that cannot be followed as it stands.
func (r indexRow) Link() string {
	if r.Method != http.MethodGet || strings.Contains(r.Path, "{") {
		return ""
	}
	return ".." + r.Path
}

// Text implements [Answer].
func (i index) Text(t *Table) {
	t.Title("what there is to ask for; answers are text or, with ?format=json or Accept: application/json, JSON")
	for _, row := range i.Endpoints {
		t.Row(row.Method, row.Path, row.About)
	}
}

func (i index) html(w io.Writer) error { return indexPage.Execute(w, i.Endpoints) }

var indexPage = template.Must(template.New("index").Parse(`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>muster: what there is to ask for</title>
<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<style>body{font:15px/1.5 system-ui,sans-serif;margin:2em}td{padding:.1em 1em .1em 0;vertical-align:top}</style></head>
<body><main><h1>What there is to ask for</h1><table><tbody>
{{range .}}<tr><td>{{.Method}}</td><td>{{with .Link}}<a href="{{.}}">{{end}}{{.Path}}{{if .Link}}</a>{{end}}</td><td>{{.About}}</td></tr>
{{end}}</tbody></table>
<p>Answers are aligned text or, with <code>?format=json</code> or <code>Accept: application/json</code>, JSON.</p></main></body></html>
`))

package inspect

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"
)

// indexPath is where the index is.
const indexPath = "/debug/"

// Endpoint is something to ask for.
type Endpoint struct {
	// Method and Pattern are as chi has them.
	Method, Pattern string
	// About says in a line what it answers.
	About   string
	Handler http.Handler
}

// Get returns an endpoint for requests of the method GET.
func Get(pattern, about string, handler http.Handler) Endpoint {
	return Endpoint{Method: http.MethodGet, Pattern: pattern, About: about, Handler: handler}
}

// Page returns an endpoint that answers in the format that it is asked for.
func Page(pattern, about string, answer func(*http.Request) (Answer, error)) Endpoint {
	return Get(pattern, about, Handler(answer))
}

// Router serves the endpoints and, at /debug/, an index of them. Who asks for anything else is
// told where that is.
func Router(endpoints ...Endpoint) http.Handler {
	all := slices.Clone(endpoints)
	all = append(all, Endpoint{http.MethodGet, indexPath, "what there is to ask for", handler(
		func(*http.Request) (Answer, error) { return newIndex(all), nil }, Text, JSON, HTML,
	)})
	router := newRouter(all, indexPath+" lists what is")
	router.Get("/debug", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "debug/", http.StatusMovedPermanently)
	})
	return router
}

// RouterWithoutIndex serves the endpoints. Who asks for anything else is told why it is not
// here.
func RouterWithoutIndex(why string, endpoints ...Endpoint) http.Handler {
	return newRouter(endpoints, why)
}

func newRouter(endpoints []Endpoint, hint string) chi.Router {
	router := chi.NewRouter()
	for _, e := range endpoints {
		router.Method(e.Method, e.Pattern, e.Handler)
	}
	answer := func(status int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			format, err := formatOf(r, []Format{Text, JSON})
			if err == nil {
				err = Refuse(status, "%s %s is not served; %s", r.Method, r.URL.Path, hint)
			}
			refuse(w, format, err)
		}
	}
	router.NotFound(answer(http.StatusNotFound))
	router.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) {
		for _, method := range []string{http.MethodGet, http.MethodPost} {
			if router.Match(chi.NewRouteContext(), method, r.URL.Path) {
				w.Header().Add("Allow", method)
			}
		}
		answer(http.StatusMethodNotAllowed)(w, r)
	})
	return router
}

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

func (i index) html(w io.Writer) error {
	var rows strings.Builder
	for _, row := range i.Endpoints {
		path := html.EscapeString(row.Path)
		if link := row.Link(); link != "" {
			path = fmt.Sprintf(`<a href="%s">%s</a>`, html.EscapeString(link), path)
		}
		fmt.Fprintf(&rows, "<tr><td>%s</td><td>%s</td><td>%s</td></tr>\n", html.EscapeString(row.Method), path, html.EscapeString(row.About))
	}
	_, err := fmt.Fprintf(w, indexPage, &rows)
	return err
}

const indexPage = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>muster: what there is to ask for</title>
<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">
<style>body{font:15px/1.5 system-ui,sans-serif;margin:2em}td{padding:.1em 1em .1em 0;vertical-align:top}</style></head>
<body><main><h1>What there is to ask for</h1><table><tbody>
%s</tbody></table>
<p>Answers are aligned text or, with <code>?format=json</code> or <code>Accept: application/json</code>, JSON.</p></main></body></html>
`

// Package page is the page that people look at: pods and gangs that wait, the load of nodes as a map, classes,
// plans and the last hour, kept up to date.
//
// It is files that are part of the program, and asks the endpoints under /debug/ for all that it
// shows. All its links are relative, so it works behind kubectl port-forward and the API server's
// service proxy; it loads nothing from elsewhere and runs no script but its own, which its
// Content-Security-Policy holds.
package page

import (
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"net/http"
	"path"

	"muster.dev/muster/inspect"
)

//go:embed assets
var assets embed.FS

// policy lets the page load and ask what is served beside it, and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Endpoints are the page, at /, and what it is made of.
func Endpoints() []inspect.Endpoint {
	endpoints := []inspect.Endpoint{inspect.Get("/", "a page to look at", file("index.html"))}
	files, err := fs.Glob(assets, "assets/*.*")
	if err != nil {
		panic(err) // the pattern is constant
	}
	for _, name := range files {
		if name = path.Base(name); name != "index.html" {
			endpoints = append(endpoints, inspect.Get("/page/"+name, "a part of that page", file(name)))
		}
	}
	return endpoints
}

// file serves one of the assets.
func file(name string) http.Handler {
	content, err := assets.ReadFile("assets/" + name)
	if err != nil {
		panic(err) // the program was built without it
	}
	etag := fmt.Sprintf(`"%x"`, sha256.Sum256(content))
	contentType := map[string]string{".html": "text/html", ".css": "text/css", ".js": "text/javascript"}[path.Ext(name)]
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cache-Control", "no-cache")
		header.Set("ETag", etag)
		if r.Header.Get("If-None-Match") == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		header.Set("Content-Type", contentType+"; charset=utf-8")
		_, _ = w.Write(content) // the client may be gone
	})
}

package inspect

import (
	"net/http"
	"strings"

	"github.com/munnerz/goautoneg"
)

// Format names how an answer is written.
type Format string

// The formats.
const (
	Text Format = "text" // aligned, for people
	JSON Format = "json"
	HTML Format = "html" // the index alone
	// What only commands print.
	YAML Format = "yaml"
	Wide Format = "wide" // text with more columns
)

func (f Format) mediaType() string {
	return map[Format]string{Text: "text/plain", JSON: "application/json", HTML: "text/html"}[f]
}

func (f Format) contentType() string {
	if f == JSON {
		return f.mediaType()
	}
	return f.mediaType() + "; charset=utf-8"
}

// formatOf returns the format that a request asks for, by ?format= or else by Accept: one of the
// offered formats, and the first of them where the client accepts any.
func formatOf(r *http.Request, offered []Format) (Format, error) {
	if query := r.URL.Query(); query.Has("format") {
		for _, format := range offered {
			if query.Get("format") == string(format) {
				return format, nil
			}
		}
		return Text, Refuse(http.StatusBadRequest, "format: %q is not among the formats: %s", query.Get("format"), list(offered))
	}
	accepted := goautoneg.Negotiate(strings.Join(r.Header.Values("Accept"), ","), mediaTypes(offered))
	for _, format := range offered {
		if accepted == format.mediaType() {
			return format, nil
		}
	}
	return offered[0], nil
}

func mediaTypes(formats []Format) (all []string) {
	for _, format := range formats {
		all = append(all, format.mediaType())
	}
	return all
}

func list(formats []Format) string {
	var all []string
	for _, format := range formats {
		all = append(all, string(format))
	}
	return strings.Join(all, ", ")
}

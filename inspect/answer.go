package inspect

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"strings"

	"github.com/go-chi/chi/v5/middleware"
)

// Answer is the reply of an endpoint. Programs get it as encoding/json writes it, with all escaped that
// is not printable.
type Answer interface {
	// Text writes it for people.
	Text(t *Table)
}

// WideAnswer is an Answer that can tell more in further columns.
type WideAnswer interface {
	Answer
	// Wide writes it for people with wide terminals.
	Wide(t *Table)
}

// Handler answers with what answer returns, which must hold nothing that is secret. An error is
// answered with the status that [Refuse] gave it, else with 500.
//
// The body is compressed for those who take it so, and has an ETag: who asks again with
// If-None-Match gets 304 as long as nothing has changed.
func Handler(answer func(*http.Request) (Answer, error)) http.Handler {
	return handler(answer, Text, JSON)
}

func handler(answer func(*http.Request) (Answer, error), offered ...Format) http.Handler {
	compress := middleware.Compress(gzip.BestSpeed, mediaTypes(offered)...)
	return compress(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Vary", "Accept")
		w.Header().Set("Cache-Control", "no-cache")
		format, err := formatOf(r, offered)
		if err != nil {
			refuse(w, format, err)
			return
		}
		told, err := answer(r)
		if err != nil {
			refuse(w, format, err)
			return
		}
		var body bytes.Buffer
		if err := format.write(&body, told); err != nil {
			refuse(w, format, err)
			return
		}
		send(w, r, format, body.Bytes())
	}))
}

// Print writes an answer as a command does: JSON is indented, and all of it can be shown in a
// terminal.
func Print(w io.Writer, told Answer, format Format) error {
	if format != JSON {
		return format.write(w, told)
	}
	return writeJSON(w, told, "  ")
}

// writeJSON writes a value as a line of JSON, or as lines that are indented, that can be shown in a
// terminal.
func writeJSON(w io.Writer, value any, indent string) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetIndent("", indent)
	if err := encoder.Encode(value); err != nil {
		return err
	}
	_, err := w.Write(printableJSON(text.Bytes()))
	return err
}

// send writes a body, unless the client has it.
func send(w http.ResponseWriter, r *http.Request, format Format, body []byte) {
	hash := fnv.New128a()
	_, _ = hash.Write(body)
	etag := fmt.Sprintf(`W/"%x"`, hash.Sum(nil)) // weak: it may be compressed
	w.Header().Set("ETag", etag)
	for known := range strings.SplitSeq(r.Header.Get("If-None-Match"), ",") {
		if strings.TrimSpace(known) == etag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
	}
	w.Header().Set("Content-Type", format.contentType())
	w.Header().Set("X-Content-Type-Options", "nosniff") // tenants write some of what is told
	_, _ = w.Write(body)                                // the client may be gone
}

func (f Format) write(w io.Writer, told Answer) error {
	switch f {
	case JSON:
		return writeJSON(w, told, "")
	case HTML:
		return told.(interface{ html(io.Writer) error }).html(w)
	case YAML:
		return writeYAML(w, told)
	case Text, Wide:
	}
	f.text(newTable(w), told)
	return nil
}

// text writes an answer for people.
func (f Format) text(t *Table, told Answer) {
	if wide, ok := told.(WideAnswer); ok && f == Wide {
		wide.Wide(t)
	} else {
		told.Text(t)
	}
	t.flush()
}

// refusal is an error with the status that it is answered with.
type refusal struct {
	status  int
	message string
}

func (r *refusal) Error() string { return r.message }

// Refuse is an error that is answered with a status.
func Refuse(status int, format string, args ...any) error {
	return &refusal{status: status, message: fmt.Sprintf(format, args...)}
}

// refuse answers with an error, as text or as {"error": …}.
func refuse(w http.ResponseWriter, format Format, err error) {
	status := http.StatusInternalServerError
	if r, ok := errors.AsType[*refusal](err); ok {
		status = r.status
	}
	if format != JSON {
		http.Error(w, Printable(err.Error()), status)
		return
	}
	w.Header().Set("Content-Type", JSON.contentType())
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	_ = writeJSON(w, map[string]string{"error": err.Error()}, "") // the client may be gone
}

package inspect_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
	"muster.dev/muster/inspect"
)

func TestWhatIsNotPrintableIsEscaped(t *testing.T) {
	for text, want := range map[string]string{
		"": "",
		"plain text, Größe, 漢字, 🙂, a\\b": "plain text, Größe, 漢字, 🙂, a\\b",
		"\x1b[2J\x1b]0;title\a":          `\x1b[2J\x1b]0;title\x07`,
		"one\ntwo\r\n\tthree":            `one\x0atwo\x0d\x0a\x09three`,
		"\x00\x7f":                       `\x00\x7f`,
		"\u009b31m":                      `\u009b31m`, // begins an escape sequence in one character
		"right\u202eleft\u2066\u200b":    `right\u202eleft\u2066\u200b`,
		"a\u00a0b\u2028c":                `a\u00a0b\u2028c`,
		"\xff\xfe broken \xc3":           `\xff\xfe broken \xc3`,
		"\ufffd replaces \U000e0001":     "\ufffd replaces \\U000e0001",
	} {
		if got := inspect.Printable(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func TestPrintableTextIsOneLineOfPrintableCharacters(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		got := inspect.Printable(string(rapid.SliceOf(rapid.Byte()).Draw(t, "text")))
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }) {
			t.Errorf("%q", got)
		}
		if again := inspect.Printable(got); again != got {
			t.Errorf("it becomes %q, and that %q", got, again)
		}
	})
}

// hostile is an answer whose every text comes from somebody who writes to a terminal.
type hostile struct {
	Said string `json:"text"`
}

// named is a type of its own, as many texts have.
type named string

// stringer is a text that is made when it is shown.
type stringer struct{ text string }

func (s stringer) String() string { return s.text }

func (h hostile) Text(t *inspect.Table) {
	t.Title("title %s, %v and %d\nsecond line", h.Said, named(h.Said), 7)
	t.Row(h.Said, named(h.Said), stringer{h.Said}, fmt.Errorf("error %s", h.Said), 8)
	t.Gap()
	t.Row([]string{h.Said, "x"})
}

func TestNoAnswerSpeaksToATerminal(t *testing.T) {
	const attack = "\x1b[2J\nFORGED\trow\u009b\xff\U000e0001"
	router := inspect.Router(
		inspect.Endpoint{
			Method:  http.MethodGet,
			Pattern: "/hostile",
			Handler: inspect.Handler(func(*http.Request) (inspect.Answer, error) { return hostile{attack}, nil }),
		},
		inspect.Endpoint{Method: http.MethodGet, Pattern: "/refused", Handler: inspect.Handler(func(*http.Request) (inspect.Answer, error) {
			return nil, inspect.Refuse(http.StatusNotFound, "none is %s", attack)
		})},
	)
	const escaped = `\x1b[2J\x0aFORGED\x09row\u009b\xff\U000e0001`
	for path, want := range map[string]string{
		"/hostile": "title " + escaped + ", " + escaped + " and 7\nsecond line\n\n" +
			strings.Join([]string{escaped, escaped, escaped, "error " + escaped, "8"}, "  ") + "\n\n[" + escaped + " x]\n",
		"/refused":             "none is " + escaped + "\n",
		"/hostile?format=json": `{"text":"\u001b[2J\nFORGED\trow\u009b\ufffd\udb40\udc01"}` + "\n",
		"/refused?format=json": `{"error":"none is \u001b[2J\nFORGED\trow\u009b\ufffd\udb40\udc01"}` + "\n",
		"/n\x1b[2J%0Anone":     `GET /n\x1b[2J\x0anone is not served; /debug/ lists what is` + "\n",
	} {
		request := httptest.NewRequest(http.MethodGet, "/", nil)
		path, query, _ := strings.Cut(path, "?")
		request.URL.Path, request.URL.RawQuery = strings.ReplaceAll(path, "%0A", "\n"), query
		got := httptest.NewRecorder()
		router.ServeHTTP(got, request)
		if diff := cmp.Diff(want, got.Body.String()); diff != "" {
			t.Errorf("%q (-want +got):\n%s", path, diff)
		}
	}
	var printed bytes.Buffer
	if err := inspect.Print(&printed, hostile{attack}, inspect.JSON); err != nil {
		t.Fatal(err)
	}
	if want := "{\n  \"text\": \"\\u001b[2J\\nFORGED\\trow\\u009b\\ufffd\\udb40\\udc01\"\n}\n"; printed.String() != want {
		t.Errorf("as JSON a command prints %s, want %s", printed.String(), want)
	}
	var back hostile
	if err := json.Unmarshal(printed.Bytes(), &back); err != nil || back.Said != strings.ToValidUTF8(attack, "\ufffd") {
		t.Errorf("it reads as %q, error %v", back.Said, err)
	}
}

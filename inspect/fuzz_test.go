package inspect

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// said is an answer whose every text somebody else wrote.
type said struct {
	Words map[string]string `json:"words"`
}

// Text implements [Answer].
func (s said) Text(t *Table) {
	for name, word := range s.Words {
		t.Title("%s: %s", name, word)
		t.Row(name, word)
	}
}

// FuzzAnswer shows what somebody wrote, as text and as JSON: there is nothing in it that a terminal
// obeys, and a program reads what was written.
func FuzzAnswer(f *testing.F) {
	for _, text := range []string{
		"", "plain", "\x1b[2J\x1b]0;title\a", "one\ntwo\r\n\tthree", "\u009b31m", "right\u202eleft", "\xff\xc3", "\ufffd", "\U000e0001",
		"\u2028</script>", "%s%n%!", strings.Repeat("\x00", 1000),
	} {
		f.Add(text, text, text)
	}
	f.Fuzz(func(t *testing.T, name, word, query string) {
		answer := said{map[string]string{name: word}}
		var text, indented bytes.Buffer
		if err := Print(&text, answer, Text); err != nil {
			t.Fatal(err)
		}
		if err := Print(&indented, answer, JSON); err != nil {
			t.Fatal(err)
		}
		checkPrintable(t, text.String())
		checkPrintable(t, indented.String())
		var back said
		if err := json.Unmarshal(indented.Bytes(), &back); err != nil {
			t.Fatalf("%s: %v", indented.String(), err)
		}
		if want := strings.ToValidUTF8(word, "\ufffd"); utf8.ValidString(name) && utf8.ValidString(word) && back.Words[name] != want {
			t.Errorf("%q is read as %q", want, back.Words[name])
		}
		request := httptest.NewRequest(http.MethodGet, "/words", nil)
		request.URL.RawQuery, request.URL.Path = query, "/"+word
		request.Header.Set("Accept", query)
		got := httptest.NewRecorder()
		Router(
			Endpoint{
				Method:  http.MethodGet,
				Pattern: "/words",
				Handler: Handler(func(*http.Request) (Answer, error) { return nil, Refuse(http.StatusNotFound, "no %s", word) }),
			},
		).ServeHTTP(got, request)
		if got.Header().Get("Content-Type") == JSON.contentType() {
			if !json.Valid(got.Body.Bytes()) {
				t.Errorf("answered %s", got.Body)
			}
			return
		}
		if got.Code != http.StatusOK { // else it is the index
			checkPrintable(t, got.Body.String())
		}
	})
}

// checkPrintable checks that a text can be shown in a terminal.
func checkPrintable(t *testing.T, text string) {
	t.Helper()
	if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && !strconv.IsPrint(r) }) {
		t.Errorf("%q", text)
	}
}

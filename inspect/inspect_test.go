package inspect_test

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/inspect"
)

// crew is an answer.
type crew struct {
	Captain string   `json:"captain"`
	Mates   []string `json:"mates"`
}

func (c crew) Text(t *inspect.Table) {
	t.Title("the crew of %s", c.Captain)
	t.Row("MATE", "LENGTH")
	for _, mate := range c.Mates {
		t.Row(mate, len(mate))
	}
}

// ship serves a crew, and what is refused.
func ship() http.Handler {
	page := func(pattern string, answer func(*http.Request) (inspect.Answer, error)) inspect.Endpoint {
		return inspect.Endpoint{Method: http.MethodGet, Pattern: pattern, About: "about " + pattern, Handler: inspect.Handler(answer)}
	}
	return inspect.Router(
		page("/debug/crew", func(*http.Request) (inspect.Answer, error) { return crew{"Ahab", []string{"Starbuck", "Stubb"}}, nil }),
		page("/debug/whale/{name}", func(*http.Request) (inspect.Answer, error) {
			return nil, inspect.Refuse(http.StatusNotFound, "whale: none is %q", "white")
		}),
		page("/debug/leak", func(*http.Request) (inspect.Answer, error) { return nil, errors.New("she takes in water") }),
	)
}

func ask(path string, header ...string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i < len(header); i += 2 {
		request.Header.Add(header[i], header[i+1])
	}
	answer := httptest.NewRecorder()
	ship().ServeHTTP(answer, request)
	return answer
}

const (
	asText = "the crew of Ahab\n\nMATE      LENGTH\nStarbuck  8\nStubb     5\n"
	asJSON = `{"captain":"Ahab","mates":["Starbuck","Stubb"]}` + "\n"

	text  = "text/plain; charset=utf-8"
	html  = "text/html; charset=utf-8"
	plain = "application/json"
)

func TestAnAnswerIsWrittenAsTheClientAsks(t *testing.T) {
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	for name, test := range map[string]struct {
		query             string
		accept            []string
		contentType, body string
	}{
		"text when nothing is said":                 {"", nil, text, asText},
		"text for a client that takes anything":     {"", []string{"*/*"}, text, asText},
		"text for a browser":                        {"", []string{browser}, text, asText},
		"text for one that takes what there is not": {"", []string{"image/png"}, text, asText},
		"JSON by Accept":                            {"", []string{"application/json"}, plain, asJSON},
		"JSON as kubectl asks":                      {"", []string{"application/json, */*"}, plain, asJSON},
		"what is preferred":                         {"", []string{"text/plain;q=0.5, application/json;q=0.9"}, plain, asJSON},
		"JSON by a second header":                   {"", []string{"image/png", "application/json"}, plain, asJSON},
		"JSON by query":                             {"?format=json", nil, plain, asJSON},
		"text by query, which is above the header":  {"?format=text", []string{"application/json"}, text, asText},
		"JSON by query, which is above a browser's": {"?format=json", []string{browser}, plain, asJSON},
	} {
		t.Run(name, func(t *testing.T) {
			var header []string
			for _, accept := range test.accept {
				header = append(header, "Accept", accept)
			}
			got := ask("/debug/crew"+test.query, header...)
			if got.Code != http.StatusOK || got.Header().Get("Content-Type") != test.contentType {
				t.Errorf("answered %d with %s, want %s", got.Code, got.Header().Get("Content-Type"), test.contentType)
			}
			if got.Header().Get("X-Content-Type-Options") != "nosniff" {
				t.Error("a browser may take it for something else")
			}
			if diff := cmp.Diff(test.body, got.Body.String()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatIsRefusedSaysWhy(t *testing.T) {
	for name, test := range map[string]struct {
		path, contentType, body string
		status                  int
	}{
		"a format that there is not": {
			"/debug/crew?format=yaml", text, `format: "yaml" is not among the formats: text, json` + "\n", http.StatusBadRequest,
		},
		"HTML where there is none": {
			"/debug/crew?format=html", text, `format: "html" is not among the formats: text, json` + "\n", http.StatusBadRequest,
		},
		"an empty format": {
			"/debug/?format=", text, `format: "" is not among the formats: text, json, html` + "\n", http.StatusBadRequest,
		},
		"what is not there": {"/debug/whale/white", text, `whale: none is "white"` + "\n", http.StatusNotFound},
		"what is not there, for programs": {
			"/debug/whale/white?format=json", plain, `{"error":"whale: none is \"white\""}` + "\n", http.StatusNotFound,
		},
		"what goes wrong": {"/debug/leak", text, "she takes in water\n", http.StatusInternalServerError},
		"an unknown path": {"/debug/boat", text, "GET /debug/boat is not served; /debug/ lists what is\n", http.StatusNotFound},
		"an unknown path, for programs": {
			"/boat?format=json", plain, `{"error":"GET /boat is not served; /debug/ lists what is"}` + "\n", http.StatusNotFound,
		},
		"an unknown path in another format": {
			"/boat?format=yaml", text, `format: "yaml" is not among the formats: text, json` + "\n", http.StatusBadRequest,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := ask(test.path)
			if got.Code != test.status || got.Header().Get("Content-Type") != test.contentType || got.Body.String() != test.body {
				t.Errorf(
					"answered %d with %s: %q, want %d with %s: %q", got.Code, got.Header().Get("Content-Type"), got.Body, test.status, test.contentType,
					test.body,
				)
			}
		})
	}
}

func TestAnotherMethodIsRefusedWithThoseThatThereAre(t *testing.T) {
	got := httptest.NewRecorder()
	ship().ServeHTTP(got, httptest.NewRequest(http.MethodDelete, "/debug/crew", nil))
	if got.Code != http.StatusMethodNotAllowed || got.Header().Get("Allow") != http.MethodGet ||
		got.Body.String() != "DELETE /debug/crew is not served; /debug/ lists what is\n" {
		t.Errorf("answered %d, Allow %q: %s", got.Code, got.Header().Get("Allow"), got.Body)
	}
}

func TestTheIndexIsTheTableOfEndpoints(t *testing.T) {
	const want = `{"endpoints":[` +
		`{"method":"GET","path":"/debug/crew","about":"about /debug/crew"},` +
		`{"method":"GET","path":"/debug/whale/{name}","about":"about /debug/whale/{name}"},` +
		`{"method":"GET","path":"/debug/leak","about":"about /debug/leak"},` +
		`{"method":"GET","path":"/debug/","about":"what there is to ask for"}]}` + "\n"
	if diff := cmp.Diff(want, ask("/debug/?format=json").Body.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := ask("/debug/", "Accept", "*/*"); got.Header().Get("Content-Type") != text ||
		!strings.Contains(got.Body.String(), "\nGET  /debug/leak          about /debug/leak\n") {
		t.Errorf("for curl it is %s:\n%s", got.Header().Get("Content-Type"), got.Body)
	}
	page := ask("/debug/", "Accept", "text/html,*/*;q=0.8")
	if page.Header().Get("Content-Type") != html ||
		!strings.Contains(page.Body.String(), `<td><a href="../debug/crew">/debug/crew</a></td>`) ||
		!strings.Contains(page.Body.String(), "<td>/debug/whale/{name}</td>") {
		t.Errorf("for a browser it is %s:\n%s", page.Header().Get("Content-Type"), page.Body)
	}
	if got := ask("/debug"); got.Code != http.StatusMovedPermanently || got.Header().Get("Location") != "/debug/" {
		t.Errorf("/debug answers %d to %q", got.Code, got.Header().Get("Location"))
	}
}

func TestWithoutAnIndexAnUnknownPathIsToldWhy(t *testing.T) {
	router := inspect.RouterWithoutIndex("it is switched off")
	for _, path := range []string{"/", "/debug", "/debug/"} {
		got := httptest.NewRecorder()
		router.ServeHTTP(got, httptest.NewRequest(http.MethodGet, path, nil))
		if want := "GET " + path + " is not served; it is switched off\n"; got.Code != http.StatusNotFound || got.Body.String() != want {
			t.Errorf("%s answered %d %q, want %q", path, got.Code, got.Body, want)
		}
	}
}

func TestNothingIsSentToAClientThatHasIt(t *testing.T) {
	first := ask("/debug/crew?format=json")
	etag := first.Header().Get("ETag")
	again := ask("/debug/crew?format=json", "If-None-Match", `"other", `+etag)
	if etag == "" || again.Code != http.StatusNotModified || again.Body.Len() > 0 || again.Header().Get("ETag") != etag {
		t.Errorf("with ETag %q answered %d %q", etag, again.Code, again.Body)
	}
	if other := ask("/debug/crew", "If-None-Match", etag); other.Code != http.StatusOK || other.Body.String() != asText {
		t.Errorf("in another format answered %d %q", other.Code, other.Body)
	}
}

func TestAnAnswerIsCompressedForThoseWhoTakeItSo(t *testing.T) {
	got := ask("/debug/crew?format=json", "Accept-Encoding", "gzip")
	if encoding := got.Header().Get("Content-Encoding"); encoding != "gzip" {
		t.Fatalf("encoding %q: %q", encoding, got.Body)
	}
	body, err := gzip.NewReader(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(body)
	if err != nil || string(plain) != asJSON {
		t.Errorf("%q, error %v, want %q", plain, err, asJSON)
	}
}

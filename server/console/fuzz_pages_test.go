package console

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"muster.dev/muster/api/bounded/boundedtest"
	"muster.dev/muster/inspect"
	"muster.dev/muster/server/servertest"
)

// checkPage checks that a page can be shown in a terminal, or that a program understands it.
func checkPage(t *testing.T, answer *httptest.ResponseRecorder) {
	t.Helper()
	text := answer.Body.String()
	if answer.Code >= http.StatusInternalServerError {
		t.Errorf("answered %d: %s", answer.Code, text)
	}
	kind, _, _ := strings.Cut(answer.Header().Get("Content-Type"), ";")
	switch {
	case answer.Header().Get("Content-Encoding") != "":
	case kind == "application/json":
		if !json.Valid([]byte(text)) {
			t.Errorf("answered %q", text)
		}
	case kind == "text/plain":
		if !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && !strconv.IsPrint(r) }) {
			t.Errorf("answered %q", text)
		}
	}
}

// FuzzPages asks for pages, with anything in the place of names. Nothing changes by that.
func FuzzPages(f *testing.F) {
	b := newFullBench(f)
	router := inspect.Router(b.endpoints...)
	for _, path := range b.paths() {
		path, query, _ := strings.Cut(path, "?")
		f.Add(path, query, "application/json")
		f.Add(path+"x", query+"&format=xml", "text/html;q=0.9,*/*;q=0.x")
	}
	for _, word := range []string{"\x1b[2J", "%00", "../../etc/passwd", "default/p\n", strings.Repeat("a/", 1000), "\u202e", "\xff"} {
		f.Add("/debug/gangs/default/"+word, "pod="+word, word)
		f.Add("/debug/equivalence/"+word+"/nodes/"+word, "pod=default/"+word+"&format="+word, word)
		f.Add("/debug/load/"+word, "pod=%1b[2J/%0a&pod=;", "text/plain")
	}
	f.Fuzz(func(t *testing.T, path, query, accept string) {
		request := httptest.NewRequest(http.MethodGet, "/", nil)
		request.URL.Path, request.URL.RawQuery = "/"+strings.TrimPrefix(path, "/"), query
		request.Header.Set("Accept", accept)
		before := b.Cluster.Snapshot().Generation
		answer := httptest.NewRecorder()
		boundedtest.Ends(func() { router.ServeHTTP(answer, request) })
		checkPage(t, answer)
		if after := b.Cluster.Snapshot().Generation; after != before {
			t.Errorf("%s?%s changes the view", path, query)
		}
	})
}

// FuzzExplain posts pods, as JSON or YAML. It is answered as people and as programs ask.
func FuzzExplain(f *testing.F) {
	b := newBench(f, benchOptions{})
	b.Node("small", "1")
	b.Node("big", "8")
	router := inspect.Router(b.endpoints...)
	for i, text := range append(servertest.HostileCalls(),
		"kind: Pod\nmetadata: {name: p}\nspec:\n  schedulerName: default-scheduler\n  containers: [{name: c, resources: {limits: {cpu: "+
			"\"2\"}}}]\n",
		"metadata: {name: \"\\e[2J\\n\"}\nspec: {schedulerName: default-scheduler, nodeSelector: {a: \"\\u202e\"}}\n",
		servertest.HostileBodies(4 << 10)["/debug/explain"]["YAML: aliases"], servertest.HostileBodies(4 << 10)["/debug/explain"]["YAML: flow"],
	) {
		f.Add(i%2 == 0, int64(len(text)), []byte(text))
	}
	f.Fuzz(func(t *testing.T, program bool, length int64, text []byte) {
		ask := func() *httptest.ResponseRecorder {
			request := httptest.NewRequest(http.MethodPost, "/debug/explain", bytes.NewReader(text))
			request.ContentLength = length
			if program {
				request.Header.Set("Accept", "application/json")
			}
			answer := httptest.NewRecorder()
			router.ServeHTTP(answer, request)
			return answer
		}
		times := int64(servertest.MostTimes)
		if !isJSON(bytes.TrimSpace(text)) {
			times = memoryOfYAML + servertest.MostTimes
		}
		before := b.Cluster.Snapshot().Generation
		var answer *httptest.ResponseRecorder
		boundedtest.Bound{Times: times, Beside: 1 << 20}.Check(t, len(text), func() { answer = ask() })
		checkPage(t, answer)
		if held := b.bodies.Held(); held != 0 {
			t.Errorf("%d bytes are held", held)
		}
		if after, classes := b.Cluster.Snapshot().Generation, b.profiles.Stores()[0].Classes(); after != before ||
			len(classes) > 0 {
			t.Errorf("to explain a pod changes the view, or leaves %d classes", len(classes))
		}
	})
}

package server

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/config/v1alpha2"
)

// get asks for what there is to look at.
func (p *process) get(path string) *httptest.ResponseRecorder {
	return p.asks(fieldDebug, httptest.NewRequest(http.MethodGet, path, nil))
}

func TestEveryPageAnswers(t *testing.T) {
	p, _ := newOnPipes(t, surroundings{})
	for path, test := range map[string]struct{ contentType, contains string }{
		"/livez":       {"text/plain; charset=utf-8", "ok\n"},
		"/metrics":     {"text/plain; version=0.0.4; charset=utf-8; escaping=underscores", "\ngo_goroutines "},
		"/configz":     {"application/json", `"listen": "127.0.0.1:0"`},
		"/version":     {"application/json", `"version": "v1.2.3"`},
		"/":            {"text/html; charset=utf-8", "<title>muster</title>"},
		"/debug/":      {"text/plain; charset=utf-8", "/debug/nodes "},
		"/debug/nodes": {"text/plain; charset=utf-8", "0/110"},
	} {
		t.Run(path, func(t *testing.T) {
			got := p.get(path)
			if got.Code != http.StatusOK || got.Header().Get("Content-Type") != test.contentType ||
				!strings.Contains(got.Body.String(), test.contains) {
				t.Errorf(
					"answered %d with %s, want %s with %q in it:\n%s",
					got.Code,
					got.Header().Get("Content-Type"),
					test.contentType,
					test.contains,
					got.Body,
				)
			}
		})
	}
	if got := p.get("/debug"); got.Code != http.StatusMovedPermanently || got.Header().Get("Location") != "/debug/" {
		t.Errorf("/debug answered %d to %q, want to be sent to the index", got.Code, got.Header().Get("Location"))
	}
}

func TestConfigzIsTheConfigurationInForce(t *testing.T) {
	p, _ := newOnPipes(t, surroundings{}, func(cfg *config.Configuration) {
		cfg.Profiles[0].Equivalence = config.EquivalenceTemplate
	})
	var shown struct{ Config json.RawMessage }
	if err := json.Unmarshal(p.get("/configz").Body.Bytes(), &shown); err != nil {
		t.Fatal(err)
	}
	got, err := v1alpha2.Decode(shown.Config)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(p.config, got); diff != "" {
		t.Errorf("the configuration (-) and what is shown (+) differ:\n%s", diff)
	}
}

func TestVersionTellsWithWhatItWasBuilt(t *testing.T) {
	p, _ := newOnPipes(t, surroundings{})
	var got struct {
		Version, GoVersion string
		Settings           map[string]string
	}
	if err := json.Unmarshal(p.get("/version").Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(got.GoVersion, "go1.") || got.Settings["GOOS"] == "" {
		t.Errorf("got %+v, want the Go release and the platform", got)
	}
}

func TestProfilesAreForCallersOnThisHostAlone(t *testing.T) {
	p, _ := newOnPipes(t, surroundings{})
	for from, want := range map[string]int{
		"127.0.0.1:40000": http.StatusOK, "[::1]:40000": http.StatusOK, "192.0.2.1:40000": http.StatusForbidden, "": http.StatusForbidden,
	} {
		for _, page := range []string{
			"/debug/pprof/", "/debug/pprof/heap?debug=1", "/debug/pprof/goroutine?debug=1", "/debug/pprof/symbol",
		} {
			request := httptest.NewRequest(http.MethodGet, page, http.NoBody)
			request.RemoteAddr = from
			if got := p.asks(fieldDebug, request); got.Code != want {
				t.Errorf("%s answered %d to %q, want %d", page, got.Code, from, want)
			}
		}
	}
}

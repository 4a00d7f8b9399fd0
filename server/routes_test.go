package server

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"muster.dev/muster/api/config/v1alpha2"
	"muster.dev/muster/cluster"
)

// get asks for what there is to look at.
func (p *process) get(path string) *httptest.ResponseRecorder {
	return p.asks(fieldDebug, httptest.NewRequest(http.MethodGet, path, nil))
}

func TestEveryPageAnswers(t *testing.T) {
	p := newProcess(t)
	p.listensOnPipes()
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
	p := newProcess(t, func(config *v1alpha2.MusterConfiguration) {
		config.Profiles[0].Equivalence = v1alpha2.EquivalenceTemplate
	})
	p.listensOnPipes()
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
	p := newProcess(t)
	p.listensOnPipes()
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

func TestProfilesAreServedOnlyWhenAskedFor(t *testing.T) {
	pages := []string{"/debug/pprof/", "/debug/pprof/heap?debug=1", "/debug/pprof/goroutine?debug=1", "/debug/pprof/symbol"}
	for name, test := range map[string]struct {
		profiling bool
		want      int
	}{
		"without serving.profiling": {false, http.StatusNotFound},
		"with serving.profiling":    {true, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			p := newProcess(t, func(config *v1alpha2.MusterConfiguration) { config.Serving.Profiling = test.profiling })
			p.listensOnPipes()
			for _, page := range pages {
				if got := p.get(page); got.Code != test.want {
					t.Errorf("%s answered %d, want %d", page, got.Code, test.want)
				}
			}
			if listed := strings.Contains(p.get("/debug/").Body.String(), "/debug/pprof/"); listed != test.profiling {
				t.Errorf("on the index page: %t, want %t", listed, test.profiling)
			}
		})
	}
}

func TestTheNodesPageShowsWhatCountsOnEachNode(t *testing.T) {
	b := newBench(t, benchOptions{})
	b.node("a", "4")
	b.node("b", "8")
	pod := newPod("p", "3")
	pod.Spec.NodeName = "b"
	if err := b.cluster.Set(pod); err != nil {
		t.Fatal(err)
	}
	b.cluster.SetUsage("b", &cluster.Usage{Updated: time.Unix(1, 0), Node: cluster.Resources{MilliCPU: 2000, Memory: 32 << 30}})
	response, err := http.Get(b.url + "/debug/nodes")
	if err != nil {
		t.Fatal(err)
	}
	rows := lines(t, response)
	if len(rows) != 5 || !strings.HasSuffix(rows[0], ", 2 nodes") {
		t.Fatalf("want a heading and two nodes:\n%s", strings.Join(rows, "\n"))
	}
	want := [][]string{
		{"a", "0/110", "0m/4000m", "0%", "0Mi/65536Mi", "0%", "-", "-", "-"},
		{"b", "1/110", "3000m/8000m", "38%", "0Mi/65536Mi", "0%", "25%", "50%", "-"},
	}
	got := [][]string{strings.Fields(rows[3]), strings.Fields(rows[4])}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

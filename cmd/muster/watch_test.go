package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"muster.dev/muster/inspect"
	"muster.dev/muster/loadaware/source"
	"muster.dev/muster/server/remote"
)

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// ofNodes returns a status of a muster with a number of nodes, and usage of some age.
func ofNodes(nodes int, age float64) *remote.Status {
	return &remote.Status{Muster: &remote.Overview{Nodes: nodes, Usage: &remote.Usage{
		Status: source.Status{Source: "s", Reachable: true, Since: time.Unix(1, 0)}, Nodes: 1, OldestSeconds: age, NewestSeconds: age,
	}}}
}

func TestWhereThereIsNoTerminalEachChangeIsPrinted(t *testing.T) {
	for format, wants := range map[inspect.Format][2]string{
		inspect.Text: {"cluster        1 nodes", "cluster        2 nodes"},
		inspect.JSON: {`"nodes": 1`, `"nodes": 2`},
		inspect.YAML: {"nodes: 1", "---\nmuster:"},
	} {
		t.Run(string(format), func(t *testing.T) {
			var out bytes.Buffer
			show := (&watch{printer: printer{format: format}, out: &out}).showChange()
			for i, told := range []*remote.Status{ofNodes(1, 5), ofNodes(1, 7), ofNodes(2, 1), {MusterError: "gone"}, {MusterError: "gone"}} {
				before := out.Len()
				if err := show(told); err != nil {
					t.Fatal(err)
				}
				if isNew := i != 1 && i != 4; (out.Len() > before) != isNew {
					t.Errorf("answer %d: printed %q", i, out.String()[before:])
				}
			}
			for _, want := range wants {
				if strings.Count(out.String(), want) < 1 {
					t.Errorf("%q is not in:\n%s", want, &out)
				}
			}
			if heading := strings.HasPrefix(out.String(), "20"); heading != (format == inspect.Text) || strings.Contains(out.String(), "\x1b") {
				t.Errorf("printed:\n%q", &out)
			}
		})
	}
}

func TestOnATerminalTheAnswerIsDrawnAnewAndFits(t *testing.T) {
	var out bytes.Buffer
	height := 5
	show := (&watch{every: time.Second, printer: printer{format: inspect.Text}, out: &out}).draw(func() int { return height })
	for range 2 {
		out.Reset()
		if err := show(ofNodes(1, 5)); err != nil {
			t.Fatal(err)
		}
		if got := out.String(); !strings.HasPrefix(got, cursorHome) || strings.Count(got, "\n") != height-1 ||
			!strings.Contains(got, " more lines") {
			t.Errorf("drew %q", got)
		}
	}
	height = 0
	out.Reset()
	if err := show(ofNodes(1, 5)); err != nil || strings.Contains(out.String(), " more lines") || !strings.Contains(out.String(), "PROFILE") {
		t.Errorf("of a terminal of unknown height: error %v, drew %q", err, &out)
	}
}

func TestAWatchEndsWhenItIsInterruptedAndTheLastAnswerCounts(t *testing.T) {
	for name, status := range map[string]int{"answers": http.StatusOK, "refuses": http.StatusServiceUnavailable} {
		t.Run(name, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			defer interrupt()
			var asked atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/debug/status" {
					http.NotFound(w, r)
					return
				}
				if asked.Add(1) == 3 {
					interrupt()
					<-r.Context().Done() // it gets no answer to this one
					return
				}
				w.WriteHeader(status)
				fmt.Fprintf(w, `{"nodes":%d}`, asked.Load())
			}))
			t.Cleanup(server.Close)
			t.Setenv("KUBECONFIG", filepath.Join(t.TempDir(), "absent"))
			var stdout, stderr bytes.Buffer
			code := run(ctx, strings.Fields("status -w --interval 100ms --server "+server.URL+" --rescheduler "+server.URL), nil, &stdout, &stderr)
			if want := map[bool]int{true: exitOK, false: exitFailure}[status == http.StatusOK]; code != want || stderr.Len() > 0 {
				t.Errorf("exit status %d, want %d: %s", code, want, &stderr)
			}
			if asked.Load() < 3 || status == http.StatusOK && !strings.Contains(stdout.String(), "2 nodes") {
				t.Errorf("asked %d times, printed:\n%s", asked.Load(), &stdout)
			}
		})
	}
}

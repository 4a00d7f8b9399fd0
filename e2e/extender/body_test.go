package extender_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/process"
	"muster.dev/muster/e2e/workload"
)

func TestBadRequestsAreAnsweredWithTheReason(t *testing.T) {
	c := newCluster(t, workload.NewNode("a", "4"))
	s := c.serve(muster.Options{})
	for name, test := range map[string]struct {
		method, path, body string
		status             int
		answer             string // its beginning
	}{
		"truncated JSON":    {http.MethodPost, "/filter", `{"Pod": {"metadata": {"name": "p"`, 400, "Pod: "},
		"no JSON":           {http.MethodPost, "/prioritize", `Pod: p`, 400, "unexpected byte"},
		"nothing":           {http.MethodPost, "/bind", ``, 400, "unexpected EOF"},
		"no pod":            {http.MethodPost, "/filter", `{"NodeNames": ["a"]}`, 400, "Pod: missing"},
		"a nil pod":         {http.MethodPost, "/preempt", `{"Pod": null}`, 400, "Pod: missing"},
		"a list of nothing": {http.MethodPost, "/filter", `[]`, 400, ""},
		"GET of a verb":     {http.MethodGet, "/filter", ``, 405, ""},
		"PUT of a verb":     {http.MethodPut, "/bind", `{}`, 405, ""},
		"POST of a page":    {http.MethodPost, "/readyz", ``, 405, ""},
		"an unknown verb":   {http.MethodPost, "/unbind", `{}`, 404, ""},
	} {
		t.Run(name, func(t *testing.T) {
			status, answer, err := s.Do(t.Context(), test.method, test.path, strings.NewReader(test.body))
			if err != nil || status != test.status || !strings.HasPrefix(answer, test.answer) {
				t.Errorf("answered %d %q (error %v), want %d %q…", status, answer, err, test.status, test.answer)
			}
		})
	}
}

func TestUnknownNodesAreListedAsFailed(t *testing.T) {
	c := newCluster(t, workload.NewNode("a", "4"))
	s := c.serve(muster.Options{})
	got, err := s.Filter(s.Context(), workload.NewPod("p", "1"), "ghost", "a", "")
	c.Must(err)
	const unknown = "node(s) were not known to muster yet"
	want := extenderv1.ExtenderFilterResult{
		NodeNames:                  &[]string{"a"},
		FailedAndUnresolvableNodes: extenderv1.FailedNodesMap{"ghost": unknown, "": unknown},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestHugeBodiesAreRefusedInBoundedMemory(t *testing.T) {
	const size, bound = 100 << 20, 80 << 20
	c := newCluster(t, workload.NewNode("a", "4"))
	for name, test := range map[string]struct {
		body func() io.Reader
		want string
	}{
		"of a length that is told": {
			func() io.Reader { return bytes.NewReader(make([]byte, size)) },
			"the body is larger than 67108864 bytes (which is enough for any call)",
		},
		"of a length that is not": {
			func() io.Reader { return io.LimitReader(spaces{}, size) },
			"the body is larger than 4194304 bytes, which needs a Content-Length",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := c.serve(muster.Options{})
			before := s.memory().Resident
			for range 5 {
				status, answer, err := s.Do(t.Context(), http.MethodPost, "/filter", test.body())
				if err != nil || status != http.StatusRequestEntityTooLarge || answer != test.want {
					t.Errorf("answered %d %q (error %v), want 413 %q", status, answer, err, test.want)
				}
			}
			if got := s.calls("filter", "too_large"); got != 5 {
				t.Errorf("%d calls are counted as too large, want 5", got)
			}
			peak := s.memory().Peak
			t.Logf("memory: %d MiB before, %d MiB at most", before>>20, peak>>20)
			if peak-before > bound {
				t.Errorf("memory grew by %d MiB, want at most %d MiB", (peak-before)>>20, bound>>20)
			}
			if got, err := s.Filter(s.Context(), workload.NewPod("p", "1"), "a"); err != nil || len(*got.NodeNames) != 1 {
				t.Errorf("the next call was answered %+v (error %v)", got, err)
			}
		})
	}
}

type spaces struct{}

// Read implements [io.Reader].
func (spaces) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

// memory reads the memory of the process. The test is skipped where that is impossible.
func (s *server) memory() process.Memory {
	s.Helper()
	memory, err := process.MemoryOf(s.Pid())
	if errors.Is(err, fs.ErrNotExist) {
		s.Skip("this system has no /proc/PID/status to read the memory of a process from")
	}
	s.Must(err)
	return memory
}

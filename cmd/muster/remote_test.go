package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// answering is a server that answers everything with a document.
func answering(t *testing.T, document string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, document)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// untilAsked keeps what a command says, and ends it once it has said whom it asks.
type untilAsked struct {
	said *bytes.Buffer
	end  context.CancelFunc
}

// Write implements [io.Writer].
func (u untilAsked) Write(text []byte) (int, error) {
	if bytes.HasPrefix(text, []byte("asked ")) {
		u.end()
	}
	return u.said.Write(text)
}

// kubeconfigOf is the file of a kubeconfig of two contexts, "here" the current one, and "there".
func kubeconfigOf(t *testing.T, here, there string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config")
	writeFile(t, path, fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"here",
"clusters":[{"name":"c","cluster":{"server":%q}},{"name":"d","cluster":{"server":%q}}],
"contexts":[{"name":"here","context":{"cluster":"c"}},{"name":"there","context":{"cluster":"d"}}]}`, here, there))
	return path
}

// Which cluster, and whose muster, is asked: by a flag, else by the environment; never what listens on this machine. e2e has the same
// with a real control plane, and with the pods of each way to install.
func TestWhomACommandAsks(t *testing.T) {
	const noPods = `{"kind":"PodList","apiVersion":"v1","items":[]}`
	here, there, other := answering(t, noPods), answering(t, noPods), answering(t, noPods)
	file, another := kubeconfigOf(t, here, there), kubeconfigOf(t, other, other)
	absent := filepath.Join(t.TempDir(), "absent")
	muster := answering(t, `{"version":"named"}`)
	const unknown = `no context is called "nowhere"`
	inVain := absent + ", by $KUBECONFIG"
	ways := map[string]struct{ environment, flags, muster, cluster string }{
		"the environment":                 {file, "", "the muster of context here", here},
		"a context":                       {file, "--context there", "the muster of context there", there},
		"a file before the environment":   {file, "--kubeconfig " + another, "the muster of context here", other},
		"a file and a context":            {absent, "--kubeconfig " + file + " --context there", "the muster of context there", there},
		"a context that there is not":     {file, "--context nowhere", unknown + ": there are here, there", unknown},
		"nothing there":                   {absent, "", inVain + "; name one with --kubeconfig FILE, or a muster by --server URL", inVain},
		"a server before the environment": {file, "--server " + muster, muster, ""},
	}
	ofMuster := []string{
		"status", "explain pod/p", "explain job/p", "explain -f testdata/pod.yaml", "why gang/g", "why plan/p", "why pod/p", "why deployment/d",
	}
	ofCluster := []string{"plan --time 1ms", "preflight", "report -o " + filepath.Join(t.TempDir(), "report.html"), "release --dry-run"}
	says := func(way, command, want, environment, flags string) {
		t.Run(command+" by "+way, func(t *testing.T) {
			t.Setenv("KUBECONFIG", environment)
			t.Setenv("KUBERNETES_SERVICE_HOST", "")
			var out bytes.Buffer
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			to := untilAsked{&out, cancel}
			run(ctx, strings.Fields(command+" "+flags), nil, to, to)
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q is not in:\n%s", want, &out)
			}
		})
	}
	for way, test := range ways {
		for _, command := range ofMuster {
			says(way, command, test.muster, test.environment, test.flags)
		}
		for _, command := range ofCluster {
			if test.cluster != "" {
				says(way, command, test.cluster, test.environment, test.flags)
			}
		}
	}
}

package remote_test

import (
	"context"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"muster.dev/muster/server/remote"
)

// explains asks a server about a pod, and returns how that failed.
func explains(t *testing.T, o remote.Options) string {
	t.Helper()
	client, err := remote.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = client.Explain(t.Context(), "default", "p"); err == nil {
		t.Fatal("no error")
	}
	return err.Error()
}

// answers serves one answer to everything.
func answers(status int, body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, body, status) })
}

func TestWhatGoesWrongIsSaidWithWhatMayHelp(t *testing.T) {
	plain := func(status int, body string) string {
		server := httptest.NewServer(answers(status, body))
		t.Cleanup(server.Close)
		return server.URL
	}
	const nobody = "http://127.0.0.1:1" // no server of a test is given that port
	secure := httptest.NewTLSServer(answers(http.StatusOK, "{}"))
	t.Cleanup(secure.Close)
	for name, test := range map[string]struct {
		server string
		want   string
	}{
		"nothing listens": {nobody, "nothing answers at " + nobody},
		"a pod that is not there": {
			plain(http.StatusNotFound, `{"error":"pod: no pod \"default/p\" in the view of the cluster"}`),
			`pod: no pod "default/p" in the view of the cluster`,
		},
		"debug pages are switched off": {
			plain(http.StatusNotFound, `{"error":"GET /debug/explain is not served; debug.listen is empty"}`), "debug.listen is empty",
		},
		"not ready, and why": {
			plain(http.StatusServiceUnavailable, `{"error":"the view of the cluster is not complete yet"}`),
			" is not ready: the view of the cluster is not complete yet",
		},
		"an answer without words": {plain(http.StatusTeapot, ""), "answers 418 I'm a teapot"},
		"something else listens":  {plain(http.StatusOK, "<html>"), "does not answer as muster does"},
		"http to one that serves TLS": {
			strings.Replace(secure.URL, "https", "http", 1), "serves TLS: ask https://, with --certificate-authority",
		},
		"https to one that serves without":  {strings.Replace(plain(http.StatusOK, "{}"), "http", "https", 1), "serves without TLS: ask http://"},
		"a certificate of unknown authors":  {secure.URL, "name what signed its certificate with --certificate-authority"},
		"a cluster is another way":          {nobody, "name a cluster with --context or --kubeconfig"},
		"a slash at the end of the address": {nobody + "/", "nothing answers at " + nobody + ":"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := explains(t, remote.Options{Server: test.server}); !strings.Contains(got, test.want) {
				t.Errorf("%q does not say %q", got, test.want)
			}
		})
	}
}

func TestAKnownAuthorityIsTrusted(t *testing.T) {
	server := httptest.NewTLSServer(answers(http.StatusNotFound, "no such pod"))
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := explains(t, remote.Options{Server: server.URL, CertificateAuthority: file}); got != "no such pod" {
		t.Errorf("got %q, want the server's answer", got)
	}
	named := strings.Replace(server.URL, "127.0.0.1", "localhost", 1)
	if got := explains(t, remote.Options{Server: named, CertificateAuthority: file}); !strings.Contains(
		got, "ask for it by a name of its certificate",
	) {
		t.Errorf("by another name: %q", got)
	}
}

func TestAFileWithoutACertificateIsNoAuthority(t *testing.T) {
	file := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(file, []byte("nothing"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := remote.New(remote.Options{Server: "https://127.0.0.1", CertificateAuthority: file}); err == nil ||
		!strings.Contains(err.Error(), "holds no certificate in PEM") {
		t.Errorf("error %v", err)
	}
}

func TestWhoIsReadyAndLeadsIsTheLeader(t *testing.T) {
	for answer, want := range map[string]bool{
		`{"leads":true}`: true, `{"leads":false}`: false, `{"leads":true,"unready":"not yet"}`: false, `no JSON`: false,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(answer)) }))
		t.Cleanup(server.Close)
		dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, strings.TrimPrefix(server.URL, "http://"))
		}
		if got := remote.Leads(t.Context(), dial); got != want {
			t.Errorf("%s: leads %t", answer, got)
		}
	}
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/util/cert"
)

// endpoint is a row of an index.
type endpoint struct{ Method, Path, About string }

// rows returns a table of endpoints without the parts of the page.
func rows(endpoints []endpoint) string {
	text := "| method | path | |\n| --- | --- | --- |\n"
	for _, e := range endpoints {
		if !strings.HasPrefix(e.Path, "/page/") {
			text += fmt.Sprintf("| %s | `%s` | %s |\n", e.Method, e.Path, cell(e.About))
		}
	}
	return text
}

// page reads a page of a process, which runs with args and is stopped afterwards. It is served by the port of a field.
func page[Page any](t *testing.T, field, path string, args ...string) (got Page) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	log, ended := logOf(ctx, t, append(args, "--log-format=json")...)
	line := awaitLine(t, log, "serving")
	for line["listener"] != field {
		line = awaitLine(t, log, "serving")
	}
	go func() {
		for log.Scan() { // the pipe must not fill up
		}
	}()
	response, err := http.Get(fmt.Sprintf("http://%s%s?format=json", line["address"], path))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(&got); err != nil {
		t.Error(err)
	}
	stop()
	if code := <-ended; code != exitOK {
		t.Errorf("%s: exit status %d, want %d", args[0], code, exitOK)
	}
	return got
}

func TestTheReferenceOfEndpointsIsWhatBothProcessesServe(t *testing.T) {
	dir := t.TempDir()
	kubeconfig, config := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "muster.yaml")
	writeKubeconfig(t, kubeconfig)
	writeCertificate(t, filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key"))
	content := fmt.Sprintf(`apiVersion: config.muster.dev/v1alpha2
kind: MusterConfiguration
serving:
  listen: "127.0.0.1:0"
  healthListen: "127.0.0.1:0"
  webhookListen: "127.0.0.1:0"
  tls: {certFile: %s/tls.crt, keyFile: %[1]s/tls.key}
debug: {listen: "127.0.0.1:0"}
rescheduler: {listen: "127.0.0.1:0"}
`, dir)
	if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	text := "## muster serve\n"
	serves := page[struct {
		Listeners []struct {
			Listener  string
			Endpoints []endpoint
		}
	}](t, "debug.listen", "/debug/listeners", "serve", "--config", config, "--snapshot", "-")
	about := map[string]string{
		"serving.listen":        "The verbs of kube-scheduler, by JSON alone; web pages are refused.",
		"serving.healthListen":  "For kubelets and Prometheus, over plain http; nothing unless it is set.",
		"serving.webhookListen": "For the API server, over https; nothing unless it is set.",
		"debug.listen": "For people. Web pages of other sites are refused, and so are host names that are neither loopback's nor in " +
			"`debug.allowedHosts`.",
	}
	for _, l := range serves.Listeners {
		text += "\n### `" + l.Listener + "`\n\n" + about[l.Listener] + "\n\n" + rows(l.Endpoints)
	}
	index := page[struct{ Endpoints []endpoint }](
		t, "rescheduler.listen", "/debug/", "reschedule", "--config", config, "--kubeconfig", kubeconfig,
	)
	compareReference(
		t,
		"endpoints.md",
		"Endpoints",
		"What the two processes serve, and at which address, by the field that sets it. Of what is below `/debug/`, programs get JSON with "+
			"`?format=json` or `Accept: application/json`, people text. `/debug/pprof/` is for callers on the same host, `POST /separate` of "+
			"`muster reschedule` at an address of its own, `rescheduler.separate.listen`.",
		text+"\n## muster reschedule\n\n"+rows(index.Endpoints),
	)
}

// writeCertificate writes a certificate for nobody, and its key.
func writeCertificate(t *testing.T, certFile, keyFile string) {
	t.Helper()
	certificate, key, err := cert.GenerateSelfSignedCertKey("localhost", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for path, content := range map[string][]byte{certFile: certificate, keyFile: key} {
		if err := os.WriteFile(path, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"muster.dev/muster/api/config"
	"muster.dev/muster/server/logging"
)

const dump = `{"apiVersion": "v1", "kind": "List", "items": [
	{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"},
		"status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}}
]}`

func TestServeAnswersFromASnapshotOnStandardInputAndStopsCleanly(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	lines, exit := logOf(
		ctx, t, "serve", "--snapshot", "-", "--listen", "127.0.0.1:0", "--debug-listen", "127.0.0.1:0", "--log-format", "json",
	)
	address := awaitAddress(t, lines)
	go func() {
		for lines.Scan() { // the pipe must not fill up
		}
	}()
	body := `{"Pod": {"metadata": {"name": "a", "namespace": "b"}, "spec": {"schedulerName": "default-scheduler"}}, "NodeNames": ["node-1"]}`
	client := &http.Client{Timeout: time.Minute}
	defer client.CloseIdleConnections()
	awaitReady(t, client, address)
	response, err := client.Post("http://"+address+"/filter", "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(response.Body)
	response.Body.Close()
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != http.StatusOK || !bytes.Contains(answer, []byte(`"node-1"`)) {
		t.Errorf("filter answered %s: %s, want 200 and node-1", response.Status, answer)
	}

	stop()
	if code := <-exit; code != exitOK {
		t.Errorf("exit status %d, want 0", code)
	}
}

// awaitAddress reads log lines until one says where the server listens.
func awaitAddress(t *testing.T, lines *bufio.Scanner) string {
	t.Helper()
	for lines.Scan() {
		var line struct {
			Message string `json:"msg"`
			Address string `json:"address"`
		}
		if err := json.Unmarshal(lines.Bytes(), &line); err != nil {
			t.Fatalf("log line %q is not JSON: %v", lines.Text(), err)
		}
		if line.Message == "serving" {
			return line.Address
		}
	}
	t.Fatal("the process ended before it served")
	return ""
}

// awaitReady waits until the server at an address says that it is ready.
func awaitReady(t *testing.T, client *http.Client, address string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		response, err := client.Get("http://" + address + "/readyz")
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if response.StatusCode == http.StatusOK {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server is not ready after a minute: %s", response.Status)
		}
	}
}

func TestFlagsOfServeOverrideTheFile(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	writeKubeconfig(t, kubeconfig)
	tests := []struct {
		name   string
		flags  serveFlags
		listen string
		host   string
		qps    float32
		level  slog.Level
	}{
		{
			name:   "without a file the defaults hold",
			flags:  serveFlags{kubeconfig: kubeconfig},
			listen: "127.0.0.1:8888",
			host:   "http://127.0.0.1:6443",
			qps:    500,
		},
		{
			name:   "the file changes the defaults",
			flags:  serveFlags{kubeconfig: kubeconfig, config: "testdata/tls.yaml"},
			listen: "0.0.0.0:9443",
			host:   "http://127.0.0.1:6443",
			qps:    50,
			level:  slog.LevelWarn,
		},
		{
			name:   "a flag changes the file",
			flags:  serveFlags{kubeconfig: kubeconfig, config: "testdata/tls.yaml", listen: ":7777", log: logFlags{level: "DEBUG"}},
			listen: ":7777",
			host:   "http://127.0.0.1:6443",
			qps:    50,
			level:  slog.LevelDebug,
		},
		{
			name:   "a snapshot needs no connection",
			flags:  serveFlags{snapshots: []string{"-"}},
			listen: "127.0.0.1:8888",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			log := logging.Log{Logger: slog.New(slog.DiscardHandler)}
			options, err := test.flags.options(newServeCommand(), &log)
			if err != nil {
				t.Fatal(err)
			}
			if log.Level.Level() != test.level {
				t.Errorf("logs %s, want %s", log.Level.Level(), test.level)
			}
			if options.Config.Serving.Listen != test.listen {
				t.Errorf("listens on %s, want %s", options.Config.Serving.Listen, test.listen)
			}
			if test.host == "" {
				if options.RESTConfig != nil {
					t.Errorf("connects to %s, want no connection", options.RESTConfig.Host)
				}
				return
			}
			if options.RESTConfig.Host != test.host || options.RESTConfig.QPS != test.qps {
				t.Errorf(
					"connects to %s with %v requests a second, want %s and %v", options.RESTConfig.Host, options.RESTConfig.QPS, test.host, test.qps,
				)
			}
		})
	}
}

func TestTheKubeconfigOfTheConfigurationIsUsed(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	writeKubeconfig(t, kubeconfig)
	cfg, err := restConfig(config.ClientConnection{Kubeconfig: kubeconfig, QPS: 7})
	if err != nil {
		t.Fatal(err)
	}
	if cfg.Host != "http://127.0.0.1:6443" || cfg.QPS != 7 || cfg.Burst != 14 {
		t.Errorf("host %s, qps %v, burst %d, want those given, and twice the one", cfg.Host, cfg.QPS, cfg.Burst)
	}
}

func TestServeAnswersThoughNobodyReadsItsLog(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	lines, exit := logOf(
		ctx, t, "serve", "--snapshot", "-", "--listen", "127.0.0.1:0", "--debug-listen", "127.0.0.1:0", "--log-format", "json",
	)
	address := awaitAddress(t, lines)
	client := &http.Client{Timeout: 20 * time.Second}
	defer client.CloseIdleConnections()
	awaitReady(t, client, address)
	for i := range 100 { // each is logged
		response, err := client.Post(
			"http://"+address+"/bind", "application/json", strings.NewReader(`{"PodName": "a", "PodNamespace": "b", "PodUID": "c", "Node": "d"}`),
		)
		if err != nil {
			t.Errorf("call %d: %v", i, err)
			break
		}
		response.Body.Close()
	}
	stop()
	failed := 0
	for lines.Scan() {
		if strings.Contains(lines.Text(), "bind failed") {
			failed++
		}
	}
	if status := <-exit; status != exitOK || failed != 100 {
		t.Errorf("exit status %d, and %d lines say that bind failed, want %d and 100", status, failed, exitOK)
	}
}

func TestLogLinesQuoteWhatIsNotPrintable(t *testing.T) {
	const attack = "\x1b[2J\nlevel=INFO msg=forged\r\x07"
	for format, want := range map[string]string{
		"text": `pod="\x1b[2J\nlevel=INFO msg=forged\r\a" err="\x1b[2J\nlevel=INFO msg=forged\r\a"`,
		"json": `"pod":"\u001b[2J\nlevel=INFO msg=forged\r\u0007","err":"\u001b[2J\nlevel=INFO msg=forged\r\u0007"`,
	} {
		var out strings.Builder
		log, err := logging.New(logging.Options{Output: &out, Level: slog.LevelInfo, Format: format})
		if err != nil {
			t.Fatal(err)
		}
		log.Logger.Info("a pod", "pod", attack, "err", errors.New(attack))
		log.Close()
		if got := out.String(); !strings.Contains(got, want) || strings.Count(got, "\n") != 1 || strings.ContainsAny(got, "\x1b\r\x07") {
			t.Errorf("%s: logged %q, want one line with %s", format, got, want)
		}
	}
}

func writeKubeconfig(t *testing.T, path string) {
	t.Helper()
	content := `apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "http://127.0.0.1:6443"}}]
contexts: [{name: c, context: {cluster: c}}]
current-context: c
`
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

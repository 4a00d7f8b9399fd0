package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/klog/v2"

	"muster.dev/muster/api/config/v1alpha2"
)

const dump = `{"apiVersion": "v1", "kind": "List", "items": [
	{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}, "status": {"allocatable": {"cpu": "4", "memory": "8Gi", "pods": "110"}}}
]}`

func TestServeAnswersFromASnapshotOnStandardInputAndStopsCleanly(t *testing.T) {
	defer klog.CaptureState().Restore()
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	logs, stderr := io.Pipe()
	exit := make(chan int, 1)
	go func() {
		args := []string{"serve", "--snapshot", "-", "--listen", "127.0.0.1:0", "--log-format", "json"}
		exit <- run(ctx, args, strings.NewReader(dump), io.Discard, stderr)
		stderr.Close()
	}()

	lines := bufio.NewScanner(logs)
	address := awaitAddress(t, lines)
	go func() {
		for lines.Scan() { // the pipe must not fill up
		}
	}()
	body := `{"Pod": {"metadata": {"name": "a", "namespace": "b"}, "spec": {"schedulerName": "default-scheduler"}}, "NodeNames": ["node-1"]}`
	client := &http.Client{Timeout: time.Minute}
	defer client.CloseIdleConnections()
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

func TestFlagsOfServeOverrideTheFile(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	writeKubeconfig(t, kubeconfig)
	tests := []struct {
		name   string
		flags  serveFlags
		listen string
		host   string
		qps    float32
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
		},
		{
			name:   "a flag changes the file",
			flags:  serveFlags{kubeconfig: kubeconfig, config: "testdata/tls.yaml", listen: ":7777"},
			listen: ":7777",
			host:   "http://127.0.0.1:6443",
			qps:    50,
		},
		{
			name:   "a snapshot needs no connection",
			flags:  serveFlags{snapshots: []string{"-"}},
			listen: "127.0.0.1:8888",
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			options, err := test.flags.options(newServeCommand(), slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
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
				t.Errorf("connects to %s with %v requests a second, want %s and %v", options.RESTConfig.Host, options.RESTConfig.QPS, test.host, test.qps)
			}
		})
	}
}

func TestTheKubeconfigOfTheConfigurationIsUsed(t *testing.T) {
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	writeKubeconfig(t, kubeconfig)
	config, err := restConfig(v1alpha2.ClientConnection{Kubeconfig: kubeconfig, QPS: 7, Burst: 9})
	if err != nil {
		t.Fatal(err)
	}
	if config.Host != "http://127.0.0.1:6443" || config.QPS != 7 || config.Burst != 9 {
		t.Errorf("host %s, qps %v, burst %d, want those given", config.Host, config.QPS, config.Burst)
	}
}

func TestLogLinesHaveTheLevelAndFormatAskedFor(t *testing.T) {
	for format, want := range map[string]string{
		"text": "level=WARN msg=kept answer=42\n",
		"json": `"level":"WARN","msg":"kept","answer":42}` + "\n",
	} {
		t.Run(format, func(t *testing.T) {
			var out strings.Builder
			logger, err := newLogger(&out, slog.LevelWarn, format)
			if err != nil {
				t.Fatal(err)
			}
			logger.Info("dropped")
			logger.Warn("kept", "answer", 42)
			if _, rest, _ := strings.Cut(out.String(), "level"); !strings.HasSuffix(out.String(), want) || strings.Contains(rest, "dropped") {
				t.Errorf("logged (-) does not end with (+):\n%s", cmp.Diff(out.String(), want))
			}
		})
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

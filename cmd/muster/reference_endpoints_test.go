package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// endpointsOf are the rows of a process's index. The process runs with args, listens on address,
// and is stopped afterwards.
func endpointsOf(t *testing.T, address string, args ...string) string {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	ended := make(chan int)
	go func() {
		ended <- run(ctx, args, strings.NewReader("apiVersion: v1\nkind: List\nitems: []\n"), io.Discard, io.Discard)
	}()
	var index struct {
		Endpoints []struct{ Method, Path, About string }
	}
	err := wait.PollUntilContextCancel(ctx, 20*time.Millisecond, true, func(context.Context) (bool, error) {
		response, err := http.Get("http://" + address + "/debug/?format=json")
		if err != nil {
			return false, nil // it does not listen yet
		}
		defer response.Body.Close()
		return true, json.NewDecoder(response.Body).Decode(&index)
	})
	if err != nil {
		t.Error(err)
	}
	stop()
	<-ended
	rows := "| method | path | |\n| --- | --- | --- |\n"
	for _, e := range index.Endpoints {
		if !strings.HasPrefix(e.Path, "/page/") {
			rows += fmt.Sprintf("| %s | `%s` | %s |\n", e.Method, e.Path, cell(e.About))
		}
	}
	return rows
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

func TestTheReferenceOfEndpointsIsTheIndexOfBothProcesses(t *testing.T) {
	dir := t.TempDir()
	kubeconfig, config := filepath.Join(dir, "kubeconfig"), filepath.Join(dir, "muster.yaml")
	writeKubeconfig(t, kubeconfig)
	serve, reschedule := freeAddress(t), freeAddress(t)
	content := fmt.Sprintf("apiVersion: config.muster.dev/v1alpha2\nkind: MusterConfiguration\nserving: {listen: %q, profiling: true}\nrescheduler: {listen: %q}\n", serve, reschedule)
	if err := os.WriteFile(config, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	compareReference(t, "endpoints.md", "Endpoints",
		"What the two processes serve. Of what is below `/debug/`, programs get JSON with `?format=json` or `Accept: application/json`, people text. `/debug/pprof/` is there with `serving.profiling`, `POST /separate` of `muster reschedule` at an address of its own, `rescheduler.separate.listen`.",
		"## muster serve\n\n"+endpointsOf(t, serve, "serve", "--config", config, "--snapshot", "-")+
			"\n## muster reschedule\n\n"+endpointsOf(t, reschedule, "reschedule", "--config", config, "--kubeconfig", kubeconfig))
}

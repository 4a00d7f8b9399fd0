package binaries

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

func TestHowFarACompilationIs(t *testing.T) {
	c := newCompiling(build{packages: []string{"b", "c", "d"}}, map[string]int64{"a": 100, "b": 300, "c": 600}, nil)
	for _, step := range []struct {
		line, want string
		since      time.Duration
	}{
		{"", "0 of 3 packages compiled", time.Second},
		{"a", "1 of 3 packages compiled, about 9 minutes left", time.Minute},
		{"# a", "1 of 3 packages compiled, about 9 minutes left", time.Minute},
		{"b", "2 of 3 packages compiled, about 3 minutes left", 2 * time.Minute},
		{"c", "3 of 3 packages compiled, linking", 5 * time.Minute},
	} {
		c.line(step.line)
		if got := c.how(step.since); !strings.HasSuffix(got, step.want) {
			t.Errorf("after %q: %q, want %q at its end", step.line, got, step.want)
		}
	}
}

func TestWhatRemainsIsToldRoughly(t *testing.T) {
	for d, want := range map[time.Duration]string{
		time.Second: "10 seconds", 34 * time.Second: "30 seconds", 50 * time.Second: "a minute", 170 * time.Second: "3 minutes",
	} {
		if got := roughly(d); got != want {
			t.Errorf("%s is told as %q, want %q", d, got, want)
		}
	}
}

func TestOnlyModulesThatAreFetchedAreTold(t *testing.T) {
	var out bytes.Buffer
	f := &fetching{out: &out}
	f.line("go: finding module for package x")
	if f.tell("so far"); out.Len() > 0 {
		t.Errorf("told %q, and nothing was fetched", &out)
	}
	f.line("go: downloading k8s.io/api v0.37.2")
	if f.tell("so far"); out.String() != "  fetched 1 modules so far\n" {
		t.Errorf("told %q", &out)
	}
}

func TestWhatTheGoCommandCallsAnExecutable(t *testing.T) {
	for pkg, want := range map[string]string{
		"go.etcd.io/etcd/server/v3": "server", "k8s.io/kubernetes/cmd/kubectl": "kubectl", "./cmd/demo/play": "play",
	} {
		if got := builtAs(pkg); got != Binary(want).file() {
			t.Errorf("%s becomes %q, want %q", pkg, got, want)
		}
	}
}

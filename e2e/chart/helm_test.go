package chart

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"muster.dev/muster/e2e/binaries"
)

const (
	chartDir  = "../../charts/muster"
	release   = "muster"
	namespace = "kube-system"
)

// programs are what the tests run.
var programs struct{ muster, scheduler, helm, promtool string }

func TestMain(m *testing.M) {
	code, err := runTests(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func runTests(m *testing.M) (code int, err error) {
	dir, err := os.MkdirTemp("", "muster-chart-")
	if err != nil {
		return 1, err
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	if programs.muster, err = binaries.BuildMuster(ctx, os.Stderr); err != nil {
		return 1, err
	}
	set, err := binaries.Ensure(ctx, "", os.Stderr, binaries.Scheduler)
	if err != nil {
		return 1, err
	}
	programs.scheduler = set.Path(binaries.Scheduler)
	if programs.helm, err = binaries.EnsureExtra(ctx, binaries.Helm, os.Stderr); err != nil {
		return 1, err
	}
	if programs.promtool, err = binaries.EnsureExtra(ctx, binaries.Promtool, os.Stderr); err != nil {
		return 1, err
	}
	for _, name := range []string{"HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"} {
		if err := os.Setenv(name, filepath.Join(dir, name)); err != nil {
			return 1, err
		}
	}
	return m.Run(), nil
}

// said runs a program and returns what it printed, standard error with it where it fails.
func said(ctx context.Context, stdin io.Reader, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("%s %s: %w:\n%s%s", filepath.Base(program), strings.Join(args, " "), err, &stdout, &stderr)
	}
	return stdout.String(), nil
}

// helm runs Helm, which must succeed.
func helm(t *testing.T, args ...string) string {
	t.Helper()
	out, err := said(t.Context(), nil, programs.helm, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// ways are the files of values in charts/muster/ci, by the name of the way to install.
func ways(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(chartDir, "ci", "*-values.yaml"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d ways to install, error %v", len(files), err)
	}
	ways := map[string]string{}
	for _, file := range files {
		ways[strings.TrimSuffix(filepath.Base(file), "-values.yaml")] = file
	}
	return ways
}

// way is the file of values of one way to install.
func way(name string) string { return filepath.Join(chartDir, "ci", name+"-values.yaml") }

// render is what the chart renders to.
func render(t *testing.T, args ...string) map[string]*unstructured.Unstructured {
	t.Helper()
	return parse(t, helm(t, append([]string{"template", release, chartDir, "--namespace", namespace}, args...)...))
}

// parse reads objects, by kind and name as in Deployment/muster.
func parse(t *testing.T, text string) map[string]*unstructured.Unstructured {
	t.Helper()
	objects := map[string]*unstructured.Unstructured{}
	documents := yaml.NewYAMLReader(bufio.NewReader(strings.NewReader(text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatal(err)
		}
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &object.Object); err != nil {
			t.Fatalf("%v:\n%s", err, document)
		}
		if len(object.Object) == 0 {
			continue // a comment
		}
		name := object.GetKind() + "/" + object.GetName()
		if objects[name] != nil {
			t.Errorf("%s is rendered twice", name)
		}
		objects[name] = object
	}
}

// configOf is muster's configuration file among what was rendered.
func configOf(t *testing.T, objects map[string]*unstructured.Unstructured) string {
	t.Helper()
	configMap := objects["ConfigMap/"+release]
	if configMap == nil {
		t.Fatal("there is no ConfigMap " + release)
	}
	text, _, err := unstructured.NestedString(configMap.Object, "data", "muster.yaml")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "muster.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

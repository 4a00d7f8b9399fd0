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
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/lab"
)

const (
	repository = "../.."
	chartDir   = repository + "/charts/muster"
	release    = "muster"
	namespace  = "kube-system"
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "muster-chart-")
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "audit-policy.yaml"), []byte(auditPolicy), 0o600)
	}
	for _, name := range []string{"HELM_CACHE_HOME", "HELM_CONFIG_HOME", "HELM_DATA_HOME"} {
		err = errors.Join(err, os.Setenv(name, filepath.Join(dir, name)))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	scratch = dir
	code := lab.Run(m)
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// scratch is a directory for files that are of no test.
var scratch string

// What the tests run beside muster and the control plane. Each is looked for, and built if it is missing, when it is first asked for.
var (
	findHelm     = sync.OnceValues(func() (string, error) { return binaries.EnsureExtra(context.Background(), binaries.Helm, os.Stderr) })
	findPromtool = sync.OnceValues(func() (string, error) {
		return binaries.EnsureExtra(context.Background(), binaries.Promtool, os.Stderr)
	})
	findScheduler = sync.OnceValues(func() (string, error) {
		set, err := binaries.Ensure(context.Background(), "", os.Stderr, binaries.Scheduler)
		return set.Path(binaries.Scheduler), err
	})
)

// found is the path of a program.
func found(t testing.TB, find func() (string, error)) string {
	t.Helper()
	path, err := find()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func helmProgram(t testing.TB) string {
	t.Helper()
	return found(t, findHelm)
}

// said runs a program and returns what it printed, standard error with it where it fails.
func said(ctx context.Context, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		return stdout.String(), fmt.Errorf("%s %s: %w:\n%s%s", filepath.Base(program), strings.Join(args, " "), err, &stdout, &stderr)
	}
	return stdout.String(), nil
}

// musterSaid runs muster as a command.
func musterSaid(t *testing.T, args ...string) (string, error) {
	t.Helper()
	return said(t.Context(), lab.Program(t), args...)
}

// helm runs Helm, which must succeed.
func helm(t *testing.T, args ...string) string {
	t.Helper()
	out, err := said(t.Context(), helmProgram(t), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// textOf is the content of a file.
func textOf(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
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

// renderings are what Helm has rendered, by its arguments: tests ask for the same again and again.
var renderings sync.Map

// render returns the rendered chart.
func render(t *testing.T, args ...string) map[string]*unstructured.Unstructured {
	t.Helper()
	args = append([]string{"template", release, chartDir, "--namespace", namespace}, args...)
	path := helmProgram(t)
	once, _ := renderings.LoadOrStore(strings.Join(args, "\n"), sync.OnceValues(func() (string, error) {
		return said(context.Background(), path, args...)
	}))
	text, err := once.(func() (string, error))()
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, text)
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

// typed is a rendered object as a type of Go.
func typed[T any](t *testing.T, object *unstructured.Unstructured) *T {
	t.Helper()
	var into T
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &into); err != nil {
		t.Fatal(err)
	}
	return &into
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

package manifests

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/e2e/binaries"
)

// published says where each project has its CustomResourceDefinitions, in its Go module.
var published = map[string]string{
	"github.com/kubeflow/mpi-operator":            "manifests/base/kubeflow.org_*.yaml",
	"github.com/kubeflow/spark-operator/v2":       "config/crd/bases/*.yaml",
	"github.com/kubeflow/trainer/v2":              "manifests/base/crds/trainer.kubeflow.org_*.yaml",
	"github.com/NVIDIA/KAI-scheduler":             "deployments/kai-scheduler/crds/kai.scheduler_topologies.yaml",
	"github.com/ray-project/kuberay/ray-operator": "config/crd/bases/*.yaml",
	"sigs.k8s.io/jobset":                          "config/components/crd/bases/*.yaml",
	"sigs.k8s.io/kueue":                           "config/components/crd/bases/*.yaml",
	"sigs.k8s.io/lws":                             "config/crd/bases/*.yaml",
}

// Definitions are the CustomResourceDefinitions of the projects in definitions/go.mod. What is not in the module cache is
// downloaded; go.sum holds what it has to be.
func Definitions(ctx context.Context) (definitions []*unstructured.Unstructured, err error) {
	repository, err := binaries.RepositoryDir(ctx)
	if err != nil {
		return nil, err
	}
	modules, err := download(ctx, filepath.Join(repository, "e2e", "manifests", "definitions"))
	if err != nil {
		return nil, err
	}
	for path, pattern := range published {
		dir, ok := modules[path]
		if !ok {
			return nil, fmt.Errorf("definitions/go.mod does not require %s", path)
		}
		delete(modules, path)
		files, err := filepath.Glob(filepath.Join(dir, filepath.FromSlash(pattern)))
		if err != nil {
			return nil, err
		}
		if len(files) == 0 {
			return nil, fmt.Errorf("%s has no %s", dir, pattern)
		}
		for _, file := range files {
			definition, err := readDefinition(file)
			if err != nil {
				return nil, err
			}
			definitions = append(definitions, definition)
		}
	}
	for path := range modules {
		return nil, fmt.Errorf("definitions/go.mod requires %s, and it is not known where that has its definitions", path)
	}
	return definitions, nil
}

// download returns the directories of the modules that a go.mod requires.
func download(ctx context.Context, dir string) (map[string]string, error) {
	cmd := exec.CommandContext(ctx, "go", "mod", "download", "-json")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output() // fails where one module does, and says of each
	modules := map[string]string{}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var module struct{ Path, Dir, Error string }
		if err := decoder.Decode(&module); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("read what go mod download says: %w", err)
		}
		if module.Error != "" {
			return nil, fmt.Errorf("download %s: %s", module.Path, module.Error)
		}
		modules[module.Path] = module.Dir
	}
	if err != nil {
		return nil, fmt.Errorf("go mod download in %s: %w: %s", dir, err, bytes.TrimSpace(stderr.Bytes()))
	}
	return modules, nil
}

func readDefinition(file string) (*unstructured.Unstructured, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	definition := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(content, &definition.Object); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if definition.GetKind() != "CustomResourceDefinition" {
		return nil, fmt.Errorf("%s is a %q", file, definition.GetKind())
	}
	return definition, nil
}

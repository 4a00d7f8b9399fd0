package main

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/gang/operators"
	"muster.dev/muster/inspect"
	"muster.dev/muster/server/explanation"
)

// maxManifest is the largest manifest that is read: the API server takes no larger object.
const maxManifest = 3 << 20

func readManifest(cmd *cobra.Command, path string) ([]byte, error) {
	from := cmd.InOrStdin()
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("--filename: %w", err)
		}
		defer file.Close()
		from = file
	}
	text, err := io.ReadAll(io.LimitReader(from, maxManifest+1))
	switch {
	case err != nil:
		return nil, fmt.Errorf("--filename: %w", err)
	case len(text) > maxManifest:
		return nil, fmt.Errorf("--filename: %s has more than %d bytes", path, maxManifest)
	}
	return text, nil
}

// template is a pod as an object would make it.
type template struct {
	path string // in the object, as in spec.template
	pod  []byte // in JSON
}

// templatesOf returns the templates of pods in a manifest of an object that makes pods, none for one of a pod.
func templatesOf(manifest []byte) ([]template, error) {
	var object map[string]any
	if err := yaml.Unmarshal(manifest, &object); err != nil || object["kind"] == nil || object["kind"] == "Pod" {
		return nil, nil //nolint:nilerr // whom it is sent to says what is wrong with it
	}
	metadata, _ := object["metadata"].(map[string]any)
	var found []template
	for _, one := range operators.Templates(object) {
		pod, err := podOf(one.Pod, metadata)
		if err != nil {
			return nil, err
		}
		found = append(found, template{one.Path, pod})
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("--filename: a %v has no template of a pod in it", object["kind"])
	}
	return found, nil
}

// podOf returns the pod of a template, which has the name and namespace of its owner unless it says otherwise.
func podOf(template, owner map[string]any) ([]byte, error) {
	metadata, _ := template["metadata"].(map[string]any)
	own := maps.Clone(metadata)
	if own == nil {
		own = map[string]any{}
	}
	delete(own, "creationTimestamp") // generated manifests have it as null
	for _, name := range []string{"name", "namespace"} {
		if own[name] == nil && owner[name] != nil {
			own[name] = owner[name]
		}
	}
	return json.Marshal(map[string]any{
		"apiVersion": corev1.SchemeGroupVersion.String(), "kind": "Pod", "metadata": own, "spec": template["spec"],
	})
}

// explainedTemplate is where a pod of a template would go.
type explainedTemplate struct {
	Template    string           `json:"template"`
	Explanation *explanation.Pod `json:"explanation"`
}

// explainedTemplates tells of the pods that an object would make, each by itself.
type explainedTemplates struct {
	Templates []explainedTemplate `json:"templates"`
}

// add adds what a muster said of a template. Whether its pods are of a gang hangs on their controller, which there is not yet.
func (e *explainedTemplates) add(path string, told *explanation.Pod) {
	told.Member = ""
	e.Templates = append(e.Templates, explainedTemplate{path, told})
}

// Placed says that a pod of each template fits on a node.
func (e *explainedTemplates) Placed() bool {
	return !slices.ContainsFunc(e.Templates, func(t explainedTemplate) bool { return !t.Explanation.Placed() })
}

// Text implements [inspect.Answer].
func (e *explainedTemplates) Text(t *inspect.Table) { e.write(t, (*explanation.Pod).Text) }

// Wide implements [inspect.WideAnswer].
func (e *explainedTemplates) Wide(t *inspect.Table) { e.write(t, (*explanation.Pod).Wide) }

// Everything is the same with every node.
func (e *explainedTemplates) Everything() inspect.Answer { return everyNode{e} }

type everyNode struct{ *explainedTemplates }

// Text implements [inspect.Answer].
func (e everyNode) Text(t *inspect.Table) {
	e.write(t, func(told *explanation.Pod, t *inspect.Table) { told.Everything().Text(t) })
}

// Wide implements [inspect.WideAnswer].
func (e everyNode) Wide(t *inspect.Table) { e.Text(t) }

func (e *explainedTemplates) write(t *inspect.Table, pod func(*explanation.Pod, *inspect.Table)) {
	for i, one := range e.Templates {
		if i > 0 {
			t.Gap()
		}
		t.Row("a pod of " + one.Template + ", by itself:")
		pod(one.Explanation, t)
	}
}

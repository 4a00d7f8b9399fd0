package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	yamlv3 "go.yaml.in/yaml/v3"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/api/bounded"
	"muster.dev/muster/cluster"
	"muster.dev/muster/inspect"
	"muster.dev/muster/server/body"
)

// postedPod reads a pod as somebody would apply it. Of what the API server would fill in,
// it fills in as in [cluster.Complete].
func (s *Console) postedPod(r *http.Request) (*cluster.Pod, error) {
	share := s.options.Bodies.Any.Budget.Share()
	defer share.GiveBack()
	object := &corev1.Pod{}
	text, err := s.options.Bodies.Any.Read(nil, r, nil, &share)
	if err == nil {
		err = decodePosted(text, object, share.Take)
	}
	if err != nil {
		return nil, inspect.Refuse(body.Status(err), "the posted pod: %v", err)
	}
	cluster.Complete(object)
	return cluster.NewPod(object), nil
}

// decodePosted decodes a pod that is posted as JSON or YAML. hold has the memory accounted for that
// it takes.
func decodePosted(text []byte, object *corev1.Pod, hold func(bytes int64) error) error {
	length := len(text)
	if text = bytes.TrimSpace(text); !isJSON(text) {
		if length > maxYAML {
			return fmt.Errorf("it has %d bytes; what is no JSON may have %d", length, maxYAML)
		}
		if err := hold(int64(len(text)) * memoryOfYAML); err != nil {
			return err
		}
		var err error
		if text, err = fromYAML(text); err != nil {
			return oneLine(err)
		}
	}
	if err := hold(bounded.Memory(len(text))); err != nil {
		return err
	}
	if err := bounded.DecodeStrict(text, object); err != nil {
		return err
	}
	if object.Kind != "" && object.Kind != "Pod" {
		return fmt.Errorf("kind: %q is not Pod", object.Kind)
	}
	for field, name := range map[string]string{
		"metadata.name": object.Name, "metadata.namespace": object.Namespace, "spec.schedulerName": object.Spec.SchedulerName,
	} {
		if len(name) > bounded.MaxName {
			return fmt.Errorf("%s: it has %d bytes; it may have %d", field, len(name), bounded.MaxName)
		}
	}
	return nil
}

func isJSON(text []byte) bool { return len(text) > 0 && text[0] == '{' && json.Valid(text) }

const (
	// maxYAML is how long a pod in YAML may be, in bytes: a parser makes hundreds of bytes of two.
	maxYAML = 64<<10 - 1
	// memoryOfYAML is how many bytes it makes of one.
	memoryOfYAML = 400
	// maxNodes is the greatest number of values in a pod in YAML, including the values that aliases stand for.
	maxNodes = 20_000
)

// fromYAML is a document of YAML as JSON.
func fromYAML(text []byte) ([]byte, error) {
	var document yamlv3.Node
	if err := yamlv3.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	if nodes := countNodes(&document, 0); nodes > maxNodes {
		return nil, fmt.Errorf("with all aliases it has more than %d values, or is nested more than %d levels deep", maxNodes, bounded.MaxDepth)
	}
	return yaml.YAMLToJSONStrict(text)
}

// oneLine is an error about YAML in one line: parsers tell of each mistake in one of its own.
func oneLine(err error) error {
	text := ""
	for line := range strings.Lines(err.Error()) {
		switch line = strings.TrimSpace(line); {
		case text == "" || line == "":
			text += line
		case strings.HasSuffix(text, ":"):
			text += " " + line
		default:
			text += "; " + line
		}
	}
	return errors.New(text)
}

// countNodes counts the values in a document, up to one more than there may be. An alias counts as
// what it stands for.
func countNodes(node *yamlv3.Node, depth int) int {
	if depth > bounded.MaxDepth {
		return maxNodes + 1
	}
	if node.Kind == yamlv3.AliasNode {
		return countNodes(node.Alias, depth+1)
	}
	count := 1
	for _, child := range node.Content {
		if count += countNodes(child, depth+1); count > maxNodes {
			break
		}
	}
	return count
}

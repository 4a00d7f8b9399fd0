package trace

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/yaml"

	"muster.dev/muster/api/bounded"
)

// IsShape reports whether a text describes nodes that are alike, as 100:cpu=64,memory=256Gi does: anything else names a file.
func IsShape(text string) bool {
	count, rest, cut := strings.Cut(text, ":")
	_, err := strconv.Atoi(count)
	return cut && err == nil && strings.Contains(rest, "=")
}

// AddShape adds nodes that are alike.
func (n *Nodes) AddShape(text string) error {
	count, rest, _ := strings.Cut(text, ":")
	number, err := whole(1, MostNodes)(count)
	if err != nil {
		return fmt.Errorf("%q: how many: %q %w", text, count, err)
	}
	has := corev1.ResourceList{corev1.ResourcePods: resource.MustParse("110")}
	given := map[string]bool{}
	for entry := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(entry, "=")
		if wrong := validation.IsQualifiedName(name); len(wrong) > 0 {
			return fmt.Errorf("%q: %q is no name of a resource: %s", text, name, wrong[0])
		}
		q, err := quantityOf(value)
		if err != nil {
			return fmt.Errorf("%q: %s: %q %w", text, name, value, err)
		}
		if given[name] {
			return fmt.Errorf("%q: %s: it is there twice", text, name)
		}
		has[corev1.ResourceName(name)], given[name] = q, true
	}
	shape := len(n.Nodes)
	for i := range number {
		err := n.add(&corev1.Node{
			ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d-%d", shape, i)}, Status: corev1.NodeStatus{Allocatable: has, Capacity: has},
		})
		if err != nil {
			return fmt.Errorf("%q: %w", text, err)
		}
	}
	return nil
}

// add adds a node. A name twice would be one node that counts as two.
func (n *Nodes) add(node *corev1.Node) error {
	switch {
	case len(n.Nodes) == MostNodes:
		return fmt.Errorf("there are more than %d nodes", MostNodes)
	case n.names.Has(node.Name):
		return fmt.Errorf("there is a node %s already", node.Name)
	}
	if n.names == nil {
		n.names = sets.New[string]()
	}
	n.names.Insert(node.Name)
	node.UID = types.UID(fmt.Sprint("node-", len(n.Nodes))) // of two dumps there may be equal ones
	n.Nodes = append(n.Nodes, node)
	return nil
}

// AddFile adds the nodes of a dump, with the pods that come with them. An error begins with the name of the file.
func (n *Nodes) AddFile(name string, text []byte) error {
	before := len(n.Nodes)
	err := eachObject(name, text, func(o object) error { return n.take(o) })
	if err == nil && len(n.Nodes) == before {
		err = fmt.Errorf("%s: there are no nodes: want a dump, as 'kubectl get nodes -o yaml' writes it, or a shape such as "+
			"100:cpu=64,memory=256Gi", name)
	}
	return err
}

// take adds an object if it is a node, or comes with one.
func (n *Nodes) take(o object) error {
	switch o.Kind {
	case "Node":
		node := &corev1.Node{}
		if err := bounded.Decode(o.text, node); err != nil {
			return err
		}
		if node.Name == "" {
			return errors.New("metadata.name: it is empty")
		}
		return n.add(node)
	case "Pod":
		pod := &corev1.Pod{}
		if err := bounded.Decode(o.text, pod); err != nil {
			return err
		}
		if stays(pod) && len(n.Stay) < MostPods {
			n.Stay = append(n.Stay, pod)
		}
	}
	return nil
}

// stays reports whether a pod comes with its node.
func stays(pod *corev1.Pod) bool {
	owner := metav1.GetControllerOfNoCopy(pod)
	runs := pod.Spec.NodeName != "" && pod.Status.Phase == corev1.PodRunning
	return runs && owner != nil && (owner.Kind == "DaemonSet" || owner.Kind == "Node")
}

// object is one of a dump.
type object struct {
	metav1.TypeMeta
	text []byte
}

// eachObject calls visit with each object of a dump: of its documents, and of the lists among them. An error names the document and
// the item.
func eachObject(name string, text []byte, visit func(object) error) error {
	if len(text) > MostBytes {
		return fmt.Errorf("%s: it has more than %d MiB", name, MostBytes>>20)
	}
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	for number := 1; ; number++ {
		var document json.RawMessage
		err := documents.Decode(&document)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = eachItem(document, visit)
		}
		if err != nil {
			return fmt.Errorf("%s: document %d: %w", name, number, err)
		}
	}
}

// eachItem calls visit with the object that a document has, or with each of a list.
func eachItem(document json.RawMessage, visit func(object) error) error {
	if text := string(bytes.TrimSpace(document)); text == "" || text == "null" {
		return nil
	}
	var list struct {
		metav1.TypeMeta
		Items []json.RawMessage `json:"items"`
	}
	if err := json.Unmarshal(document, &list); err != nil {
		return err
	}
	kind, isList := strings.CutSuffix(list.Kind, "List")
	if list.Kind == "" {
		return errors.New("kind: it is empty")
	}
	if !isList {
		list.Items = []json.RawMessage{document}
	}
	for i, item := range list.Items {
		o := object{text: item}
		err := json.Unmarshal(item, &o.TypeMeta)
		if o.Kind == "" {
			o.Kind = kind // as in a NodeList
		}
		if err == nil {
			err = visit(o)
		}
		if err != nil {
			return fmt.Errorf("object %d: %w", i+1, err)
		}
	}
	return nil
}

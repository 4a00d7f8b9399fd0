package trial

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/operators"
)

// mostPods bounds the pods that are tried at once.
const mostPods = 20_000

// batch is pods that are asked about together: the members of a gang, or all pods of an object that start one by one.
type batch struct {
	key  membership.Key
	name string // of the gang, or of the object, as in Deployment lab/web
	gang bool
	pods []*cluster.Pod
}

func (b *batch) priority() int32 { return corev1helpers.PodPriority(b.pods[0].Pod) }

// join makes one batch of this and of others whose gangs start together with it. It returns the rest of the others.
func (b *batch) join(others []batch, gangs []membership.Key) (rest []batch) {
	for _, other := range others {
		if !slices.Contains(gangs, other.key) {
			rest = append(rest, other)
			continue
		}
		b.name += " and " + other.key.String()
		b.pods = append(slices.Clone(b.pods), other.pods...)
	}
	return rest
}

// submit puts the objects of a manifest into the world, with the pods that are made of them. They go to a namespace where they name none.
// An error names the object and the field.
func (w *World) submit(manifest []byte, namespace string) ([]batch, error) {
	objects, err := objectsOf(manifest, namespace)
	if err != nil {
		return nil, err
	}
	var all []any
	of := map[string]string{} // names of the objects that pods are made for, by the pods
	for i, object := range objects {
		owner, made, err := w.owners.Make(object, int32(mostPods-len(of)))
		if err != nil {
			return nil, err
		}
		if object.Text("kind") == operators.Pod.Kind && len(made) == 0 {
			object["status"], made = map[string]any{"phase": "Pending"}, []operators.Object{object}
		} else {
			all = append(all, owner)
		}
		for _, pod := range made {
			name := types.NamespacedName{Namespace: pod.Text("metadata", "namespace"), Name: pod.Text("metadata", "name")}
			if of[name.String()] != "" || w.cluster.FindPod(name) != nil {
				return nil, fmt.Errorf("there is a pod %s already", name)
			}
			metadata := pod.Object("metadata")
			metadata["uid"] = fmt.Sprintf("try-%d-%d", i, len(of))
			metadata["creationTimestamp"] = time.Now().UTC().Format(time.RFC3339)
			of[name.String()] = fmt.Sprintf("%s %s/%s", object.Text("kind"), name.Namespace, object.Text("metadata", "name"))
			complete, err := completePod(pod)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", of[name.String()], err)
			}
			all = append(all, complete)
		}
	}
	if len(of) == 0 {
		return nil, errors.New("nothing in it makes pods: want a Pod, or an object with templates of pods, such as a Job")
	}
	return w.load(all, of)
}

// completePod returns a pod as the API server would complete it.
func completePod(object operators.Object) (*corev1.Pod, error) {
	text, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	pod := &corev1.Pod{}
	if err := json.Unmarshal(text, pod); err != nil {
		return nil, err
	}
	cluster.Complete(pod)
	return pod, nil
}

// load has the view show objects, and returns the pods among them.
func (w *World) load(objects []any, of map[string]string) ([]batch, error) {
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": objects})
	if err != nil {
		return nil, err
	}
	custom := append(w.owners.Dumped(w.cluster), w.cluster.DumpedTopologies()...)
	if _, err := w.cluster.Load([]string{"-"}, bytes.NewReader(text), custom...); err != nil {
		return nil, err
	}
	return w.batches(of)
}

// batches sorts the pods by the gangs that they are of. Pods of none are made one for each object, that starts with all of them.
func (w *World) batches(of map[string]string) ([]batch, error) {
	var batches []batch
	at, alone := map[membership.Key]int{}, map[string][]*cluster.Pod{}
	for _, pod := range w.cluster.Pending() {
		object := of[pod.FullName()]
		if object == "" {
			continue
		}
		key, member := membership.Of(pod)
		if !member {
			alone[object] = append(alone[object], pod)
			continue
		}
		if _, known := at[key]; !known {
			at[key] = len(batches)
			batches = append(batches, batch{key: key, name: "gang " + key.String(), gang: true})
		}
		batches[at[key]].pods = append(batches[at[key]].pods, pod)
	}
	for object, pods := range alone {
		joined, err := w.assemble(object, len(batches), pods)
		if err != nil {
			return nil, err
		}
		batches = append(batches, joined)
	}
	slices.SortFunc(batches, func(a, b batch) int {
		return cmp.Or(cmp.Compare(b.priority(), a.priority()), cmp.Compare(a.name, b.name))
	})
	return batches, nil
}

// assemble makes a gang of pods that start one by one, so that room is sought for all of them at once.
func (w *World) assemble(object string, number int, pods []*cluster.Pod) (batch, error) {
	name := fmt.Sprintf("muster-try-%d", number)
	b := batch{
		name: object,
		key:  membership.Key{Label: v1alpha1.LabelMuster, NamespacedName: types.NamespacedName{Namespace: pods[0].Namespace, Name: name}},
	}
	for _, pod := range pods {
		joins := pod.DeepCopy()
		metav1.SetMetaDataLabel(&joins.ObjectMeta, v1alpha1.LabelMuster, name)
		metav1.SetMetaDataAnnotation(&joins.ObjectMeta, v1alpha1.AnnotationMinMember, fmt.Sprint(len(pods)))
		joins.OwnerReferences = nil // which would say that they start one by one
		if err := w.cluster.Set(joins); err != nil {
			return batch{}, err
		}
		b.pods = append(b.pods, w.cluster.PendingPod(pod.UID))
	}
	return b, nil
}

// objectsOf returns the objects of a manifest: of its documents, and of the lists among them.
func objectsOf(manifest []byte, namespace string) (objects []operators.Object, err error) {
	documents := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096)
	for number := 1; ; number++ {
		var object operators.Object
		if err := documents.Decode(&object); errors.Is(err, io.EOF) {
			return objects, nil
		} else if err != nil {
			return nil, fmt.Errorf("document %d: %w", number, err)
		}
		if len(object) == 0 {
			continue
		}
		for at, item := range itemsOf(object) {
			if err := complete(item, namespace); err != nil {
				return nil, fmt.Errorf("document %d: object %d: %w", number, at+1, err)
			}
			objects = append(objects, item)
		}
	}
}

func itemsOf(object operators.Object) []operators.Object {
	if object.Text("kind") == "List" {
		return object.Items("items")
	}
	return []operators.Object{object}
}

// complete gives an object what the API server would.
func complete(object operators.Object, namespace string) error {
	for _, field := range []string{"apiVersion", "kind"} {
		if object.Text(field) == "" {
			return fmt.Errorf("%s: nothing, or no text", field)
		}
	}
	metadata, is := object["metadata"].(map[string]any)
	if !is {
		return errors.New("metadata: nothing, or no object")
	}
	name := cmp.Or(object.Text("metadata", "name"), object.Text("metadata", "generateName")+"try")
	metadata["name"], metadata["uid"] = name, "try-"+object.Text("kind")+"-"+name
	if object.Text("metadata", "namespace") == "" {
		metadata["namespace"] = namespace
	}
	if object.Text("spec", "nodeName") != "" {
		return errors.New("spec.nodeName: the pod has a node already, and nothing to ask about")
	}
	return nil
}

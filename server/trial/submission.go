package trial

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/kubernetes/scheme"
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

// submission is objects that are about to be put into a world.
type submission struct {
	world *World
	all   []any
	of    map[string]string // the objects that pods are made for, by the names of the pods
	there sets.Set[string]  // the names of pods that the world has
}

// submit puts the objects of a manifest into the world, with the pods that are made of them. They go to a namespace where they name none.
// An error names the object and the field.
func (w *World) submit(manifest []byte, namespace string) ([]batch, error) {
	objects, err := objectsOf(manifest, namespace)
	if err != nil {
		return nil, err
	}
	s := &submission{world: w, of: map[string]string{}, there: sets.New[string]()}
	for _, pod := range w.cluster.Pending() {
		s.there.Insert(pod.FullName())
	}
	for node := range w.cluster.Snapshot().Nodes() {
		for _, pod := range node.Pods {
			s.there.Insert(pod.FullName())
		}
	}
	slices.SortStableFunc(objects, classesFirst)
	for _, object := range objects {
		add := s.add
		if isPriorityClass(object) {
			add = w.classes.add
		}
		if err := add(object); err != nil {
			return nil, fmt.Errorf("%s: %w", nameOf(object), err)
		}
	}
	if len(s.of) == 0 {
		return nil, errors.New(
			"nothing in it makes pods: want a Pod, or an object such as a Job with a template of pods and a count above 0")
	}
	return s.load()
}

// nameOf is as in Job lab/train.
func nameOf(object operators.Object) string {
	if object.Text("metadata", "namespace") == "" {
		return object.Text("kind") + " " + object.Text("metadata", "name")
	}
	return fmt.Sprintf("%s %s/%s", object.Text("kind"), object.Text("metadata", "namespace"), object.Text("metadata", "name"))
}

// add adds an object, and the pods that are made for it.
func (s *submission) add(object operators.Object) error {
	if object.Text("kind") == "Node" {
		return errors.New("kind: nodes are those of the cluster, or of --snapshot")
	}
	if err := checkType(object); err != nil {
		return err
	}
	owner, made, err := s.world.owners.Make(object, mostPods-len(s.of))
	if err != nil {
		return err
	}
	if object.Text("kind") == operators.Pod.Kind {
		made = []operators.Object{object}
	} else {
		s.all = append(s.all, owner)
	}
	if len(s.of)+len(made) > mostPods {
		return fmt.Errorf("there are more than %d pods, and no more are looked at", mostPods)
	}
	for _, object := range made {
		pod, err := completePod(object)
		if err != nil {
			return err
		}
		if err := s.world.classes.give(pod); err != nil {
			return err
		}
		if pod.Spec.NodeName != "" {
			return errors.New("spec.nodeName: its pods have a node already, and nothing to ask about")
		}
		name := pod.Namespace + "/" + pod.Name
		if s.of[name] != "" || s.there.Has(name) {
			return fmt.Errorf("there is a pod %s already", name)
		}
		pod.UID, pod.CreationTimestamp = types.UID(fmt.Sprint("try-", len(s.of))), metav1.Now()
		pod.Status = corev1.PodStatus{Phase: corev1.PodPending}
		s.of[name] = nameOf(owner)
		s.all = append(s.all, pod)
	}
	return nil
}

// completePod returns a pod as the API server would complete it.
func completePod(object operators.Object) (*corev1.Pod, error) {
	pod := &corev1.Pod{}
	if err := decode(object, pod); err != nil {
		return nil, err
	}
	cluster.Complete(pod)
	return pod, checkRequests(pod)
}

// decode reads an object as its type has it. A field that is unknown, as a misspelled one, is an error, as with kubectl: what it was to say
// would not be asked about.
func decode(object operators.Object, into any) error {
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	known := json.NewDecoder(bytes.NewReader(text))
	known.DisallowUnknownFields()
	return known.Decode(into)
}

// checkType reports what is wrong with the fields of an object of a kind that Kubernetes has itself. Definitions of others' kinds are not
// there to check by.
func checkType(object operators.Object) error {
	typed, err := scheme.Scheme.New(schema.FromAPIVersionAndKind(object.Text("apiVersion"), object.Text("kind")))
	if runtime.IsNotRegisteredError(err) {
		return nil
	}
	if err != nil {
		return err
	}
	return decode(object, typed)
}

// checkRequests reports a request that the API server would refuse: one below nothing would make room on a node.
func checkRequests(pod *corev1.Pod) error {
	requests := map[string]corev1.ResourceList{"spec.overhead": pod.Spec.Overhead}
	if pod.Spec.Resources != nil {
		requests["spec.resources.requests"] = pod.Spec.Resources.Requests
	}
	for i := range pod.Spec.InitContainers {
		requests[fmt.Sprintf("spec.initContainers[%d].resources.requests", i)] = pod.Spec.InitContainers[i].Resources.Requests
	}
	for i := range pod.Spec.Containers {
		requests[fmt.Sprintf("spec.containers[%d].resources.requests", i)] = pod.Spec.Containers[i].Resources.Requests
	}
	for _, field := range slices.Sorted(maps.Keys(requests)) {
		for name, quantity := range requests[field] {
			if quantity.Sign() < 0 {
				return fmt.Errorf("%s: %s: %s: want 0 or more", field, name, quantity.String())
			}
		}
	}
	return nil
}

// load has the view show the objects, and returns the pods among them.
func (s *submission) load() ([]batch, error) {
	w := s.world
	text, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": s.all})
	if err != nil {
		return nil, err
	}
	custom := append(w.owners.Dumped(w.cluster), w.cluster.DumpedTopologies()...)
	if _, err := w.cluster.Load([]string{"-"}, bytes.NewReader(text), custom...); err != nil {
		return nil, err
	}
	return w.batches(s.of)
}

// batches sorts the pods by the gangs that they are of. Pods of none are made one for each object, that starts with all of them.
func (w *World) batches(of map[string]string) ([]batch, error) {
	var batches []batch
	at, alone, seen := map[membership.Key]int{}, map[string][]*cluster.Pod{}, 0
	for _, pod := range w.cluster.Pending() {
		object := of[pod.FullName()]
		if object == "" {
			continue
		}
		seen++
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
	if seen < len(of) {
		return nil, fmt.Errorf("%d of %d pods are none that muster sees wait for a node", len(of)-seen, len(of))
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
	if len(pods) > membership.MaxMembers {
		return batch{}, fmt.Errorf("%s: %d pods start one by one, and places for no more than %d are sought at once",
			object, len(pods), membership.MaxMembers)
	}
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
			if err := complete(item, namespace, len(objects)); err != nil {
				return nil, fmt.Errorf("document %d: object %d: %w", number, at+1, err)
			}
			objects = append(objects, item)
		}
	}
}

// itemsOf returns the objects of a list, or the object itself. A list of one kind need not say the kind of each.
func itemsOf(object operators.Object) []operators.Object {
	kind, list := strings.CutSuffix(object.Text("kind"), "List")
	if !list || !object.Has("items") {
		return []operators.Object{object}
	}
	items := object.Items("items")
	for _, item := range items {
		if kind != "" && item != nil && item.Text("kind") == "" {
			item["apiVersion"], item["kind"] = object["apiVersion"], kind
		}
	}
	return items
}

// isOfNoNamespace reports whether a kind of objects that is read is of the whole cluster.
func isOfNoNamespace(kind string) bool {
	return slices.Contains([]string{
		"Namespace", "Node", "PersistentVolume", "StorageClass", "CSINode", "CSIDriver", "ResourceSlice", "DeviceClass",
		"Topology", "ClusterTopology", "PriorityClass",
	}, kind)
}

// complete gives the object of a number what the API server would.
func complete(object operators.Object, namespace string, number int) error {
	for _, field := range []string{"apiVersion", "kind"} {
		if object.Text(field) == "" {
			return fmt.Errorf("%s: nothing, or no text", field)
		}
	}
	metadata, is := object["metadata"].(map[string]any)
	if !is {
		return errors.New("metadata: nothing, or no object")
	}
	metadata["name"] = cmp.Or(object.Text("metadata", "name"), fmt.Sprint(object.Text("metadata", "generateName"), "try", number))
	metadata["uid"] = fmt.Sprint("try-object-", number)
	switch {
	case isOfNoNamespace(object.Text("kind")):
		delete(metadata, "namespace")
	case object.Text("metadata", "namespace") == "":
		metadata["namespace"] = namespace
	}
	return nil
}

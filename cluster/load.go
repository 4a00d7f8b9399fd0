package cluster

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/api/bounded"
	"muster.dev/muster/api/scheduling/v1alpha1"
)

// Load sets the objects of dumps, as `kubectl get nodes,pods,… -A -o json` (or
// yaml) writes them: lists, single objects and streams of both. The path "-" is
// stdin. JSON is read item by item; a YAML document has to be held whole.
//
// Pods that finished and kinds that nobody reads are counted and left out. PodGroups are kept as [Objects.Custom]; other
// custom resources are read where custom says who takes them. An object without a namespace is in "default", and one
// without a UID gets one made of its kind, namespace and name; no other default of the API server is filled in.
//
// An error names the file, the document in it, the item and the field. Everything read before it is in the
// view.
func (c *Cluster) Load(paths []string, stdin io.Reader, custom ...CustomKind) (*Loaded, error) {
	l := &loader{
		cluster: c,
		kinds:   dumpKinds(),
		custom:  map[metav1.TypeMeta]*CustomKind{},
		loaded:  &Loaded{Objects: map[string]int{}, Skipped: map[string]int{}},
	}
	for _, one := range append(podGroups(c), custom...) {
		var kind metav1.TypeMeta
		kind.APIVersion, kind.Kind = one.Kind.ToAPIVersionAndKind()
		l.custom[kind] = &one
	}
	for _, path := range paths {
		if err := l.file(path, stdin); err != nil {
			return l.loaded, err
		}
	}
	return l.loaded, nil
}

// podGroups returns the kinds of PodGroups, which are kept.
func podGroups(c *Cluster) (kinds []CustomKind) {
	for _, resource := range v1alpha1.Resources() {
		kept := c.KeepCustom(resource)
		kinds = append(kinds, CustomKind{
			Kind: resource.GroupVersion().WithKind(v1alpha1.Kind), Resource: resource, Handler: CustomHandler{
				Trim: Trim,
				Set: func(object metav1.Object) {
					if object.GetNamespace() == "" {
						object.SetNamespace(metav1.NamespaceDefault)
					}
					kept.Set(object)
				},
			},
		})
	}
	return kinds
}

// dumpKind is how a kind that muster reads stands in a dump.
type dumpKind struct {
	object     reflect.Type
	resource   string // how it is counted
	namespaced bool
}

func dumpKinds() map[metav1.TypeMeta]dumpKind {
	return map[metav1.TypeMeta]dumpKind{
		{APIVersion: "v1", Kind: "Node"}:             {reflect.TypeFor[corev1.Node](), "nodes", false},
		{APIVersion: "v1", Kind: "Pod"}:              {reflect.TypeFor[corev1.Pod](), "pods", true},
		{APIVersion: "v1", Kind: "PersistentVolume"}: {reflect.TypeFor[corev1.PersistentVolume](), "persistentvolumes", false},
		{APIVersion: "v1", Kind: "PersistentVolumeClaim"}: {
			reflect.TypeFor[corev1.PersistentVolumeClaim](), "persistentvolumeclaims", true,
		},
		{APIVersion: "v1", Kind: "Namespace"}: {reflect.TypeFor[corev1.Namespace](), "namespaces", false},
		{APIVersion: "v1", Kind: "Service"}:   {reflect.TypeFor[corev1.Service](), "services", true},
		{APIVersion: "v1", Kind: "ReplicationController"}: {
			reflect.TypeFor[corev1.ReplicationController](), "replicationcontrollers", true,
		},
		{APIVersion: "apps/v1", Kind: "ReplicaSet"}:                 {reflect.TypeFor[appsv1.ReplicaSet](), "replicasets", true},
		{APIVersion: "apps/v1", Kind: "StatefulSet"}:                {reflect.TypeFor[appsv1.StatefulSet](), "statefulsets", true},
		{APIVersion: "batch/v1", Kind: "Job"}:                       {reflect.TypeFor[batchv1.Job](), "jobs", true},
		{APIVersion: "storage.k8s.io/v1", Kind: "StorageClass"}:     {reflect.TypeFor[storagev1.StorageClass](), "storageclasses", false},
		{APIVersion: "storage.k8s.io/v1", Kind: "CSINode"}:          {reflect.TypeFor[storagev1.CSINode](), "csinodes", false},
		{APIVersion: "storage.k8s.io/v1", Kind: "VolumeAttachment"}: {reflect.TypeFor[storagev1.VolumeAttachment](), "volumeattachments", false},
		{APIVersion: "storage.k8s.io/v1", Kind: "CSIDriver"}:        {reflect.TypeFor[storagev1.CSIDriver](), "csidrivers", false},
		{APIVersion: "resource.k8s.io/v1", Kind: "DeviceClass"}:     {reflect.TypeFor[resourcev1.DeviceClass](), "deviceclasses", false},
		{APIVersion: "resource.k8s.io/v1", Kind: "ResourceSlice"}:   {reflect.TypeFor[resourcev1.ResourceSlice](), "resourceslices", false},
		{APIVersion: "resource.k8s.io/v1", Kind: "DeviceTaintRule"}: {reflect.TypeFor[DeviceTaintRule](), "devicetaintrules", false},
		{APIVersion: "resource.k8s.io/v1", Kind: "ResourceClaim"}:   {reflect.TypeFor[resourcev1.ResourceClaim](), "resourceclaims", true},
		{APIVersion: "resource.k8s.io/v1", Kind: "ResourceClaimTemplate"}: {
			reflect.TypeFor[resourcev1.ResourceClaimTemplate](), "resourceclaimtemplates", true,
		},
		{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"}: {
			reflect.TypeFor[policyv1.PodDisruptionBudget](), "poddisruptionbudgets", true,
		},
	}
}

type loader struct {
	cluster *Cluster
	kinds   map[metav1.TypeMeta]dumpKind
	custom  map[metav1.TypeMeta]*CustomKind
	loaded  *Loaded
}

// CustomKind is a kind of a custom resource in dumps, and the function that takes its objects.
type CustomKind struct {
	Kind     schema.GroupVersionKind
	Resource schema.GroupVersionResource
	// Handler is told of every object, of nothing else. Its Trim is required.
	Handler CustomHandler
}

func (l *loader) file(path string, stdin io.Reader) error {
	if path == "-" {
		if err := l.stream(stdin); err != nil {
			return fmt.Errorf("load standard input: %w", err)
		}
		return nil
	}
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("load a dump: %w", err)
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.IsDir() {
		return fmt.Errorf("load %s: it is a directory; name the files in it", path)
	}
	if err := l.stream(file); err != nil {
		return fmt.Errorf("load %s: %w", path, err)
	}
	return nil
}

// stream reads documents: JSON values one after the other, or YAML parted by "---".
func (l *loader) stream(r io.Reader) error {
	const enoughToTell = 4096 // bytes
	r, _, isJSON := utilyaml.GuessJSONStream(r, enoughToTell)
	next := yamlDocuments(r)
	if isJSON {
		decoder := json.NewDecoder(r)
		next = func() (*json.Decoder, error) { return decoder, nil }
	}
	for n := 1; ; n++ {
		document, err := next()
		if err == nil {
			err = l.document(document)
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return fmt.Errorf("document %d: %w", n, err)
		}
	}
}

// yamlDocuments returns a function that returns the next document, as JSON.
func yamlDocuments(r io.Reader) func() (*json.Decoder, error) {
	documents := utilyaml.NewYAMLReader(bufio.NewReader(r))
	return func() (*json.Decoder, error) {
		document, err := documents.Read()
		if err != nil {
			return nil, err
		}
		if document, err = yaml.YAMLToJSON(document); err != nil {
			return nil, err
		}
		return json.NewDecoder(bytes.NewReader(document)), nil
	}
}

// document reads one object or list, or says io.EOF when there is none left.
func (l *loader) document(decoder *json.Decoder) error {
	switch start, err := decoder.Token(); {
	case err != nil:
		return err
	case start == nil: // an empty YAML document
		return nil
	case start != json.Delim('{'):
		return fmt.Errorf("it starts with %v and is no object", start)
	}
	var list itemList
	fields := map[string]json.RawMessage{}
	for decoder.More() {
		name, err := decoder.Token()
		if err != nil {
			return cut(err)
		}
		if name == "items" {
			list.meta = listMeta(fields)
			if err := l.items(decoder, &list); err != nil {
				return err
			}
			continue
		}
		var value json.RawMessage
		if err := decoder.Decode(&value); err != nil {
			return fmt.Errorf("%v: %w", name, cut(err))
		}
		fields[name.(string)] = value
	}
	if _, err := decoder.Token(); err != nil {
		return cut(err)
	}
	if !list.seen {
		object, err := json.Marshal(fields)
		if err != nil {
			return err
		}
		return l.object(object, metav1.TypeMeta{})
	}
	list.meta = listMeta(fields)
	for _, item := range list.waiting {
		if err := l.object(item.data, list.meta); err != nil {
			return fmt.Errorf("items[%d]: %w", item.at, err)
		}
	}
	return nil
}

// itemList is a list while it is read.
type itemList struct {
	seen bool
	// meta is the type of items that name none themselves.
	meta metav1.TypeMeta
	// waiting are the items that came before the list said what they are.
	waiting []waitingItem
}

type waitingItem struct {
	at   int
	data json.RawMessage
}

// listMeta returns the type of the items of a NodeList, a PodList and so on, and nothing for a plain List or a
// list whose kind is not known yet.
func listMeta(fields map[string]json.RawMessage) metav1.TypeMeta {
	var m metav1.TypeMeta
	_ = json.Unmarshal(fields["apiVersion"], &m.APIVersion)
	_ = json.Unmarshal(fields["kind"], &m.Kind)
	item, isList := strings.CutSuffix(m.Kind, "List")
	if !isList || item == "" {
		return metav1.TypeMeta{}
	}
	return metav1.TypeMeta{APIVersion: m.APIVersion, Kind: item}
}

func (l *loader) items(decoder *json.Decoder, list *itemList) error {
	list.seen = true
	switch start, err := decoder.Token(); {
	case err != nil:
		return cut(err)
	case start == nil:
		return nil
	case start != json.Delim('['):
		return fmt.Errorf("items: %v is no list", start)
	}
	var data json.RawMessage
	for at := 0; decoder.More(); at++ {
		if err := decoder.Decode(&data); err != nil {
			return fmt.Errorf("items[%d]: %w", at, cut(err))
		}
		if _, err := bounded.Length(data); err != nil {
			return fmt.Errorf("items[%d]: %w", at, err)
		}
		if list.meta.Kind == "" && typeOf(data).Kind == "" {
			list.waiting = append(list.waiting, waitingItem{at, data})
			data = nil
			continue
		}
		if err := l.object(data, list.meta); err != nil {
			return fmt.Errorf("items[%d]: %w", at, err)
		}
	}
	_, err := decoder.Token()
	return cut(err)
}

// cut is err where the end of the input is none of a document.
func cut(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Loaded says what dumps held.
type Loaded struct {
	// Objects counts what is in the view now, by resource, as in "nodes".
	Objects map[string]int
	// Skipped counts what is not, by kind, as in "ConfigMap" and "finished Pod".
	Skipped map[string]int
}

// String is for people, as in "loaded 4,000 pods, 300 nodes; skipped 12 objects:
// 10 ConfigMap, 2 Secret".
func (l *Loaded) String() string {
	said := "loaded " + cmp.Or(list(l.Objects), "nothing")
	if len(l.Skipped) > 0 {
		total := 0
		for _, n := range l.Skipped {
			total += n
		}
		said += fmt.Sprintf("; skipped %s objects: %s", thousands(total), list(l.Skipped))
	}
	return said
}

// list names counts, the greatest first.
func list(counts map[string]int) string {
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), strings.Compare(a, b))
	})
	for i, name := range names {
		names[i] = thousands(counts[name]) + " " + name
	}
	return strings.Join(names, ", ")
}

// thousands parts the digits of a number, as in 50,000.
func thousands(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

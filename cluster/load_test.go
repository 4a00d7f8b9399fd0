package cluster

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

func TestLoadReadsWhatKubectlWrites(t *testing.T) {
	c := newCluster(t)
	loaded, err := c.Load([]string{"testdata/kubectl.yaml"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := &Loaded{
		Objects: map[string]int{"nodes": 1, "pods": 2, "csinodes": 1, "jobs": 1},
		Skipped: map[string]int{"ConfigMap": 1, "finished Pod": 1},
	}
	if diff := cmp.Diff(want, loaded); diff != "" {
		t.Errorf("loaded (-want +got):\n%s", diff)
	}
	node := c.Snapshot().NodeByName("node-a")
	if len(node.Pods) != 1 || node.Requested.MilliCPU != 250 || node.CSI == nil {
		t.Errorf("the node is %+v", node)
	}
	if node.ManagedFields != nil || node.Pods[0].Spec.Containers[0].Env != nil {
		t.Error("the objects are not trimmed")
	}
	if pod := c.PendingPod("Pod/default/by-hand"); pod == nil || pod.Namespace != "default" {
		t.Errorf("the pod without UID and namespace is %v", pod)
	}
}

func TestLoadReadsEveryForm(t *testing.T) {
	node := `{"apiVersion":"v1","kind":"Node","metadata":{"name":"a"}}`
	pod := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"},"spec":{"nodeName":"a"}}`
	bare := func(object string) string {
		return strings.NewReplacer(`"apiVersion":"v1",`, "", `"kind":"Node",`, "", `"kind":"Pod",`, "").Replace(object)
	}
	tests := map[string]string{
		"a JSON list, its kind after its items": `{"apiVersion":"v1","items":[` + node + `,` + pod + `],"kind":"List","metadata":{}}`,
		"typed lists as the API server writes them": `{"kind":"NodeList","apiVersion":"v1","items":[` + bare(node) + `]}` + "\n" +
			`{"kind":"PodList","apiVersion":"v1","items":[` + bare(pod) + `]}`,
		"typed lists with their kind after their items": `{"items":[` + bare(node) + `],"apiVersion":"v1","kind":"NodeList"} ` +
			`{"items":[` + bare(pod) + `],"apiVersion":"v1","kind":"PodList"}`,
		"single JSON objects":              "\n  " + node + pod,
		"a list without items and objects": `{"kind":"PodList","apiVersion":"v1","items":null}` + pod + node,
		"YAML documents": "apiVersion: v1\nkind: Node\nmetadata: {name: a}\n---\n" +
			"kind: PodList\napiVersion: v1\nitems:\n- metadata: {name: p}\n  spec: {nodeName: a}\n",
		"YAML with empty documents and comments": "---\n# nothing\n---\napiVersion: v1\nkind: Node\nmetadata: {name: a}\n" +
			"---\n\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {nodeName: a}\n---\n",
		"a YAML list in flow style": "# JSON is YAML\n{kind: List, apiVersion: v1, items: [" + node + ", " + pod + "]}",
	}
	for name, dump := range tests {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t)
			loaded, err := c.Load([]string{"-"}, strings.NewReader(dump))
			if err != nil {
				t.Fatal(err)
			}
			if got, want := loaded.String(), "loaded 1 nodes, 1 pods"; got != want {
				t.Errorf("%s, want %s", got, want)
			}
			if a := c.Snapshot().NodeByName("a"); a == nil || len(a.Pods) != 1 {
				t.Errorf("the node is %v", a)
			}
		})
	}
}

func TestLoadReadsEveryKind(t *testing.T) {
	c := newCluster(t)
	var dump strings.Builder
	for _, kind := range objectKinds() {
		object := kind.make("x")
		object.SetNamespace("")
		types, _, err := scheme.Scheme.ObjectKinds(object)
		if err != nil {
			t.Fatal(err)
		}
		object.GetObjectKind().SetGroupVersionKind(types[0])
		if err := json.NewEncoder(&dump).Encode(object); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Load([]string{"-"}, strings.NewReader(dump.String())); err != nil {
		t.Fatal(err)
	}
	for _, kind := range objectKinds() {
		if kind.in(c.Snapshot().Objects)[key(kind.make("x"))] == nil {
			t.Errorf("the view has no %s", kind.name)
		}
	}
}

func TestLoadReadsManyFiles(t *testing.T) {
	nodes, pods := filepath.Join(t.TempDir(), "nodes.json"), filepath.Join(t.TempDir(), "pods.yaml")
	write(t, nodes, `{"kind":"Node","apiVersion":"v1","metadata":{"name":"a"}}`)
	write(t, pods, "kind: Pod\napiVersion: v1\nmetadata: {name: p}\nspec: {nodeName: a}\n")
	c := newCluster(t)
	if _, err := c.Load([]string{pods, "-", nodes}, strings.NewReader("kind: Service\napiVersion: v1\nmetadata: {name: s}\n")); err != nil {
		t.Fatal(err)
	}
	snap := c.Snapshot()
	if len(snap.NodeByName("a").Pods) != 1 || snap.Services.Len() != 1 {
		t.Errorf("node a has %v, and there are %d services", snap.NodeByName("a").Pods, snap.Services.Len())
	}
}

func TestLoadSaysWhatIsWrongAndWhere(t *testing.T) {
	tests := []struct {
		name string
		dump string
		want []string
	}{
		{
			name: "a quantity in an item of a list",
			dump: `{"kind":"List","apiVersion":"v1","items":[
				{"kind":"Node","apiVersion":"v1","metadata":{"name":"a"}},
				{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","namespace":"shop"},
					"spec":{"containers":[{"name":"x"},{"name":"y","resources":{"requests":{"memory":"much"}}}]}}]}`,
			want: []string{"document 1: items[1]: Pod shop/p: spec.containers[1].resources.requests[memory]: ", "quantities must match"},
		},
		{
			name: "a quantity that takes for ever to read",
			dump: `{"kind":"Node","apiVersion":"v1","metadata":{"name":"a"},"status":{"capacity":{"cpu":"1e-2147483648"}}}`,
			want: []string{`document 1: Node a: status.capacity[cpu]: "1e-2147483648" has an exponent of 10 digits`},
		},
		{
			name: "an item that is nested without end",
			dump: `{"kind":"List","items":[{"kind":"Node","apiVersion":"v1","metadata":` + strings.Repeat("[", 200) +
				strings.Repeat("]", 200) + `}]}`,
			want: []string{"document 1: items[0]: objects and lists are nested more than 100 levels deep"},
		},
		{
			name: "a time that is none",
			dump: `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p","creationTimestamp":"noon"}}`,
			want: []string{`Pod p: metadata.creationTimestamp: parsing time "noon"`},
		},
		{
			name: "a type in the second YAML document",
			dump: "kind: Node\napiVersion: v1\nmetadata: {name: a}\n---\nkind: Node\napiVersion: v1\nmetadata: {name: b, labels: {zone: [1]}}\n",
			want: []string{"document 2: Node b: metadata.labels[zone]: ", "must be a string, and is array"},
		},
		{
			name: "a volume, which is inlined",
			dump: `{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"},"spec":{"volumes":[{"name":"v","hostPath":{"path":7}}]}}`,
			want: []string{"Pod p: spec.volumes[0].hostPath.path: ", "must be a string, and is number"},
		},
		{
			name: "an object without a kind",
			dump: `{"metadata":{"name":"a"}}`,
			want: []string{"document 1: kind: it is missing"},
		},
		{
			name: "an item without a kind in a plain list",
			dump: `{"items":[{"kind":"Node","apiVersion":"v1","metadata":{"name":"a"}},{"metadata":{"name":"b"}}],"kind":"List"}`,
			want: []string{"document 1: items[1]: kind: it is missing"},
		},
		{
			name: "an object without a name",
			dump: `{"kind":"Node","apiVersion":"v1"}`,
			want: []string{"Node: metadata.name: it is missing"},
		},
		{
			name: "JSON cut off in an item",
			dump: `{"kind":"List","items":[{"kind":"Node","apiVersion":"v1","metadata":{"name":"a"}},{"kind":"No`,
			want: []string{"items[1]: unexpected EOF"},
		},
		{
			name: "JSON cut off between items",
			dump: `{"kind":"List","items":[{"kind":"Node","apiVersion":"v1","metadata":{"name":"a"}}`,
			want: []string{"document 1: unexpected EOF"},
		},
		{
			name: "JSON cut off in an object",
			dump: `{"kind":"Node","apiVersion":`,
			want: []string{"document 1: apiVersion: unexpected EOF"},
		},
		{
			name: "JSON that goes wrong in the second document",
			dump: `{"kind":"Node","apiVersion":"v1","metadata":{"name":"a"}} nonsense`,
			want: []string{"document 2: invalid character"},
		},
		{
			name: "items that are no list",
			dump: `{"kind":"List","items":7}`,
			want: []string{"document 1: items: 7 is no list"},
		},
		{
			name: "a YAML document that is no object",
			dump: "- a\n- b\n",
			want: []string{"document 1: it starts with ["},
		},
		{
			name: "YAML that is none",
			dump: "a: b: c\n",
			want: []string{"document 1: ", "mapping values are not allowed"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "dump")
			write(t, path, test.dump)
			_, err := newCluster(t).Load([]string{path}, nil)
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range append(test.want, "load "+path+": ") {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		})
	}
}

func TestLoadRefusesADirectoryAndAMissingFile(t *testing.T) {
	dir := t.TempDir()
	if _, err := newCluster(t).Load([]string{dir}, nil); err == nil || !strings.Contains(err.Error(), "directory") {
		t.Errorf("a directory: %v", err)
	}
	if _, err := newCluster(t).Load([]string{filepath.Join(dir, "none")}, nil); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file: %v", err)
	}
}

func TestLoadedIsSaidInOneLine(t *testing.T) {
	tests := []struct {
		name   string
		loaded Loaded
		want   string
	}{
		{"nothing at all", Loaded{}, "loaded nothing"},
		{"objects only", Loaded{Objects: map[string]int{"nodes": 300, "pods": 4000}}, "loaded 4,000 pods, 300 nodes"},
		{
			"objects and others",
			Loaded{Objects: map[string]int{"pods": 1234567}, Skipped: map[string]int{"Foo": 2, "ConfigMap": 10}},
			"loaded 1,234,567 pods; skipped 12 objects: 10 ConfigMap, 2 Foo",
		},
		{"others only", Loaded{Skipped: map[string]int{"Foo": 2}}, "loaded nothing; skipped 2 objects: 2 Foo"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := test.loaded.String(); got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}

// A list is read item by item: what is held is the view and little more.
func BenchmarkLoad(b *testing.B) {
	const nodes, podsPerNode = 500, 10
	dump := dumpOf(b, nodes, podsPerNode)
	b.SetBytes(int64(len(dump)))
	b.ReportAllocs()
	for b.Loop() {
		c := newCluster(b)
		if _, err := c.Load([]string{"-"}, bytes.NewReader(dump)); err != nil {
			b.Fatal(err)
		}
	}
}

func dumpOf(t testing.TB, nodes, podsPerNode int) []byte {
	t.Helper()
	list := struct {
		metav1.TypeMeta
		Items []any `json:"items"`
	}{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}}
	for n := range nodes {
		node := nodeObject(fmt.Sprint("node-", n))
		node.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}
		list.Items = append(list.Items, node)
		for p := range podsPerNode {
			pod := podObject(fmt.Sprint(node.Name, "-pod-", p), onNode(node.Name), func(p *corev1.Pod) {
				p.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "A", Value: strings.Repeat("x", 4000)}}
			})
			pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
			list.Items = append(list.Items, pod)
		}
	}
	dump, err := json.Marshal(list)
	if err != nil {
		t.Fatal(err)
	}
	return dump
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

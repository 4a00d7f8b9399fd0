package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

// listing returns a Topology in YAML with levels as an API server may keep them.
func listing(apiVersion, name, levels string) string {
	return fmt.Sprintf(
		"apiVersion: %s\nkind: Topology\nmetadata: {name: %s, labels: {a: b}}\nspec: {levels: %s}\n---\n",
		apiVersion,
		name,
		levels,
	)
}

func TestTopologiesAreReducedToTheirLevels(t *testing.T) {
	many := "[" + strings.Repeat("{nodeLabel: a},", mostLevels+1) + "]"
	dump := filepath.Join(t.TempDir(), "dump.yaml")
	text := listing("kueue.x-k8s.io/v1beta2", "new", "[{nodeLabel: example.com/block}, {nodeLabel: kubernetes.io/hostname}]") +
		listing("kueue.x-k8s.io/v1alpha1", "old", "[{nodeLabel: rack}]") +
		listing("kai.scheduler/v1alpha1", "new", "[{nodeLabel: example.com/rack, alias: rack}]") +
		listing("kai.scheduler/v1alpha1", "no-key", "[{nodeLabel: rack}, {nodeLabel: no key}]") +
		listing("kai.scheduler/v1alpha1", "no-alias", "[{nodeLabel: rack, alias: no key}]") +
		listing("kai.scheduler/v1alpha1", "no-list", "rack") + listing("kai.scheduler/v1alpha1", "no-objects", "[rack]") +
		listing("kai.scheduler/v1alpha1", "many", many) + listing("example.com/v1", "other", "[{nodeLabel: rack}]")
	if err := os.WriteFile(dump, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c := newCluster(t)
	if _, err := c.Load([]string{dump}, nil, c.DumpedTopologies()...); err != nil {
		t.Fatal(err)
	}
	want := map[TopologyName][]v1alpha1.TopologyLevel{
		{v1alpha1.GroupKueue, "new"}:      {{Key: "example.com/block"}, {Key: "kubernetes.io/hostname"}},
		{v1alpha1.GroupKueue, "old"}:      {{Key: "rack"}},
		{v1alpha1.GroupKAI, "new"}:        {{Key: "example.com/rack", Alias: "rack"}},
		{v1alpha1.GroupKAI, "no-key"}:     nil,
		{v1alpha1.GroupKAI, "no-alias"}:   nil,
		{v1alpha1.GroupKAI, "no-list"}:    nil,
		{v1alpha1.GroupKAI, "no-objects"}: nil,
		{v1alpha1.GroupKAI, "many"}:       nil,
	}
	got := map[TopologyName][]v1alpha1.TopologyLevel{}
	for name, topology := range c.Snapshot().Topologies.All() {
		got[name] = topology.Levels
		if len(topology.Labels) > 0 {
			t.Errorf("labels of %v are kept", name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("topologies (-want +got):\n%s", diff)
	}
}

func TestTopologiesComeAndGo(t *testing.T) {
	c := newCluster(t)
	shows := func(name string, version, level string) (handled map[string]CustomHandler, object metav1.Object) {
		handled = map[string]CustomHandler{}
		for resource, handler := range c.HandledTopologies() {
			handled[resource.Group] = handler
		}
		trimmed, err := handled[v1alpha1.GroupKAI].Trim(&unstructured.Unstructured{Object: map[string]any{
			"metadata": map[string]any{"name": name, "resourceVersion": version},
			"spec":     map[string]any{"levels": []any{map[string]any{"nodeLabel": level}}},
		}})
		if err != nil {
			t.Fatal(err)
		}
		return handled, trimmed.(metav1.Object)
	}
	generation := c.Snapshot().Generation
	expect := func(what string, changed bool, want string) {
		t.Helper()
		got := ""
		for name, topology := range c.Snapshot().Topologies.All() {
			got += name.Name + ":" + topology.Levels[0].Key
		}
		now := c.Snapshot().Generation
		if got != want || (now != generation) != changed {
			t.Errorf("%s: there are %q, want %q; the generation went from %d to %d", what, got, want, generation, now)
		}
		generation = now
	}
	handled, object := shows("n", "1", "rack")
	ofKAI := handled[v1alpha1.GroupKAI]
	ofKAI.Set(object)
	expect("one comes", true, "n:rack")
	_, object = shows("n", "2", "rack")
	ofKAI.Set(object)
	expect("it is written and says the same", false, "n:rack")
	_, object = shows("n", "3", "block")
	ofKAI.Set(object)
	expect("it changes", true, "n:block")
	handled[v1alpha1.GroupKueue].Drop()
	expect("another kind goes", false, "n:block")
	ofKAI.Delete(object)
	expect("it goes", true, "")
	ofKAI.Set(object)
	expect("it is back", true, "n:block")
	ofKAI.Drop()
	expect("its kind goes", true, "")
	if again, err := ofKAI.Trim(object); err != nil || again != object {
		t.Errorf("it is reduced twice: %v, %v", again, err)
	}
}

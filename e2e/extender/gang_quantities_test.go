package extender_test

import (
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// endless are quantities that take for ever, or long, to parse.
var endless = map[string]string{"e": "1e-2147483648", "d": "1e-30000000", "c": strings.Repeat("1", 65)}

// asksFor makes a PodGroup ask for some cpu.
func (c *cluster) asksFor(group *unstructured.Unstructured, cpu string) {
	c.Helper()
	c.Must(unstructured.SetNestedStringMap(group.Object, map[string]string{"cpu": cpu}, "spec", "minResources"))
}

func TestTheAPIServerRefusesQuantitiesThatTakeLongToParse(t *testing.T) {
	c := newCluster(t)
	c.createPodGroups(workload.NewPodGroup("well", 1)) // the CRDs are served now
	for _, apiGroup := range []string{v1alpha1.GroupX, v1alpha1.GroupSigs} {
		for name, cpu := range endless {
			group := workload.NewPodGroup(name, 1)
			group.SetAPIVersion(apiGroup + "/" + v1alpha1.Version)
			c.asksFor(group, cpu)
			_, err := c.podGroups(group).Create(t.Context(), group, metav1.CreateOptions{})
			if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "spec.minResources.cpu") {
				t.Errorf("a PodGroup of %s that asks for %.20s is answered with %v, want that spec.minResources.cpu is invalid", apiGroup, cpu, err)
			}
		}
	}
}

func TestAClusterWhoseCRDBoundsNothingIsServedAllTheSame(t *testing.T) {
	c := newCluster(t, workload.NewNodes("node", 3, "4")...)
	c.createPodGroups(workload.NewPodGroup("well", 2))
	c.unbound()
	for name, cpu := range endless {
		group := workload.NewPodGroup(name, 2)
		c.asksFor(group, cpu)
		c.createPodGroups(group)
	}
	w := c.serveAndSchedule(muster.Options{}).watch()
	for name := range endless {
		c.createPods(workload.NewMembers(name, 2, "1")...)
	}
	c.createPods(workload.NewMembers("well", 2, "1")...)
	w.settles(exactly(map[string]int{"well": 2}))
	for name, cpu := range endless {
		c.awaitEvent(c.Pod(name+"-0").UID, "3 gang: its PodGroup is not valid")
		const wrong = "spec.minResources[cpu]: Invalid value"
		if page, err := w.Page(w.Context(), "/debug/gangs/"+workload.Namespace+"/"+name); err != nil || !strings.Contains(page, wrong) {
			t.Errorf("/debug/gangs/…/%s says %q (error %v), want %q in it", name, page, err, wrong)
		}
		if _, err := w.Filter(w.Context(), c.Pod(name+"-0"), "node-00", "node-01"); err != nil {
			t.Errorf("the members of the group that asks for %.20s: %v", cpu, err)
		}
	}
}

// unbound takes from the CRD of PodGroups what it says of quantities: it is then as muster's was, and as others' are. No
// other test gets the control plane.
func (c *cluster) unbound() {
	c.Helper()
	c.Discard()
	definitions := c.Dynamic.
		Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	name := v1alpha1.ResourceOf(v1alpha1.GroupX).GroupResource().String()
	definition, err := definitions.Get(c.Context(), name, metav1.GetOptions{})
	c.Must(err)
	versions, _, _ := unstructured.NestedSlice(definition.Object, "spec", "versions")
	for _, version := range versions {
		spec := []string{"schema", "openAPIV3Schema", "properties", "spec", "properties", "minResources", "additionalProperties"}
		for _, field := range []string{"pattern", "maxLength"} {
			path := append(slices.Clone(spec), field)
			if _, found, _ := unstructured.NestedFieldNoCopy(version.(map[string]any), path...); !found {
				c.Errorf("the CRD has no %s for quantities", field)
			}
			unstructured.RemoveNestedField(version.(map[string]any), path...)
		}
	}
	c.Must(unstructured.SetNestedSlice(definition.Object, versions, "spec", "versions"))
	_, err = definitions.Update(c.Context(), definition, metav1.UpdateOptions{})
	c.Must(err)
	probe := workload.NewPodGroup("probe", 1)
	c.asksFor(probe, endless["c"])
	c.Eventually("the API server takes any quantity", func() error {
		_, err := c.podGroups(probe).Create(c.Context(), probe, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	})
}

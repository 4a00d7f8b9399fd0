package chart

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/lab"
)

// Three API groups have PodGroups, Kubernetes' own among them, and kubectl takes one of them for "podgroups".
func TestKubectlFindsPodGroupsOfAnyAPIGroup(t *testing.T) {
	release, err := binaries.Chosen()
	if err != nil {
		t.Fatal(err)
	}
	native := controlplane.NativeGangsOf(release)
	c := &cluster{Lab: lab.Take(t, lab.Options{Options: controlplane.Options{APIServerFlags: native.APIServerFlags()}, CRDs: true})}
	c.Discard()
	for _, group := range []string{v1alpha1.GroupX, v1alpha1.GroupSigs} {
		t.Run(group, func(t *testing.T) {
			c := c.of(t)
			groups := c.Dynamic.Resource(v1alpha1.ResourceOf(group)).Namespace(metav1.NamespaceDefault)
			_, err := groups.Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
				"apiVersion": v1alpha1.ResourceOf(group).GroupVersion().String(), "kind": v1alpha1.Kind,
				"metadata": map[string]any{"name": "llm"}, "spec": map[string]any{"minMember": int64(2)},
			}}, metav1.CreateOptions{})
			c.Must(err)
			for command, want := range map[string]string{
				"get gangs --no-headers":                                "podgroup." + group + "/llm 2",
				"get gangs --field-selector metadata.name=llm -o name":  "podgroup." + group + "/llm",
				"get gangs --field-selector metadata.name=tiny -o name": "",
				"get nodes,pods,gangs -A -o name":                       "podgroup." + group + "/llm",
				"get podgroups." + group + " -o name":                   "podgroup." + group + "/llm",
			} {
				out, err := said(t.Context(), c.kubectl(), append([]string{"--kubeconfig=" + c.Kubeconfig()}, strings.Fields(command)...)...)
				c.Must(err)
				if got := strings.Join(strings.Fields(out), " "); got != want && !strings.HasPrefix(got, want+" ") {
					t.Errorf("kubectl %s says %q, want %q", command, out, want)
				}
			}
			c.Must(groups.Delete(t.Context(), "llm", metav1.DeleteOptions{}))
		})
	}
}

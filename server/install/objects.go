package install

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/charts"
	"muster.dev/muster/charts/helm"
)

// object is one that is installed in the cluster.
type object struct {
	*unstructured.Unstructured
	why  string // it is there
	text string // with the comments of the chart
}

func (o *object) String() string { return nameOf(o.Unstructured) }

// nameOf names an object as in 'Role kube-system/muster'.
func nameOf(o *unstructured.Unstructured) string {
	name := o.GetName()
	if o.GetNamespace() != "" {
		name = o.GetNamespace() + "/" + name
	}
	return o.GetKind() + " " + name
}

// whys says why templates of the chart are filled in. Others of its templates make nothing here.
func whys() map[string]string {
	return map[string]string{
		"rbac.yaml":            "What muster may do, and its Lease.",
		"rbac-scheduler.yaml":  "What the kube-scheduler beside muster may do: what Kubernetes grants its own, and a Lease.",
		"rbac-people.yaml":     "What Kubernetes' roles for people gain: PodGroups, Questions, and what is planned.",
		"accountpolicy.yaml":   "What the account of muster may change of pods and nodes, which a role cannot tell apart.",
		"recordpolicy.yaml":    "Keeps what muster records on PodGroups from being forged.",
		"gatepolicy.yaml":      "Gates members of gangs when they are created: muster lifts the gates.",
		"schedulerpolicy.yaml": "Sets the schedulerName of pods when they are created, by their namespace or kind.",
		"serviceaccount.yaml":  "The account of muster's pod.",
		"configmap.yaml":       "muster's configuration.",
		"flowschema.yaml":      "Has the API server serve muster as it serves the cluster's own components.",
		"deployment.yaml":      "muster, and a stock kube-scheduler that asks it, in one pod.",
	}
}

// hosted are the templates that are for a muster in static pods: what it may do.
func hosted() []string {
	return []string{"rbac.yaml", "rbac-people.yaml", "accountpolicy.yaml", "recordpolicy.yaml", "gatepolicy.yaml", "schedulerpolicy.yaml"}
}

// objectsOf returns the objects of a way, in the order in which they are applied.
func objectsOf(way Way, release helm.Release) ([]object, error) {
	objects, err := definitions()
	if err != nil {
		return nil, err
	}
	rendered, err := helm.Render(release)
	if err != nil {
		return nil, fmt.Errorf("fill in the chart: %w", err)
	}
	for _, name := range slices.Sorted(maps.Keys(rendered)) {
		if way != Managed && !slices.Contains(hosted(), name) {
			continue
		}
		made, err := read(whys()[name], rendered[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		objects = append(objects, made...)
	}
	objects = slices.DeleteFunc(objects, func(o object) bool { return o.GetAnnotations()["helm.sh/hook"] != "" }) // for Helm's uninstalling
	slices.SortStableFunc(objects, func(a, b object) int { return cmp.Compare(turn(a.GetKind()), turn(b.GetKind())) })
	return objects, nil
}

// turn is when objects of a kind are applied: what others need comes first, and what runs comes last.
func turn(kind string) int {
	order := []string{"CustomResourceDefinition", "ServiceAccount", "ConfigMap", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}
	switch at := slices.Index(order, kind); {
	case at >= 0:
		return at
	case kind == "Deployment":
		return len(order) + 1
	}
	return len(order)
}

// definitions are the chart's.
func definitions() (all []object, err error) {
	texts := charts.Texts("crds/*.yaml")
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		made, err := read("A kind of objects. One that another project has brought is left alone.", texts[name])
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, made...)
	}
	return all, nil
}

// read reads the objects of a text.
func read(why, text string) (objects []object, err error) {
	for document := range strings.SplitSeq("\n"+text, "\n---\n") {
		data, err := yaml.YAMLToJSON([]byte(document))
		if err != nil {
			return nil, err
		}
		if string(data) == "null" {
			continue // comments
		}
		read := &unstructured.Unstructured{}
		if err := read.UnmarshalJSON(data); err != nil {
			return nil, err
		}
		objects = append(objects, object{read, why, strings.TrimPrefix(strings.Trim(document, "\n"), "---\n") + "\n"})
	}
	return objects, nil
}

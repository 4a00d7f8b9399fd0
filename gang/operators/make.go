package operators

import (
	"errors"
	"fmt"
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// errPerNode says why pods of a DaemonSet are not made.
var errPerNode = errors.New("a DaemonSet has a pod on each node that will have it: 'muster explain -f' tells on which nodes one fits")

// Make returns an object as its controller reads it, and the pods that are made for it at once, as they wait to be placed: with their
// owner and the labels by which they are found. A CronJob is the next of its Jobs, and a RayJob its RayCluster. It returns no pods for an
// object without templates, or that asks for none. The object has a kind and a name; more than most pods are an error.
func (s *Set) Make(object Object, most int) (owner Object, pods []Object, err error) {
	if object.Text("kind") == "DaemonSet" {
		return nil, nil, errPerNode
	}
	kind := s.makers[object.groupKind()]
	if kind != nil && kind.Makers[object.groupKind()] != nil {
		object = kind.Makers[object.groupKind()](object)
	}
	copies, labels := Copies, ofDeployment
	if kind != nil && kind.Copies != nil {
		copies = kind.Copies
	}
	if kind != nil && kind.Dress != nil {
		labels = kind.Dress
	}
	templates, total := templatesIn(map[string]any(object), Template{Pods: 1}, copies), int32(0)
	for i := range templates {
		if total = Sum(total, templates[i].Pods); int(total) > most {
			return nil, nil, fmt.Errorf("%d pods are made, and no more than %d are looked at", total, most)
		}
	}
	for i := range templates {
		for number := range templates[i].Pods {
			pod := templates[i].pod(object)
			pod.Object("metadata")["name"] = fmt.Sprintf("%s-%d-%d", object.Text("metadata", "name"), i, number)
			dress(pod, labels(object, &templates[i], number))
			pods = append(pods, pod)
		}
	}
	return object, pods, nil
}

func (o Object) groupKind() schema.GroupKind {
	version, _ := schema.ParseGroupVersion(o.Text("apiVersion"))
	return version.WithKind(o.Text("kind")).GroupKind()
}

// ofDeployment returns the label by which a Deployment tells pods of its revisions apart.
func ofDeployment(object Object, _ *Template, _ int32) map[string]string {
	if object.Text("kind") != "Deployment" {
		return nil
	}
	return map[string]string{appsv1.DefaultDeploymentUniqueLabelKey: "new"}
}

// pod returns a pod of a template for an object.
func (t *Template) pod(of Object) Object {
	metadata := map[string]any{"namespace": of.Text("metadata", "namespace")}
	for _, field := range []string{"labels", "annotations"} {
		if given := t.Pod.Object("metadata", field); given != nil {
			metadata[field] = map[string]any(maps.Clone(given))
		}
	}
	metadata["ownerReferences"] = []any{map[string]any{
		"apiVersion": of.Text("apiVersion"), "kind": of.Text("kind"), "name": of.Text("metadata", "name"), "uid": of.Text("metadata", "uid"),
		"controller": true,
	}}
	return Object{
		"apiVersion": corev1.SchemeGroupVersion.String(), "kind": Pod.Kind, "metadata": metadata, "spec": t.Pod["spec"],
	}
}

// dress puts labels on a pod.
func dress(pod Object, labels map[string]string) {
	if len(labels) == 0 {
		return
	}
	metadata := pod.Object("metadata")
	on, _ := metadata["labels"].(map[string]any)
	if on == nil {
		on = map[string]any{}
		metadata["labels"] = on
	}
	for name, value := range labels {
		on[name] = value
	}
}

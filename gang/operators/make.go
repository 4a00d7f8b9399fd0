package operators

import (
	"errors"
	"fmt"
	"maps"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// errPerNode says why pods of a DaemonSet are not made.
var errPerNode = errors.New("a DaemonSet has a pod on each node that will have it: 'muster explain -f' tells on which nodes one fits")

// Make returns an object as its controller reads it, and the pods that are made for it at once, as they wait to be placed: with their
// owner and the labels by which they are found. A CronJob is the next of its Jobs. It returns no pods for an object without templates.
// The object has a kind and a name; more than most pods are an error.
func (s *Set) Make(object Object, most int) (owner Object, pods []Object, err error) {
	switch object.Text("kind") {
	case "CronJob":
		object = jobOf(object)
	case "DaemonSet":
		return nil, nil, errPerNode
	}
	templates := Templates(object)
	if len(templates) == 0 {
		return object, nil, nil
	}
	group, _ := schema.ParseGroupVersion(object.Text("apiVersion"))
	kind, total := s.owners[group.WithKind(object.Text("kind")).GroupKind()], int32(0)
	for i := range templates {
		if total = Sum(total, templates[i].Pods); int(total) > most {
			return nil, nil, fmt.Errorf("%d pods are made, and no more than %d are looked at", total, most)
		}
	}
	for i := range templates {
		for number := range templates[i].Pods {
			pod := templates[i].pod(object)
			pod.Object("metadata")["name"] = fmt.Sprintf("%s-%d-%d", object.Text("metadata", "name"), i, number)
			if kind != nil && kind.Dress != nil {
				dress(pod, kind.Dress(object, &templates[i], number))
			}
			pods = append(pods, pod)
		}
	}
	return object, pods, nil
}

// jobOf returns the next Job of a CronJob, which has no name of its own yet.
func jobOf(cron Object) Object {
	template := cron.Object("spec", "jobTemplate")
	metadata := maps.Clone(template.Object("metadata"))
	if metadata == nil {
		metadata = Object{}
	}
	for _, field := range []string{"name", "namespace", "uid"} {
		metadata[field] = cron.Object("metadata")[field]
	}
	return Object{
		"apiVersion": batchv1.SchemeGroupVersion.String(), "kind": Job.Kind, "metadata": map[string]any(metadata), "spec": template["spec"],
	}
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

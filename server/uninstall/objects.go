package uninstall

import (
	"context"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	explanationv1alpha1 "muster.dev/muster/api/explanation/v1alpha1"
	reschedulingv1alpha1 "muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/api/scheduling/v1alpha1"
	slov1alpha1 "muster.dev/muster/api/slo/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/rescheduler/scaleup"
	"muster.dev/muster/server/install"
)

// own is the label of what is installed, whatever installs it.
const own = "app.kubernetes.io/name in (muster, muster-rescheduler, muster-release)"

// domain is in the text of all that muster's policies say.
const domain = "muster.dev/"

func admission(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: resource}
}

// listed returns the objects of a kind, none where it is not served.
func (f *finder) listed(resource schema.GroupVersionResource, options metav1.ListOptions) ([]unstructured.Unstructured, error) {
	list, err := f.Dynamic.Resource(resource).List(f.ctx, options)
	if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", resource.GroupResource(), err)
	}
	return list.Items, nil
}

// deletion deletes an object, if it is still the one that was found.
func (f *finder) deletion(resource schema.GroupVersionResource, object metav1.Object) func(context.Context) error {
	return func(ctx context.Context) error {
		return f.Dynamic.Resource(resource).Namespace(object.GetNamespace()).Delete(ctx, object.GetName(), metav1.DeleteOptions{
			Preconditions: metav1.NewUIDPreconditions(string(object.GetUID())), PropagationPolicy: new(metav1.DeletePropagationBackground),
		})
	}
}

// addObject adds an object of an installation, which a release of Helm keeps.
func (f *finder) addObject(stage stage, resource schema.GroupVersionResource, object *unstructured.Unstructured) {
	name := object.GetKind() + " " + fullName(object)
	if release := object.GetAnnotations()[install.HelmRelease]; release != "" {
		f.keep(stage, "of the Helm release "+release+": helm uninstall "+release, "%s", name)
		return
	}
	f.add(stage, f.deletion(resource, object), "%s", name)
}

// fullName is a name below a namespace, if there is one.
func fullName(object metav1.Object) string {
	if object.GetNamespace() == "" {
		return object.GetName()
	}
	return object.GetNamespace() + "/" + object.GetName()
}

// policies are found by what they say, as commands print them without labels.
func (f *finder) policies() error {
	for _, resource := range []string{"mutatingadmissionpolicies", "validatingadmissionpolicies"} {
		found, err := f.listed(admission(resource), metav1.ListOptions{})
		if err != nil {
			return err
		}
		var names []string
		for i := range found {
			if isOwnPolicy(&found[i]) {
				names = append(names, found[i].GetName())
				f.addObject(policies, admission(resource), &found[i])
			}
		}
		bindings := admission(strings.TrimSuffix(resource, "ies") + "ybindings")
		bound, err := f.listed(bindings, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for i := range bound {
			policy, _, _ := unstructured.NestedString(bound[i].Object, "spec", "policyName")
			orphaned := bound[i].GetLabels()["app.kubernetes.io/name"] == "muster"
			if orphaned || slices.Contains(names, policy) {
				f.addObject(policies, bindings, &bound[i])
			}
		}
	}
	return nil
}

func isOwnPolicy(object *unstructured.Unstructured) bool {
	if object.GetLabels()["app.kubernetes.io/name"] == "muster" {
		return true
	}
	spec, _ := (&unstructured.Unstructured{Object: map[string]any{"kind": "Policy", "spec": object.Object["spec"]}}).MarshalJSON()
	named := object.GetName() == "muster" || strings.HasPrefix(object.GetName(), "muster-")
	return named && strings.Contains(string(spec), domain)
}

func (f *finder) webhooks() error {
	found, err := f.listed(admission("mutatingwebhookconfigurations"), metav1.ListOptions{})
	for i := range found {
		hooks, _, _ := unstructured.NestedSlice(found[i].Object, "webhooks")
		others := slices.ContainsFunc(hooks, func(hook any) bool {
			name, _ := hook.(map[string]any)["name"].(string)
			return !strings.HasSuffix(name, ".muster.dev")
		})
		if len(hooks) > 0 && !others {
			f.addObject(policies, admission("mutatingwebhookconfigurations"), &found[i])
		}
	}
	return err
}

// installed are objects with the labels of an installation, of whatever kind.
func (f *finder) installed() error {
	_, lists, err := f.Client.Discovery().ServerGroupsAndResources()
	if len(lists) == 0 {
		return fmt.Errorf("ask which kinds there are: %w", err)
	} // else groups that are away have nothing of muster's
	seen := map[string]bool{}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for i := range list.APIResources {
			kind := &list.APIResources[i]
			resource := version.WithResource(kind.Name)
			if seen[resource.GroupResource().String()] || !mayBeInstalled(resource, kind.Verbs) {
				continue
			}
			seen[resource.GroupResource().String()] = true
			if err := f.ofKind(resource); err != nil {
				return err
			}
		}
	}
	return nil
}

// mayBeInstalled reports whether people make objects of a kind. Others are made of these, are looked at elsewhere, or pass by themselves.
func mayBeInstalled(resource schema.GroupVersionResource, verbs metav1.Verbs) bool {
	switch resource.GroupResource().String() {
	case "events", "events.events.k8s.io", "replicasets.apps", "endpoints", "endpointslices.discovery.k8s.io", "controllerrevisions.apps",
		"customresourcedefinitions.apiextensions.k8s.io", "leases.coordination.k8s.io":
		return false
	}
	if resource.Group == "admissionregistration.k8s.io" || resource.Group == "metrics.k8s.io" || strings.Contains(resource.Resource, "/") {
		return false
	}
	return slices.Contains(verbs, "list") && slices.Contains(verbs, "delete")
}

func (f *finder) ofKind(resource schema.GroupVersionResource) error {
	selectors := []string{own}
	if slices.Contains([]string{"podtemplates", "provisioningrequests"}, resource.Resource) {
		selectors = append(selectors, scaleup.LabelRequest)
	}
	for _, selector := range selectors {
		found, err := f.listed(resource, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return err
		}
		for i := range found {
			f.ofInstallation(resource, &found[i])
		}
	}
	return nil
}

// ofInstallation adds an object that has the labels of one.
func (f *finder) ofInstallation(resource schema.GroupVersionResource, object *unstructured.Unstructured) {
	managed := object.GetLabels()["app.kubernetes.io/managed-by"]
	switch {
	case object.GetAnnotations()["kubernetes.io/config.source"] == "file":
		node, _, _ := unstructured.NestedString(object.Object, "spec", "nodeName")
		f.keep(workloads, "on the node "+node+": muster uninstall --kubeadm or --k3s, with --remove-from /",
			"static Pod %s", fullName(object))
	case metav1.GetControllerOfNoCopy(object) != nil: // it goes with that
	case managed != "muster" && managed != "Helm" && object.GetLabels()[scaleup.LabelRequest] == "":
		// somebody else calls something muster
	case resource.Group == rbacv1.GroupName, resource.Resource == "serviceaccounts":
		if strings.HasSuffix(resource.Resource, "roles") {
			f.roles = append(f.roles, object.GetName())
		}
		f.addObject(rights, resource, object)
	default:
		f.addObject(workloads, resource, object)
	}
}

// boundRoles are bindings that have no labels, as kubectl makes them, of roles that go.
func (f *finder) boundRoles() error {
	for _, resource := range []string{"clusterrolebindings", "rolebindings"} {
		bindings := schema.GroupVersionResource{Group: rbacv1.GroupName, Version: "v1", Resource: resource}
		found, err := f.listed(bindings, metav1.ListOptions{LabelSelector: "!app.kubernetes.io/name"})
		if err != nil {
			return err
		}
		for i := range found {
			role, _, _ := unstructured.NestedString(found[i].Object, "roleRef", "name")
			if slices.Contains(f.roles, role) {
				f.addObject(rights, bindings, &found[i])
			}
		}
	}
	return nil
}

func crds() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
}

// definitions are muster's own, and stay while people have objects of them.
func (f *finder) definitions() error {
	found, err := f.listed(crds(), metav1.ListOptions{})
	if err != nil {
		return err
	}
	for i := range found {
		definition := &found[i]
		group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
		if group != reschedulingv1alpha1.Group && !install.IsDefinition(definition) {
			continue
		}
		plural, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "plural")
		objects, err := f.listed(schema.GroupVersionResource{Group: group, Version: v1alpha1.Version, Resource: plural}, metav1.ListOptions{})
		if err != nil {
			return err
		}
		peoples := len(objects)
		switch group {
		case slov1alpha1.Group:
			peoples -= f.made
		case reschedulingv1alpha1.Group, explanationv1alpha1.Group: // muster would delete them as well
			peoples = 0
		}
		name := fmt.Sprintf("CustomResourceDefinition %s, with %d objects", definition.GetName(), len(objects))
		if peoples > 0 && !f.WithObjects {
			f.keep(definitions, fmt.Sprintf("people have made %d of them: --with-objects deletes these, too", peoples), "%s", name)
			continue
		}
		f.add(definitions, f.deletion(crds(), definition), "%s", name)
	}
	return nil
}

// nodeMetrics finds the objects that muster has made.
func (f *finder) nodeMetrics() error {
	found, err := f.listed(slov1alpha1.NodeMetrics(), metav1.ListOptions{})
	for i := range found {
		if createdBy(&found[i]) {
			f.made++
			f.add(marks, f.deletion(slov1alpha1.NodeMetrics(), &found[i]), "NodeMetric %s", found[i].GetName())
		}
	}
	return err
}

// createdBy reports whether muster has written the first fields of an object.
func createdBy(object metav1.Object) bool {
	managers := object.GetManagedFields()
	return len(managers) > 0 && slices.MinFunc(managers, func(a, b metav1.ManagedFieldsEntry) int {
		if a.Time == nil || b.Time == nil {
			return 0
		}
		return a.Time.Compare(b.Time.Time)
	}).Manager == cluster.FieldManager
}

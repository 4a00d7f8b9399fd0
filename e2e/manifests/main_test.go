package manifests

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
)

func TestMain(m *testing.M) { lab.Main(m) }

// cluster is a control plane that knows the kinds of the chart.
type cluster struct{ *lab.Lab }

func newCluster(t *testing.T) *cluster {
	t.Helper()
	return newClusterWith(t, "serviceaccount-controller", "job-controller", "statefulset-controller")
}

// newClusterWith takes one in which some controllers run.
func newClusterWith(t *testing.T, controllers ...string) *cluster {
	t.Helper()
	return &cluster{lab.Take(t, lab.Options{CRDs: true, Options: controlplane.Options{Controllers: controllers}})}
}

// newClusterWithGroups takes one whose API server knows Kubernetes' own groups, too. It reports whether they may ask for a
// topology: not in 1.36.
func newClusterWithGroups(t *testing.T) (c *cluster, near bool) {
	t.Helper()
	release, err := binaries.Chosen()
	if err != nil {
		t.Fatal(err)
	}
	groups := controlplane.NativeGangsOf(release)
	if near = release != binaries.Release136; near {
		groups = groups.WithTrees()
	}
	return &cluster{lab.Take(t, lab.Options{CRDs: true, Options: controlplane.Options{
		Controllers: []string{"serviceaccount-controller", "job-controller"}, APIServerFlags: groups.APIServerFlags(),
	}})}, near
}

// define creates the kinds of all projects in definitions/go.mod.
func (c *cluster) define() {
	c.Helper()
	c.Discard()
	definitions, err := Definitions(c.Context())
	c.Must(err)
	for _, definition := range definitions {
		_, err := c.Dynamic.Resource(customResourceDefinitions()).Create(c.Context(), definition, metav1.CreateOptions{})
		c.Must(err)
	}
}

func customResourceDefinitions() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
}

func jobSets() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "jobset.x-k8s.io", Version: "v1alpha2", Resource: "jobsets"}
}

// served waits until the API server serves the kinds of all definitions, and returns what it serves.
func (c *cluster) served() meta.RESTMapper {
	c.Helper()
	var mapper meta.RESTMapper
	c.Eventually("all kinds are served", func() error {
		list, err := c.Dynamic.Resource(customResourceDefinitions()).List(c.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		groups, err := restmapper.GetAPIGroupResources(c.Client.Discovery())
		if err != nil {
			return err
		}
		mapper = restmapper.NewDiscoveryRESTMapper(groups)
		for _, definition := range list.Items {
			group, _, _ := unstructured.NestedString(definition.Object, "spec", "group")
			kind, _, _ := unstructured.NestedString(definition.Object, "spec", "names", "kind")
			if _, err := mapper.RESTMapping(schema.GroupKind{Group: group, Kind: kind}); err != nil {
				return err
			}
		}
		return nil
	})
	return mapper
}

// create applies an object of a document: with dryRun the API server does all but keep it.
func (c *cluster) create(mapper meta.RESTMapper, object *unstructured.Unstructured, dryRun ...string) error {
	gvk := object.GroupVersionKind()
	mapping, err := mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err != nil {
		return err
	}
	resource := dynamic.ResourceInterface(c.Dynamic.Resource(mapping.Resource))
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		namespace := object.GetNamespace()
		if namespace == "" {
			namespace = metav1.NamespaceDefault
		}
		_, err := c.Client.CoreV1().Namespaces().
			Create(c.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		resource = c.Dynamic.Resource(mapping.Resource).Namespace(namespace)
	}
	_, err = resource.Create(c.Context(), object, metav1.CreateOptions{DryRun: dryRun, FieldValidation: metav1.FieldValidationStrict})
	return err
}

// documented reads the documents of a page.
func documented(t *testing.T, paths ...string) []*Document {
	t.Helper()
	repository, err := binaries.RepositoryDir(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	documents, err := Documents(os.DirFS(repository), paths...)
	if err != nil {
		t.Fatal(err)
	}
	return documents
}

// object is the object of a page that has a kind and a name.
func (c *cluster) object(page, kind, name string) *unstructured.Unstructured {
	c.Helper()
	for _, d := range documented(c.T, page) {
		if o := (&unstructured.Unstructured{Object: d.Fields}); d.IsObject() && o.GetKind() == kind && o.GetName() == name {
			return o
		}
	}
	c.Fatalf("%s has no %s %s", page, kind, name)
	return nil
}

// field decodes a field of an object.
func field[T any](c *cluster, object *unstructured.Unstructured, path ...string) T {
	c.Helper()
	var into struct{ Value T }
	value, found, err := unstructured.NestedFieldNoCopy(object.Object, path...)
	if err == nil && !found {
		err = errors.New("it is not there")
	}
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"Value": value}, &into)
	}
	if err != nil {
		c.Fatalf("%s %s, field %s: %v", object.GetKind(), object.GetName(), strings.Join(path, "."), err)
	}
	return into.Value
}

// serve runs muster, with profiles of these names beside that of the default scheduler, and a stock kube-scheduler that
// asks it.
func (c *cluster) serve(profiles ...string) *muster.Server {
	c.Helper()
	beside := map[string]muster.Selection{}
	for _, name := range profiles {
		beside[name] = muster.Scheduler
	}
	return c.MusterWithScheduler(muster.Options{Beside: beside})
}

// awaitTried waits until there are as many pods and kube-scheduler has tried them all in vain, so that none has a node.
func (c *cluster) awaitTried(selector string, count int) {
	c.Helper()
	c.awaitPods("are tried and have no node", selector, count, func(pod *corev1.Pod) bool {
		if pod.Spec.NodeName != "" {
			c.Fatalf("%s was bound to %s while its gang was not whole", pod.Name, pod.Spec.NodeName)
		}
		return slices.ContainsFunc(pod.Status.Conditions, func(condition corev1.PodCondition) bool {
			return condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonUnschedulable
		})
	})
}

// awaitBound waits until as many pods have nodes.
func (c *cluster) awaitBound(selector string, count int) {
	c.Helper()
	c.awaitPods("are bound", selector, count, func(pod *corev1.Pod) bool { return pod.Spec.NodeName != "" })
}

// awaitRunning waits until as many pods run.
func (c *cluster) awaitRunning(selector string, count int) {
	c.Helper()
	c.awaitPods("run", selector, count, func(pod *corev1.Pod) bool { return pod.Status.Phase == corev1.PodRunning })
}

// pods returns all pods that have labels.
func (c *cluster) pods(selector string) []corev1.Pod {
	c.Helper()
	pods, err := c.Client.CoreV1().Pods(metav1.NamespaceDefault).List(c.Context(), metav1.ListOptions{LabelSelector: selector})
	c.Must(err)
	return pods.Items
}

// awaitPods waits until all pods are as they should be.
func (c *cluster) awaitPods(are, selector string, count int, is func(*corev1.Pod) bool) {
	c.Helper()
	c.Eventually(fmt.Sprintf("%d pods of %s %s", count, selector, are), func() error {
		pods, err := c.Client.CoreV1().Pods(metav1.NamespaceDefault).List(c.Context(), metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return err
		}
		found := 0
		for i := range pods.Items {
			if is(&pods.Items[i]) {
				found++
			}
		}
		if found != count {
			return fmt.Errorf("%d of %d are", found, len(pods.Items))
		}
		return nil
	})
}

// said runs a program on a document in a file of its own, and returns what it says where it fails.
func said(t *testing.T, d string, program string, args func(file string) []string) error {
	t.Helper()
	file := filepath.Join(t.TempDir(), "document.yaml")
	if err := os.WriteFile(file, []byte(d), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.CommandContext(t.Context(), program, args(file)...).CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(out)))
	}
	return nil
}

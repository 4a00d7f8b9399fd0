package manifests

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"

	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/muster"
)

// patience is a limit for what takes seconds on an idle machine.
const patience = 2 * time.Minute

// cluster is a control plane that knows the kinds of the chart and of all projects in definitions/go.mod.
type cluster struct {
	*testing.T
	*controlplane.ControlPlane
	client  kubernetes.Interface
	dynamic dynamic.Interface
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{T: t, ControlPlane: controlplane.ForTest(t, controlplane.Options{
		Controllers: []string{"job-controller", "statefulset-controller"},
	})}
	var err error
	c.client, err = kubernetes.NewForConfig(c.RESTConfig())
	c.must(err)
	c.dynamic, err = dynamic.NewForConfig(c.RESTConfig())
	c.must(err)
	c.must(muster.CreateCRDs(t.Context(), c.dynamic))
	definitions, err := Definitions(t.Context())
	c.must(err)
	for _, definition := range definitions {
		_, err := c.dynamic.Resource(resourceOf("apiextensions.k8s.io/v1", "customresourcedefinitions")).
			Create(t.Context(), definition, metav1.CreateOptions{})
		c.must(err)
	}
	return c
}

func resourceOf(groupVersion, resource string) schema.GroupVersionResource {
	gv, err := schema.ParseGroupVersion(groupVersion)
	if err != nil {
		panic(err)
	}
	return gv.WithResource(resource)
}

func (c *cluster) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

// eventually polls until check is content.
func (c *cluster) eventually(what string, check func() error) {
	c.Helper()
	var last error
	err := wait.PollUntilContextTimeout(c.Context(), 100*time.Millisecond, patience, true, func(context.Context) (bool, error) {
		last = check()
		return last == nil, nil
	})
	if err != nil {
		c.Fatalf("%s: %v: %v", what, err, last)
	}
}

// served waits until the API server serves the kinds of all definitions, and returns what it serves.
func (c *cluster) served() meta.RESTMapper {
	c.Helper()
	var mapper meta.RESTMapper
	c.eventually("all kinds are served", func() error {
		list, err := c.dynamic.Resource(resourceOf("apiextensions.k8s.io/v1", "customresourcedefinitions")).
			List(c.Context(), metav1.ListOptions{})
		if err != nil {
			return err
		}
		groups, err := restmapper.GetAPIGroupResources(c.client.Discovery())
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
	resource := dynamic.ResourceInterface(c.dynamic.Resource(mapping.Resource))
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		namespace := object.GetNamespace()
		if namespace == "" {
			namespace = metav1.NamespaceDefault
		}
		_, err := c.client.CoreV1().Namespaces().
			Create(c.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
		resource = c.dynamic.Resource(mapping.Resource).Namespace(namespace)
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

// createNode has room for pods, and KWOK plays nobody: they are bound, and that is all.
func (c *cluster) createNode(name, cpu string) {
	c.Helper()
	_, err := c.client.CoreV1().Nodes().Create(c.Context(), &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{corev1.LabelHostname: name}},
		Status: corev1.NodeStatus{
			Allocatable: corev1.ResourceList{
				"cpu": resource.MustParse(cpu), "memory": resource.MustParse("64Gi"), "pods": resource.MustParse("110"),
			},
			Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		},
	}, metav1.CreateOptions{})
	c.must(err)
}

// serve runs muster, with profiles of these names beside that of the default scheduler, and a stock kube-scheduler that
// asks it.
func (c *cluster) serve(profiles ...string) *muster.Server {
	c.Helper()
	beside := map[string]muster.Selection{}
	for _, name := range profiles {
		beside[name] = muster.Scheduler
	}
	s, err := muster.Start(c.Context(), muster.Options{ControlPlane: c.ControlPlane, Beside: beside, Progress: c.Output()})
	c.must(err)
	c.Cleanup(s.Stop)
	config, err := s.SchedulerConfig(c.Context())
	c.must(err)
	c.must(c.StartScheduler(c.Context(), controlplane.SchedulerOptions{Config: config}))
	return s
}

// awaitTried waits until there are as many pods and kube-scheduler has tried them all in vain, so that none has a node.
func (c *cluster) awaitTried(selector string, count int) {
	c.Helper()
	c.eventually(fmt.Sprintf("%d pods of %s are tried and have no node", count, selector), func() error {
		pods, err := c.client.CoreV1().Pods(metav1.NamespaceDefault).List(c.Context(), metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return err
		}
		tried := 0
		for _, pod := range pods.Items {
			if pod.Spec.NodeName != "" {
				c.Fatalf("%s was bound to %s while its gang was not whole", pod.Name, pod.Spec.NodeName)
			}
			for _, condition := range pod.Status.Conditions {
				if condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonUnschedulable {
					tried++
				}
			}
		}
		if tried != count {
			return fmt.Errorf("%d of %d are", tried, len(pods.Items))
		}
		return nil
	})
}

// awaitBound waits until there are as many pods and each has a node.
func (c *cluster) awaitBound(selector string, count int) {
	c.Helper()
	c.eventually(fmt.Sprintf("%d pods of %s are bound", count, selector), func() error {
		pods, err := c.client.CoreV1().Pods(metav1.NamespaceDefault).List(c.Context(), metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return err
		}
		bound := 0
		for _, pod := range pods.Items {
			if pod.Spec.NodeName != "" {
				bound++
			}
		}
		if bound != count {
			return fmt.Errorf("%d of %d are", bound, len(pods.Items))
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

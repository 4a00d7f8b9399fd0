package placeable

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/reservation"
)

// world is an API server with objects of Kueue, a cluster, and a Controller that sees both.
type world struct {
	*testing.T
	clock      *clocktesting.FakeClock
	client     *dynamicfake.FakeDynamicClient
	cluster    *cluster.Cluster
	profiles   *predicates.Profiles
	controller *Controller
}

// checkObject is an AdmissionCheck of this controller.
const checkObject = `{kind: AdmissionCheck, metadata: {name: placeable, uid: c}, spec: {controllerName: muster.dev/placeable}}`

func newWorld(t *testing.T, objects ...string) *world {
	t.Helper()
	log, registry := slog.New(slog.DiscardHandler), prometheus.NewRegistry()
	w := &world{T: t, clock: clocktesting.NewFakeClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))}
	w.cluster = cluster.New(cluster.Options{Logger: log, Registerer: registry, AssumeTTL: time.Hour})
	profile, err := predicates.NewProfile(&config.Default().Profiles[0])
	if err != nil {
		t.Fatal(err)
	}
	w.profiles = predicates.NewProfiles(predicates.NewVerdictStore(profile, w.cluster, 1<<20, predicates.NewStoreMetrics(registry), w.clock))
	w.client = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(runtime.NewScheme(), map[schema.GroupVersionResource]string{
		workloads(): "WorkloadList", admissionChecks(): "AdmissionCheckList", resourceFlavors(): "ResourceFlavorList",
	})
	w.restart()
	for _, object := range append(objects, checkObject) {
		w.create(object)
	}
	return w
}

// restart has another process take over: it knows the API's objects and nothing else.
func (w *world) restart() {
	w.Helper()
	log := slog.New(slog.DiscardHandler)
	for node := range w.cluster.Snapshot().Nodes() {
		for _, pod := range node.Pods {
			w.cluster.Unreserve(pod.UID)
		}
	}
	keeper := reservation.New(reservation.Options{Logger: log, Clock: w.clock, Cluster: w.cluster, Profiles: w.profiles})
	w.controller = New(Options{Logger: log, Clock: w.clock, Cluster: w.cluster, Profiles: w.profiles, Keeper: keeper})
	w.show()
}

// create creates an object of Kueue, in YAML.
func (w *world) create(text string) {
	w.Helper()
	object := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
		w.Fatal(err)
	}
	object.SetAPIVersion(group + "/" + version)
	of := map[string]schema.GroupVersionResource{
		"Workload": workloads(), "AdmissionCheck": admissionChecks(), "ResourceFlavor": resourceFlavors(),
	}[object.GetKind()]
	if _, err := w.client.Resource(of).Namespace(object.GetNamespace()).Create(w.Context(), object, metav1.CreateOptions{}); err != nil {
		w.Fatal(err)
	}
	w.show()
}

// update changes a Workload as Kueue does.
func (w *world) update(name string, change func(status map[string]any)) {
	w.Helper()
	object := w.get(name)
	change(object.Object["status"].(map[string]any))
	if _, err := w.client.Resource(workloads()).Namespace("default").Update(w.Context(), object, metav1.UpdateOptions{}); err != nil {
		w.Fatal(err)
	}
	w.show()
}

func (w *world) get(name string) *unstructured.Unstructured {
	w.Helper()
	object, err := w.client.Resource(workloads()).Namespace("default").Get(w.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return object
}

// show has the Controller see what the API has, as a watch does.
func (w *world) show() {
	w.Helper()
	for of, handler := range w.controller.Handled() {
		list, err := w.client.Resource(of).List(w.Context(), metav1.ListOptions{})
		if err != nil {
			w.Fatal(err)
		}
		for i := range list.Items {
			handler.Set(&list.Items[i])
		}
	}
}

// look has the Controller look once.
func (w *world) look() {
	w.Helper()
	w.controller.look(w.Context(), w.client)
	w.show()
}

// says returns what the check of a Workload says.
func (w *world) says(name string) string {
	w.Helper()
	states, _, _ := unstructured.NestedSlice(w.get(name).Object, "status", "admissionChecks")
	for _, one := range states {
		if c := one.(map[string]any); c["name"] == "placeable" {
			return fmt.Sprintf("%v: %v", c["state"], c["message"])
		}
	}
	return ""
}

// kept returns for how many pods room is kept, by node.
func (w *world) kept() map[string]int {
	kept := map[string]int{}
	for node := range w.cluster.Snapshot().Nodes() {
		for _, pod := range node.Pods {
			if pod.Placeholder {
				kept[node.Name]++
			}
		}
	}
	return kept
}

func (w *world) node(name, cpu string, change ...func(*corev1.Node)) {
	w.Helper()
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{hostname: name}}, Status: corev1.NodeStatus{
		Allocatable: corev1.ResourceList{"cpu": resource.MustParse(cpu), "memory": resource.MustParse("8Gi"), "pods": resource.MustParse("110")},
	}}
	for _, f := range change {
		f(node)
	}
	if err := w.cluster.Set(node); err != nil {
		w.Fatal(err)
	}
}

// bind has the watch show a pod of a Workload on a node.
func (w *world) bind(workload, name, node string) *corev1.Pod {
	w.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: name, Namespace: "default", UID: types.UID(name),
			Labels: map[string]string{labelSet: "main"}, Annotations: map[string]string{annotationWorkload: workload},
		},
		Spec: corev1.PodSpec{NodeName: node, SchedulerName: corev1.DefaultSchedulerName, Containers: []corev1.Container{{
			Name: "c", Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{"cpu": resource.MustParse("2")}},
		}}},
	}
	if err := w.cluster.Set(pod); err != nil {
		w.Fatal(err)
	}
	return pod
}

// job is a Workload of some pods of 2 CPUs whose quota is reserved, with more fields of its podSet, of the set's assignment and of its
// conditions.
func job(name string, pods int, podSet, assignment, conditions string) string {
	return fmt.Sprintf(`
kind: Workload
metadata: {name: %s, namespace: default, uid: %s}
spec:
  podSets:
  - name: main
    count: %d
    template: {spec: {%s containers: [{name: c, resources: {requests: {cpu: "2"}}}]}}
status:
  conditions:
  - {type: QuotaReserved, status: "True", lastTransitionTime: "2030-01-01T00:00:00Z"}
  %s
  admission: {clusterQueue: q, podSetAssignments: [{name: main, %s}]}
  admissionChecks:
  - {name: other, state: Ready, message: "", lastTransitionTime: "2030-01-01T00:00:00Z"}
  - {name: placeable, state: Pending, message: "", lastTransitionTime: "2030-01-01T00:00:00Z"}
`, name, name, pods, podSet, conditions, assignment)
}

package page

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/workload"
)

// dump is a list of objects as kubectl prints it.
type dump struct {
	metav1.TypeMeta
	Items []any `json:"items"`
}

func newDump() *dump {
	return &dump{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "List"}, Items: []any{}}
}

func (d *dump) addNodes(nodes ...*corev1.Node) {
	for _, node := range nodes {
		node.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}
		d.Items = append(d.Items, node)
	}
}

func (d *dump) addPods(pods ...*corev1.Pod) {
	for _, pod := range pods {
		pod.TypeMeta, pod.UID = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, types.UID(pod.Namespace+"/"+pod.Name)
		d.Items = append(d.Items, pod)
	}
}

// addJob adds a Job of a JobSet.
func (d *dump) addJob(namespace, name, jobSet string) {
	d.Items = append(d.Items, &batchv1.Job{
		TypeMeta: metav1.TypeMeta{APIVersion: "batch/v1", Kind: "Job"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, UID: types.UID(name), OwnerReferences: controlledBy("jobset.x-k8s.io/v1alpha2", "JobSet", jobSet),
		},
	})
}

// controlledBy is the reference to a controller whose UID is its name.
func controlledBy(apiVersion, kind, name string) []metav1.OwnerReference {
	return []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: name, UID: types.UID(name), Controller: new(true)}}
}

// write writes the dump to a file and returns its path.
func (d *dump) write(t *testing.T) string {
	t.Helper()
	text, err := json.Marshal(d)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "dump.json")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// workingDay has long names, two namespaces, a JobSet whose pods wait as a gang, other gangs, a Deployment and a pod of nobody.
func workingDay() *dump {
	d := newDump()
	now := time.Now()
	since := func(minutes int) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.CreationTimestamp = metav1.NewTime(now.Add(-time.Duration(minutes) * time.Minute).Truncate(time.Second))
		}
	}
	for i := range 40 {
		node := fmt.Sprintf("ip-10-0-0-%d.eu-central-1.compute.internal", i+1)
		d.addNodes(workload.NewNode(node, "8", workload.NodeLabelled(corev1.LabelTopologyZone, "eu-central-1"+string("abc"[i%3]))))
		for k := range i % 5 {
			d.addPods(workload.NewPod(fmt.Sprintf("web-%d-%d", i, k), "2", workload.On(node)))
		}
	}
	const jobSet = "llama-70b-pretraining-2026-11"
	for job := range 2 {
		name := fmt.Sprintf("%s-workers-%d", jobSet, job)
		d.addJob("ml", name, jobSet)
		for i := range 8 {
			d.addPods(workload.NewPod(fmt.Sprintf("%s-%d", name, i), "6", workload.In("ml"), since(47), func(pod *corev1.Pod) {
				pod.OwnerReferences = controlledBy("batch/v1", "Job", name)
			}, workload.Labelled(v1alpha1.LabelMuster, jobSet), workload.Annotated(v1alpha1.AnnotationMinMember, "16")))
		}
	}
	for gang := range 5 {
		name := fmt.Sprintf("sweep-%d", gang)
		for i := range 3 {
			d.addPods(workload.NewPod(fmt.Sprintf("%s-%d", name, i), "4", workload.In("ml"), since(200*gang+3),
				workload.Labelled(v1alpha1.LabelMuster, name), workload.Annotated(v1alpha1.AnnotationMinMember, "4")))
		}
	}
	for i := range 30 {
		d.addPods(workload.NewPod(fmt.Sprintf("checkout-7d9f8c6b5-%d", i), "100", workload.In("shop"), since(i),
			workload.Labelled("pod-template-hash", "7d9f8c6b5"), func(pod *corev1.Pod) {
				pod.OwnerReferences = controlledBy("apps/v1", "ReplicaSet", "checkout-7d9f8c6b5")
			}))
	}
	d.addPods(workload.NewPod("debug-shell", "1", workload.In("shop"), since(1)))
	return d
}

// keyBlock and keyRack are labels of nodes that a Topology lists.
const keyBlock, keyRack = "example.com/block", "example.com/rack"

// addTopology adds one of Kueue's.
func (d *dump) addTopology() {
	d.Items = append(d.Items, map[string]any{
		"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Topology", "metadata": map[string]any{"name": "network"},
		"spec": map[string]any{"levels": []any{
			map[string]any{"nodeLabel": keyBlock}, map[string]any{"nodeLabel": keyRack}, map[string]any{"nodeLabel": corev1.LabelHostname},
		}},
	})
}

// inRack labels a node.
func inRack(block, rack string) func(*corev1.Node) {
	return func(node *corev1.Node) { node.Labels[keyBlock], node.Labels[keyRack] = block, rack }
}

// racks has two blocks, each with racks of the same names: pods alone in some, a gang that runs in one rack, and one that waits for
// a rack.
func racks() *dump {
	d := newDump()
	d.addTopology()
	member := func(gang, size string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) {
			pod.Labels[v1alpha1.LabelMuster] = gang
			pod.Annotations = map[string]string{v1alpha1.AnnotationMinMember: size, v1alpha1.AnnotationRequiredTopology: keyRack}
		}
	}
	for i := range 96 {
		block, rack := []string{"hall-east", "hall-west"}[i/48], fmt.Sprintf("r%d", i%48/8+1)
		node := fmt.Sprintf("node-%02d", i)
		d.addNodes(workload.NewNode(node, "8", inRack(block, rack)))
		if i%48/8 == 2 && i < 48 {
			d.addPods(workload.NewPod(fmt.Sprintf("llama-%d", i%8), "6", workload.In("ml"), workload.On(node), member("llama", "8")))
		} else if i%48/8 > 3 && i%3 > 0 {
			d.addPods(workload.NewPod(fmt.Sprintf("web-%d", i), fmt.Sprint(i%8+1), workload.On(node)))
		}
	}
	d.addNodes(workload.NewNode("spare-1", "8", workload.NodeLabelled(keyBlock, "hall-west")), workload.NewNode("spare-2", "8"))
	for i := range 12 {
		d.addPods(workload.NewPod(fmt.Sprintf("mixtral-%d", i), "6", workload.In("ml"), member("mixtral", "12")))
	}
	return d
}

// manyNodes has 5,000 nodes in 300 racks.
func manyNodes() *dump {
	d := newDump()
	d.addTopology()
	for i := range 5000 {
		d.addNodes(workload.NewNode(fmt.Sprintf("node-%02d", i), "64", inRack(fmt.Sprint("block-", i*10/5000), fmt.Sprint("rack-", i*300/5000))))
		if i%3 > 0 {
			d.addPods(workload.NewPod(fmt.Sprintf("pod-%d", i), workload.Milli(int64(i*7919%64000)), workload.On(fmt.Sprintf("node-%02d", i))))
		}
	}
	return d
}

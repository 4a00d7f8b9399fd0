package workload_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"
	"pgregory.net/rapid"

	"muster.dev/muster/api/seeded"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/fit"
	"muster.dev/muster/e2e/workload"
)

func TestTheSameSeedGivesTheSameCluster(t *testing.T) {
	shape := workload.Shape{Nodes: 100, Pods: 1000, Seed: 7}
	if diff := cmp.Diff(workload.Generate(shape), workload.Generate(shape)); diff != "" {
		t.Errorf("two clusters of one seed differ:\n%s", diff)
	}
	other := shape
	other.Seed = 8
	if cmp.Equal(workload.Generate(shape), workload.Generate(other)) {
		t.Error("two seeds give the same cluster")
	}
}

func TestAGeneratedClusterKeepsItsPromises(t *testing.T) {
	seeded.Check(t, func(t *rapid.T) {
		shape := workload.Shape{
			Nodes: rapid.IntRange(20, 200).Draw(t, "nodes"),
			Pods:  rapid.IntRange(1, 2000).Draw(t, "pods"),
			Seed:  rapid.Uint64().Draw(t, "seed"),
		}
		c := workload.Generate(shape)
		if len(c.Nodes) != shape.Nodes || c.PodCount() != shape.Pods {
			t.Errorf("%d nodes and %d pods, want %d and %d", len(c.Nodes), c.PodCount(), shape.Nodes, shape.Pods)
		}
		var one []*corev1.Pod
		asked, room := map[corev1.ResourceName]float64{}, map[corev1.ResourceName]float64{}
		for template, n := range c.Templates {
			p := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
			one = append(one, p)
			for name, q := range resourcehelper.PodRequests(p, resourcehelper.PodResourcesOptions{}) {
				asked[name] += float64(n) * q.AsApproximateFloat64()
			}
		}
		for _, n := range c.Nodes {
			for name, q := range n.Status.Allocatable {
				room[name] += q.AsApproximateFloat64()
			}
		}
		if places := fit.Places(c.Nodes, one); len(places) != len(one) {
			t.Errorf("%d of %d kinds of pods fit into the empty cluster", len(places), len(one))
		}
		for name, q := range asked {
			if q > 0.8*room[name] {
				t.Errorf("the pods ask for %.0f%% of all %s", 100*q/room[name], name)
			}
		}
	})
}

func TestAGeneratedClusterHasEveryShape(t *testing.T) {
	c := workload.Generate(workload.Shape{Nodes: 300, Pods: 3000, Seed: 1})
	seen := map[string]bool{}
	largest := 0
	for template, n := range c.Templates {
		largest = max(largest, n)
		spec := template.Spec
		seen["node selector"] = seen["node selector"] || len(spec.NodeSelector) > 0
		seen["tolerations"] = seen["tolerations"] || len(spec.Tolerations) > 0
		if a := spec.Affinity; a != nil {
			seen["required affinity"] = seen["required affinity"] || a.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution != nil
			seen["preferred affinity"] = seen["preferred affinity"] || a.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution != nil
		}
		for _, container := range spec.InitContainers {
			seen["sidecar"] = seen["sidecar"] || container.RestartPolicy != nil
			seen["init container"] = seen["init container"] || container.RestartPolicy == nil
		}
		for _, container := range spec.Containers {
			seen["host port"] = seen["host port"] || len(container.Ports) > 0
			seen["GPU"] = seen["GPU"] || !container.Resources.Requests.Name(workload.GPUResource, "").IsZero()
		}
	}
	for _, shape := range []string{
		"node selector", "tolerations", "required affinity", "preferred affinity", "sidecar", "init container", "host port", "GPU",
	} {
		if !seen[shape] {
			t.Errorf("no pod has a %s", shape)
		}
	}
	if len(c.Deployments) == 0 || len(c.Jobs) == 0 {
		t.Errorf("%d deployments and %d jobs, want some of both", len(c.Deployments), len(c.Jobs))
	}
	if largest < 50 {
		t.Errorf("the largest workload has %d pods, want a long tail", largest)
	}
}

const (
	nodesCSV = "sn,cpu_milli,memory_mib,gpu,model\nnode-0,32000,262144,0,\nnode-1,96000,786432,8,G2\n"
	podsCSV  = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\na,1000,1024,0,0,\nb,1000,1024,1,460,\nc,1000,1024,4,1000,\n"
)

func TestLoadOpenBCountsGPUsInThousandths(t *testing.T) {
	c, err := workload.LoadOpenB(trace(t, nodesCSV, podsCSV), 1)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, n := range c.Nodes {
		got[n.Name] = n.Status.Allocatable.Name(workload.GPUMilliResource, "").String() + n.Labels[workload.GPUModelLabel]
	}
	for i, p := range c.Pods {
		name, ok := strings.CutPrefix(p.Name, fmt.Sprintf("%05d-", i))
		if !ok {
			t.Errorf("pod %d is called %q, want its position in front", i, p.Name)
		}
		got[name] = p.Spec.Containers[0].Resources.Requests.Name(workload.GPUMilliResource, "").String()
	}
	want := map[string]string{"node-0": "0", "node-1": "8kG2", "a": "0", "b": "460", "c": "4k"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("GPUs (-want +got):\n%s", diff)
	}
}

func TestLoadOpenBNamesWhatIsWrong(t *testing.T) {
	for name, test := range map[string]struct{ nodes, pods, want string }{
		"a column is missing": {nodes: "sn,cpu_milli\nn,1\n", pods: podsCSV, want: `no column "memory_mib"`},
		"a number is a word": {
			nodes: nodesCSV, pods: strings.Replace(podsCSV, "460", "many", 1), want: `openb_pods.csv:3: gpu_milli is "many"`,
		},
		"a number is negative": {nodes: strings.Replace(nodesCSV, "32000", "-1", 1), pods: podsCSV, want: `openb_nodes.csv:2: cpu_milli is "-1"`},
		"a file is empty":      {nodes: "", pods: podsCSV, want: "read the header"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := workload.LoadOpenB(trace(t, test.nodes, test.pods), 1)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want it to contain %q", err, test.want)
			}
		})
	}
	if _, err := workload.LoadOpenB(t.TempDir(), 1); err == nil {
		t.Error("no error for a directory without a trace")
	}
}

func TestLoadOpenBReadsTheWholeTrace(t *testing.T) {
	dir := os.Getenv("DEMO_DATA")
	if dir == "" {
		t.Skip("DEMO_DATA does not say where the openb trace is")
	}
	if !filepath.IsAbs(dir) {
		dir = filepath.Join("../..", dir)
	}
	c, err := workload.LoadOpenB(dir, 1)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Nodes) != 1523 || len(c.Pods) != 8152 {
		t.Errorf("%d nodes and %d pods, want 1523 and 8152", len(c.Nodes), len(c.Pods))
	}
}

func trace(t *testing.T, nodes, pods string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"openb_nodes.csv": nodes, "openb_pods.csv": pods} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestSettledPodsAreAsTheirConstraintsDemand(t *testing.T) {
	nodes := workload.Generate(workload.Shape{Nodes: 200, Seed: 1}).Nodes
	pods := workload.Settle(nodes, 5)
	zones := map[string]string{}
	for _, n := range nodes {
		zones[n.Name] = n.Labels[corev1.LabelTopologyZone]
	}
	onNode := map[string]int{}
	inZone := map[string]map[string]int{}
	for _, p := range pods {
		onNode[p.Spec.NodeName]++
		app := p.Labels["app"]
		if inZone[app] == nil {
			inZone[app] = map[string]int{}
		}
		inZone[app][zones[p.Spec.NodeName]]++
	}
	if len(inZone) != 5 || len(pods) < 100 {
		t.Fatalf("%d pods of %d controllers", len(pods), len(inZone))
	}
	for app, counts := range inZone {
		numbers := slices.Collect(maps.Values(counts))
		if len(numbers) != 3 || slices.Min(numbers) != slices.Max(numbers) {
			t.Errorf("%s is on %v", app, counts)
		}
	}
	for node, n := range onNode {
		if n != 1 || zones[node] == "" {
			t.Errorf("%d pods are on %q", n, node)
		}
	}
}

func TestPodsOfADeploymentAreOwnedAsIfByItsController(t *testing.T) {
	c := workload.Generate(workload.Shape{Nodes: 100, Pods: 1000, Seed: 1})
	pods := c.AsPods()
	if pods.PodCount() != c.PodCount() || len(pods.Pods) != c.PodCount() || len(pods.Nodes) != len(c.Nodes) {
		t.Fatalf("%d pods and %d nodes, want %d and %d", len(pods.Pods), len(pods.Nodes), c.PodCount(), len(c.Nodes))
	}
	names, controllers, kinds := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, p := range pods.Pods {
		owner := metav1.GetControllerOf(p)
		if owner == nil || owner.UID == "" || p.Namespace != workload.Namespace {
			t.Fatalf("pod %s/%s is of %v", p.Namespace, p.Name, owner)
		}
		names[p.Name], controllers[string(owner.UID)], kinds[owner.Kind] = true, true, true
		if runs := p.Annotations[controlplane.RunsForAnnotation] != ""; runs != (owner.Kind == "Job") {
			t.Errorf("pod %s of a %s ends by itself: %v", p.Name, owner.Kind, runs)
		}
	}
	if len(names) != len(pods.Pods) || len(controllers) != len(c.Deployments)+len(c.Jobs) || len(kinds) != 2 {
		t.Errorf("%d names, %d controllers of kinds %v; want %d and %d of two", len(names), len(controllers), kinds,
			len(pods.Pods), len(c.Deployments)+len(c.Jobs))
	}
}

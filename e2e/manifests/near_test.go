package manifests

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/workload"
)

// Gangs of the documentation that ask for nodes near each other, each in the words of another project, go there. No controller of
// these projects runs.
func TestGangsInTheWordsOfOthersGoNearEachOther(t *testing.T) {
	lab.Long(t)
	c, near := newClusterWithGroups(t)
	c.define()
	served := c.served()
	operatorsPage := "docs/beside/operators.md"
	c.Must(c.create(served, c.object(kueuePage, "Topology", "network")))
	c.Must(c.create(served, c.object(operatorsPage, "Topology", "network")))
	c.rack("a/r", 3, "2")
	c.rack("a/s", 1, "2")
	c.serve()

	// Eight pods have room in block a, and there is no room for two slices of four in a rack each.
	c.Must(c.create(served, c.object(kueuePage, "Job", "sliced")))
	c.awaitTried("job-name=sliced", 8)
	c.rack("b/r", 2, "2")
	c.rack("b/s", 2, "2")
	c.awaitNear("job-name=sliced", map[string]int{"b/r-0": 2, "b/r-1": 2, "b/s-0": 2, "b/s-1": 2})

	// Six pods go to few racks of a block, by an annotation of the JobSet.
	set := c.object(operatorsPage, "JobSet", "near")
	c.Must(c.create(served, set))
	c.job(set)
	c.awaitNear("job-name=near-workers-0", map[string]int{"a/r-0": 2, "a/r-1": 2, "a/r-2": 2})

	if !near {
		return
	}
	// Racks of one name in two blocks are two, by the Topologies.
	for _, kind := range []string{"PodGroup/colocated", "Pod/colocated-0", "Pod/colocated-1"} {
		kind, name, _ := strings.Cut(kind, "/")
		c.Must(c.create(served, c.object(operatorsPage, kind, name)))
	}
	c.rack("c/s", 1, "2")
	c.awaitTried("app=colocated", 2)
	c.rack("d/r", 2, "2")
	c.awaitNear("app=colocated", map[string]int{"d/r-0": 1, "d/r-1": 1})
}

// rack creates nodes of a rack, as in "block/rack".
func (c *cluster) rack(at string, nodes int, cpu string) {
	c.Helper()
	block, rack, _ := strings.Cut(at, "/")
	for i := range nodes {
		c.Create(workload.NewNode(fmt.Sprintf("%s-%s-%d", block, rack, i), cpu,
			workload.NodeLabelled("example.com/block", block), workload.NodeLabelled("example.com/rack", rack)))
	}
}

// job makes the Job of a JobSet with one replica, as the controller does.
func (c *cluster) job(set *unstructured.Unstructured) {
	c.Helper()
	made, err := c.Dynamic.Resource(jobSets()).Namespace(metav1.NamespaceDefault).Get(c.Context(), set.GetName(), metav1.GetOptions{})
	c.Must(err)
	replicated := field[[]struct {
		Name     string                  `json:"name"`
		Template batchv1.JobTemplateSpec `json:"template"`
	}](c, set, "spec", "replicatedJobs")[0]
	labels := map[string]string{
		"jobset.sigs.k8s.io/jobset-name": set.GetName(), "jobset.sigs.k8s.io/replicatedjob-name": replicated.Name,
		"jobset.sigs.k8s.io/job-index": "0",
	}
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{
		Name: set.GetName() + "-" + replicated.Name + "-0", Labels: labels,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(made, set.GroupVersionKind())},
	}, Spec: replicated.Template.Spec}
	job.Spec.Template.Labels = maps.Clone(labels)
	_, err = c.Client.BatchV1().Jobs(metav1.NamespaceDefault).Create(c.Context(), job, metav1.CreateOptions{})
	c.Must(err)
}

// awaitNear waits until as many pods are bound to nodes as are listed, as in "block/rack-0".
func (c *cluster) awaitNear(selector string, want map[string]int) {
	c.Helper()
	all := 0
	for _, pods := range want {
		all += pods
	}
	c.awaitBound(selector, all)
	got := map[string]int{}
	for _, pod := range c.pods(selector) {
		got[strings.Replace(pod.Spec.NodeName, "-", "/", 1)]++
	}
	if !maps.Equal(got, want) {
		c.Errorf("pods of %s are on %v, want %v", selector, got, want)
	}
}

package console

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/server/servertest"
)

func TestEquivalenceTellsWhatIsRemembered(t *testing.T) {
	b := newBench(t, benchOptions{})
	b.Node("a", "4")
	b.Node("b", "0", servertest.Cordoned)
	pod := servertest.Pod("p", "1")
	yes := true
	pod.OwnerReferences = append(pod.OwnerReferences, metav1.OwnerReference{UID: "controller-uid", Controller: &yes})
	b.Filter(pod, "a")
	if _, page := b.Get("/debug/equivalence"); !regexp.MustCompile(` 1 +1\n`).MatchString(page) {
		t.Errorf("one node was asked about and fits, and the page says:\n%s", page)
	}
	b.Filter(pod, "a", "b")

	_, page := b.Get("/debug/equivalence")
	row := regexp.MustCompile(`default-scheduler +([0-9a-f]{16}) +default/p +controller-uid +2 +50.0% +\d+ +2 +\S+ +2 +1\n`).
		FindStringSubmatch(page)
	if row == nil {
		t.Fatalf("the class is not on the page:\n%s", page)
	}
	class := "/debug/equivalence/" + row[1]
	for path, want := range map[string][]string{
		class: {"class " + row[1] + " of pod default/p, as of generation 2", "a | true", "b | false | node(s) were unschedulable"},
		class + "/nodes/b": {
			", node b", "NodeUnschedulable | against", "NodeResourcesFit | against | Insufficient cpu", "TaintToleration | fits",
			"NodePorts | not concerned",
		},
	} {
		status, page := b.Get(path)
		page = regexp.MustCompile(`  +`).ReplaceAllString(page, " | ")
		for _, line := range want {
			if !strings.Contains(page, line) || status != http.StatusOK {
				t.Errorf("%s answered %d without %q:\n%s", path, status, line, page)
			}
		}
	}

	b.Node("b", "0") // and the verdicts of the other predicates may no longer hold
	if _, page := b.Get(class + "/nodes/b"); strings.Contains(page, "Insufficient cpu") ||
		!strings.Contains(page, "node(s) were unschedulable") {
		t.Errorf("after a change it answered:\n%s", page)
	}
	// A node that comes under the index of another one is none that the class was judged on.
	if err := b.Cluster.Delete(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}); err != nil {
		t.Fatal(err)
	}
	b.Node("c", "4", servertest.Cordoned)
	if _, page := b.Get(class); strings.Contains(page, "\nc ") || !strings.Contains(page, "\nb ") {
		t.Errorf("after a node went and another one came it answered:\n%s", page)
	}
	for path, want := range map[string]string{
		"/debug/equivalence/0123":      `class: none of hash "0123" is remembered`,
		class + "/nodes/nowhere":       `node: nothing is remembered of a node "nowhere"`,
		"/debug/equivalence/0/nodes/a": `class: none of hash "0" is remembered`,
	} {
		if status, page := b.Get(path); status != http.StatusNotFound || !strings.Contains(page, want) {
			t.Errorf("%s answered %d %s", path, status, page)
		}
	}
}

// replica is a pod of a controller.
func replica(name string) *corev1.Pod {
	pod := servertest.Pod(name, "1")
	pod.OwnerReferences = []metav1.OwnerReference{{UID: "controller-uid", Controller: new(true)}}
	return pod
}

func TestAClassIsNamedWhereItsPodIsExplained(t *testing.T) {
	b := newBench(t, benchOptions{})
	b.Node("a", "4")
	b.Filter(replica("p"), "a")
	_, page := b.Get("/debug/equivalence")
	class := regexp.MustCompile(`[0-9a-f]{16}`).FindString(page)
	if class == "" {
		t.Fatalf("no class is on the page:\n%s", page)
	}
	bound := replica("bound")
	bound.Spec.NodeName = "a"
	for _, pod := range []*corev1.Pod{replica("p"), bound} {
		if err := b.Cluster.Set(pod); err != nil {
			t.Fatal(err)
		}
		if _, page := b.Get("/debug/explain?pod=default/" + pod.Name); !strings.Contains(page, ", class "+class+",") {
			t.Errorf("of %s, which is of class %s, it says:\n%s", pod.Name, class, page)
		}
	}
}

func TestAClassNamesThePodsThatWereAskedAboutLast(t *testing.T) {
	b := newBench(t, benchOptions{})
	b.Node("a", "4")
	for _, name := range []string{"p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p3"} {
		b.Filter(replica(name), "a")
	}
	_, page := b.Get("/debug/equivalence")
	_, page = b.Get("/debug/equivalence/" + regexp.MustCompile(`[0-9a-f]{16}`).FindString(page))
	const want = "last: default/p3, default/p9, default/p8, default/p7, default/p6, default/p5, default/p4, default/p2\n"
	if !strings.Contains(page, want) {
		t.Errorf("the page does not end its title with %q:\n%s", want, page)
	}
}

func TestPredicatesListsWhatEachOneReads(t *testing.T) {
	b := newBench(t, benchOptions{})
	if _, page := b.Get("/debug/predicates"); !strings.Contains(page, "allocatable,requested") {
		t.Errorf("the aspects of NodeResourcesFit are not on the page:\n%s", page)
	}
}

func TestAClassIsNamedByItsControllerAndThePodsThatThereAre(t *testing.T) {
	b := newBench(t, benchOptions{})
	b.Node("a", "4")
	pod := func(name string) *corev1.Pod {
		pod := servertest.Pod(name, "1")
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Name: "train", UID: "train", Controller: new(true)}}
		return b.Pending(pod)
	}
	first, bound, last := pod("first"), pod("bound"), pod("last")
	for _, one := range []*corev1.Pod{first, bound, last} {
		b.Filter(one, "a")
	}
	bound.Spec.NodeName = "a"
	for _, err := range []error{b.Cluster.Set(bound), b.Cluster.Delete(first)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	_, page := b.Get("/debug/equivalence?format=json")
	for _, want := range []string{
		`"firstPod":"default/first"`, `"owner":{"kind":"Job","namespace":"default","name":"train"}`,
		`"pods":["default/last","default/bound","default/first"],"present":["default/last","default/bound"]`,
	} {
		if !strings.Contains(page, want) {
			t.Errorf("without %s it answered %s", want, page)
		}
	}
}

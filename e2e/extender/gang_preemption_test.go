package extender_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// occupy has a pod on each of some nodes, which take its name, too large for another one
// beside it.
func (c *cluster) occupy(name string, nodes []*corev1.Node, change ...func(*corev1.Pod)) {
	c.Helper()
	for i, node := range nodes {
		onNode := workload.On(node.Name)
		c.createPods(workload.NewPod(fmt.Sprintf("%s-%d", name, i), "3", append([]func(*corev1.Pod){onNode}, change...)...))
	}
}

// left are the names of the pods that there are.
func (c *cluster) left() []string {
	c.Helper()
	pods := c.Pods()
	return slices.Sorted(maps.Keys(pods))
}

func (c *cluster) wantLeft(want ...string) {
	c.Helper()
	slices.Sort(want)
	if diff := cmp.Diff(want, c.left()); diff != "" {
		c.Errorf("pods that are left (-want +got):\n%s", diff)
	}
}

func TestAGangHasAsManyPodsEvictedAsItNeedsAndStartsWhole(t *testing.T) {
	nodes := workload.NewNodes("node", 7, "4")
	c := newCluster(t, nodes...)
	c.createPriorityClass("middle", 500)
	c.createPriorityClass("high", 1000)
	c.createPodGroups(workload.NewPodGroup("g", 4))
	c.occupy("low", nodes[:3])
	c.occupy("middle", nodes[3:6], workload.OfPriority("middle"))
	c.occupy("high", nodes[6:], workload.OfPriority("high"))
	w := c.serveAndSchedule(muster.Options{}).watch()
	c.createPods(workload.NewMembers("g", 4, "3", workload.OfPriority("high"))...)
	w.settles(exactly(map[string]int{"": 7, "g": 4}))
	left := slices.DeleteFunc(c.left(), func(name string) bool { return name == "middle-0" || name == "middle-1" || name == "middle-2" })
	if diff := cmp.Diff([]string{"g-0", "g-1", "g-2", "g-3", "high-0"}, left); diff != "" {
		t.Errorf("remaining pods, besides pods of middle priority (-want +got):\n%s", diff)
	}
	if got := len(c.left()) - len(left); got != 2 {
		t.Errorf("%d pods of middle priority are left, want 2", got)
	}
}

func TestNobodyIsEvictedForAGangOfWhichThreeOfFourWouldFit(t *testing.T) {
	nodes := workload.NewNodes("node", 4, "4")
	c := newCluster(t, nodes...)
	c.createPriorityClass("high", 1000)
	c.createPodGroups(workload.NewPodGroup("g", 4))
	c.occupy("low", nodes[:3])
	c.occupy("high", nodes[3:], workload.OfPriority("high"))
	w := c.serveAndSchedule(muster.Options{}).watch()
	c.createPods(workload.NewMembers("g", 4, "3", workload.OfPriority("high"))...)
	w.settles(exactly(map[string]int{"": 4}))
	c.wantLeft("g-0", "g-1", "g-2", "g-3", "high-0", "low-0", "low-1", "low-2")
}

func TestAGangSparesWhatIsProtected(t *testing.T) {
	nodes := workload.NewNodes("node", 6, "4")
	c := newCluster(t, nodes...)
	c.createPriorityClass("middle", 500)
	c.createPriorityClass("high", 1000)
	c.createPodGroups(workload.NewPodGroup("g", 2), workload.NewPodGroup("low", 2))
	c.createBudget("protected", 0)
	c.occupy("protected", nodes[:2], workload.Labelled("app", "protected"))
	c.occupy("low", nodes[2:5], workload.InGang("low")) // one more than must run together
	c.occupy("middle", nodes[5:], workload.OfPriority("middle"))
	w := c.serveAndSchedule(muster.Options{}).watch()
	c.createPods(workload.NewMembers("g", 2, "3", workload.OfPriority("high"))...)
	w.settles(exactly(map[string]int{"": 3, "low": 3, "g": 2}))
	left := c.left()
	if got := len(left); got != 6 {
		t.Errorf("pods that are left: %v, want 6", left)
	}
	for _, name := range []string{"protected-0", "protected-1"} {
		if !slices.Contains(left, name) {
			t.Errorf("%s was evicted", name)
		}
	}
	if slices.Contains(left, "middle-0") {
		t.Errorf("a gang that runs was broken, and there was another way: %v are left", left)
	}
}

func TestAGangThatRunsIsBrokenWhenNothingElseHelps(t *testing.T) {
	nodes := workload.NewNodes("node", 3, "4")
	c := newCluster(t, nodes...)
	c.createPriorityClass("high", 1000)
	c.createPodGroups(workload.NewPodGroup("g", 2), workload.NewPodGroup("low", 2))
	c.occupy("low", nodes[:2], workload.InGang("low"))
	c.occupy("high", nodes[2:], workload.OfPriority("high"))
	w := c.serveAndSchedule(muster.Options{}).watch()
	c.createPods(workload.NewMembers("g", 2, "3", workload.OfPriority("high"))...)
	w.settles(exactly(map[string]int{"": 1, "low": 2, "g": 2}))
	c.wantLeft("g-0", "g-1", "high-0")
}

func TestAGangWaitsForItsVictimsToGo(t *testing.T) {
	nodes := workload.NewNodes("node", 2, "4")
	c := newCluster(t, nodes...)
	c.createPriorityClass("high", 1000)
	c.createPodGroups(workload.NewPodGroup("g", 2))
	c.occupy("slow", nodes, func(pod *corev1.Pod) { pod.Spec.TerminationGracePeriodSeconds = new(int64(3600)) })
	w := c.serveAndSchedule(muster.Options{}).watch()
	gang := workload.NewMembers("g", 2, "3", workload.OfPriority("high"))
	c.createPods(gang[0])
	c.awaitCondition(gang[0].Name) // the scheduler does not ask about it again until a pod goes
	c.createPods(gang[1])
	c.Eventually("all that are in the way are being deleted", func() error {
		for _, name := range []string{"slow-0", "slow-1"} {
			if c.Pod(name).DeletionTimestamp == nil {
				return fmt.Errorf("%s is not", name)
			}
		}
		return nil
	})
	for _, name := range []string{"slow-0", "slow-1"} { // as a kubelet would, in its time
		w.settles(exactly(map[string]int{"": 2}))
		c.RemovePod(name)
	}
	w.settles(exactly(map[string]int{"": 2, "g": 2}))
}

// createBudget allows a number of evictions of the pods of an app, which has its name.
func (c *cluster) createBudget(app string, allowed int32) {
	c.Helper()
	c.Create(&policyv1.PodDisruptionBudget{
		ObjectMeta: metav1.ObjectMeta{Name: app},
		Spec:       policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": app}}},
	})
	budgets := c.Client.PolicyV1().PodDisruptionBudgets(workload.Namespace)
	budget, err := budgets.Get(c.Context(), app, metav1.GetOptions{})
	c.Must(err)
	budget.Status.DisruptionsAllowed = allowed
	_, err = budgets.UpdateStatus(c.Context(), budget, metav1.UpdateOptions{})
	c.Must(err)
}

func TestAGangHasPodsEvictedThoughEachMemberHasRoomAlone(t *testing.T) {
	nodes := workload.NewNodes("node", 2, "9")
	c := newCluster(t, nodes...)
	c.createPriorityClass("high", 1000)
	c.createPodGroups(workload.NewPodGroup("g", 5))
	c.occupy("low", nodes)
	w := c.serveAndSchedule(muster.Options{}).watch()
	c.createPods(workload.NewMembers("g", 5, "3", workload.OfPriority("high"))...)
	w.settles(exactly(map[string]int{"": 2, "g": 5}))
	if got := len(c.left()); got != 6 {
		t.Errorf("pods that are left: %v, want one of low priority", c.left())
	}
}

func TestTheRestOfAGangThatIsBrokenIsEvictedAsWell(t *testing.T) {
	nodes := workload.NewNodes("node", 3, "4")
	c := newCluster(t, nodes...)
	c.createPriorityClass("high", 1000)
	c.createPodGroups(workload.NewPodGroup("g", 1), workload.NewPodGroup("low", 2))
	c.occupy("low", nodes[:2], workload.InGang("low"))
	c.occupy("high", nodes[2:], workload.OfPriority("high"))
	w := c.serveAndSchedule(muster.Options{}).watch()
	c.createPods(workload.NewMembers("g", 1, "3", workload.OfPriority("high"))...)
	w.settles(exactly(map[string]int{"": 1, "low": 2, "g": 1}))
	c.Eventually("both members of the other gang have gone", func() error {
		if diff := cmp.Diff([]string{"g-0", "high-0"}, c.left()); diff != "" {
			return fmt.Errorf("pods that are left (-want +got):\n%s", diff)
		}
		return nil
	})
}

package extender_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	resourcehelper "k8s.io/component-helpers/resource"

	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/podwatch"
	"muster.dev/muster/e2e/settle"
	"muster.dev/muster/e2e/workload"
)

func TestPodsAreBoundThroughMuster(t *testing.T) {
	t.Parallel()
	for _, selection := range []string{"Scheduler", "Muster"} {
		for _, namesOnly := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s chooses, nodeCacheCapable is %t", selection, namesOnly), func(t *testing.T) {
				lab.LongUnless(t, namesOnly)
				const pods = 200
				c := newCluster(t)
				s := c.serve(muster.Options{Text: "profiles: [{schedulerName: default-scheduler, nodeSelection: " + selection + "}]"})
				c.Schedule(s.schedulerConfig(nil, func(config map[string]any) {
					for _, extender := range config["extenders"].([]any) {
						extender.(map[string]any)["nodeCacheCapable"] = namesOnly
					}
				}))
				outcome := c.settle(withoutControllers(workload.Generate(workload.Shape{Nodes: 20, Pods: pods, Seed: 1})))
				// Whether all find room depends on which nodes the scheduler heard of first: the nodes of a zone may fill up
				// with pods that would do elsewhere. None may be left that fits, and none may be lost.
				t.Logf("%d of %d pods are bound; waiting:\n%s", outcome.Bound, pods, waiting(outcome.Pods))
				if len(outcome.Pods) != pods || outcome.Bound == 0 || len(outcome.Stranded) > 0 {
					t.Errorf("%d pods are there and %d are bound, of %d; %d have a place", len(outcome.Pods), outcome.Bound, pods, len(outcome.Stranded))
				}
				if over := overcommitted(outcome.Nodes, outcome.Pods); len(over) > 0 {
					t.Errorf("nodes hold more than they have:\n%s", strings.Join(over, "\n"))
				}
				c.Eventually("muster's view is the API server's", func() error {
					page, err := s.Page(s.Context(), "/debug/nodes")
					if err != nil {
						return err
					}
					if diff := cmp.Diff(loads(outcome.Nodes, outcome.Pods), shownLoads(page)); diff != "" {
						return fmt.Errorf("the API server (-) and /debug/nodes (+) differ:\n%s", diff)
					}
					return nil
				})
				c.Eventually("each binding is counted", func() error { // a pod is bound before its call is counted
					for _, verb := range []string{"filter", "bind"} {
						if got := s.calls(verb, "ok"); got < outcome.Bound {
							return fmt.Errorf("%d calls of %s were answered well, and %d pods are bound", got, verb, outcome.Bound)
						}
					}
					return nil
				})
			})
		}
	}
}

// settle creates workloads and waits until every pod that can be is bound.
func (c *cluster) settle(w *workload.Cluster) *settle.Outcome {
	c.Helper()
	watch, err := podwatch.Start(c.Context(), c.Client)
	c.Must(err)
	defer watch.Stop()
	c.createNodes(w.Nodes...)
	c.createPods(w.Pods...)
	outcome, err := settle.Await(c.Context(), c.Client, watch, w.PodCount(), settle.DefaultPatience(), nil)
	c.Must(err)
	return outcome
}

// waiting tells of the pods that are bound to no node.
func waiting(pods []*corev1.Pod) string {
	var lines strings.Builder
	for _, pod := range pods {
		if pod.Spec.NodeName == "" {
			fmt.Fprintf(&lines, "%s asks for %v: %+v\n", pod.Name, pod.Spec.Containers[0].Resources.Requests, pod.Status.Conditions)
		}
	}
	return lines.String()
}

// withoutControllers is a cluster with the pods that its controllers would create.
func withoutControllers(w *workload.Cluster) *workload.Cluster {
	bare := &workload.Cluster{Nodes: w.Nodes}
	for template, count := range w.Templates {
		for range count {
			pod := &corev1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: *template.Spec.DeepCopy()}
			pod.Namespace, pod.Name = workload.Namespace, fmt.Sprintf("pod-%04d", len(bare.Pods))
			bare.Pods = append(bare.Pods, pod)
		}
	}
	return bare
}

// load is a node's load as /debug/nodes shows it.
type load struct{ Pods, CPU, Memory string }

// requested sums what the pods of each node ask for.
func requested(pods []*corev1.Pod) (map[string]corev1.ResourceList, map[string]int64) {
	sums, counts := map[string]corev1.ResourceList{}, map[string]int64{}
	for _, pod := range pods {
		node := pod.Spec.NodeName
		if sums[node] == nil {
			sums[node] = corev1.ResourceList{}
		}
		counts[node]++
		for name, asked := range resourcehelper.PodRequests(pod, resourcehelper.PodResourcesOptions{}) {
			sum := sums[node][name]
			sum.Add(asked)
			sums[node][name] = sum
		}
	}
	return sums, counts
}

func loads(nodes []*corev1.Node, pods []*corev1.Pod) map[string]load {
	loads := map[string]load{}
	sums, counts := requested(pods)
	for _, node := range nodes {
		sum, room := sums[node.Name], node.Status.Allocatable
		loads[node.Name] = load{
			Pods:   fmt.Sprintf("%d/%d", counts[node.Name], room.Pods().Value()),
			CPU:    fmt.Sprintf("%dm/%dm", sum.Cpu().MilliValue(), room.Cpu().MilliValue()),
			Memory: fmt.Sprintf("%dMi/%dMi", sum.Memory().Value()>>20, room.Memory().Value()>>20),
		}
	}
	return loads
}

func shownLoads(page string) map[string]load {
	loads := map[string]load{}
	lines := strings.Split(strings.TrimSpace(page), "\n")
	for _, line := range lines[min(3, len(lines)):] { // below a title, a space and a heading
		if columns := strings.Fields(line); len(columns) >= 6 {
			loads[columns[0]] = load{Pods: columns[1], CPU: columns[2], Memory: columns[4]}
		}
	}
	return loads
}

// overcommitted names the nodes with more requested than they have.
func overcommitted(nodes []*corev1.Node, pods []*corev1.Pod) []string {
	var over []string
	sums, counts := requested(pods)
	for _, node := range nodes {
		room := node.Status.Allocatable
		if counts[node.Name] > room.Pods().Value() {
			over = append(over, fmt.Sprintf("%s: %d pods of %s", node.Name, counts[node.Name], room.Pods()))
		}
		for name, sum := range sums[node.Name] {
			if has := room[name]; sum.Cmp(has) > 0 {
				over = append(over, fmt.Sprintf("%s: %s %s of %s", node.Name, sum.String(), name, has.String()))
			}
		}
	}
	return over
}

// onlyBlue is a profile that may use only nodes labelled blue, a rule that kube-scheduler does not
// have.
const onlyBlue = `
profiles:
- schedulerName: default-scheduler
  pluginConfig:
  - name: NodeAffinity
    args:
      addedAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms:
          - matchExpressions: [{key: color, operator: In, values: [blue]}]
`

func colored(color string) *corev1.Node {
	return workload.NewNode(color, "4", workload.NodeLabelled("color", color))
}

func TestPodsThatFitNowhereAreBoundWhenANodeIsAdded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config, cpu string
		has, added  *corev1.Node
		want        string
	}{
		"kube-scheduler turned all nodes down": {
			cpu: "8", has: workload.NewNode("small", "4"), added: workload.NewNode("big", "16"),
			want: "0/1 nodes are available: 1 Insufficient cpu.",
		},
		"muster turned all nodes down": {
			config: onlyBlue,
			cpu:    "1", has: colored("red"), added: colored("blue"),
			want: "0/1 nodes are available: 1 node(s) didn't match scheduler-enforced node affinity.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCluster(t, test.has)
			c.serveAndSchedule(muster.Options{Text: test.config})
			c.createPods(workload.NewPod("a", test.cpu))
			condition := c.awaitCondition("a")
			if condition.Reason != corev1.PodReasonUnschedulable || !strings.HasPrefix(condition.Message, test.want) {
				t.Errorf("the pod is told %s: %q, want Unschedulable: %q", condition.Reason, condition.Message, test.want)
			}
			c.createNodes(test.added)
			c.awaitBound(1)
			if got := c.Pod("a").Spec.NodeName; got != test.added.Name {
				t.Errorf("the pod is on %s, want %s", got, test.added.Name)
			}
		})
	}
}

func TestAPodIsPreemptedOnlyWhereMusterAgrees(t *testing.T) {
	// Kube-scheduler alone would evict from red: one pod is a smaller loss than two.
	c := newCluster(t, colored("red"), colored("blue"))
	c.createPriorityClass("high", 1000)
	c.createPods(
		workload.NewPod("red-all", "4", workload.On("red")),
		workload.NewPod("blue-half", "2", workload.On("blue")),
		workload.NewPod("blue-other-half", "2", workload.On("blue")),
	)
	s := c.serveAndSchedule(muster.Options{Text: onlyBlue})
	c.createPods(workload.NewPod("urgent", "3", workload.OfPriority("high")))
	c.Eventually("the urgent pod takes the place of others", func() error {
		pods := c.Pods()
		if pod := pods["urgent"]; pod.Spec.NodeName != "blue" {
			return fmt.Errorf("it is on %q: %v", pod.Spec.NodeName, pod.Status.Conditions)
		}
		return nil
	})
	pods := c.Pods()
	if diff := cmp.Diff([]string{"red-all", "urgent"}, slices.Sorted(maps.Keys(pods))); diff != "" {
		t.Errorf("the pods that are left (-want +got):\n%s", diff)
	}
	if got := s.calls("preempt", "ok"); got == 0 {
		t.Error("muster was not asked to agree")
	}
}

func TestAProfileThatMusterDoesNotKnowStopsItsOwnPodsOnly(t *testing.T) {
	c := newCluster(t, workload.NewNode("a", "4"))
	s := c.serve(muster.Options{})
	c.Schedule(s.schedulerConfig(nil, func(config map[string]any) {
		config["profiles"] = append(config["profiles"].([]any), map[string]any{"schedulerName": "stranger"})
	}))
	c.createPods(workload.NewPod("odd", "1", workload.ScheduledBy("stranger")))
	condition := c.awaitCondition("odd")
	const want = `no profile for spec.schedulerName "stranger"; the profiles are: default-scheduler`
	if condition.Reason != corev1.PodReasonSchedulerError || !strings.Contains(condition.Message, want) {
		t.Errorf("the pod is told %s: %q, want SchedulerError: %q", condition.Reason, condition.Message, want)
	}
	c.Eventually("the event says it, too", func() error {
		events, err := c.Client.CoreV1().
			Events(workload.Namespace).
			List(t.Context(), metav1.ListOptions{FieldSelector: "involvedObject.name=odd"})
		if err != nil {
			return err
		}
		for _, event := range events.Items {
			if event.Reason == "FailedScheduling" && strings.Contains(event.Message, want) {
				return nil
			}
		}
		return fmt.Errorf("%d events, none with the message", len(events.Items))
	})
	c.createPods(workload.NewPod("even", "1"))
	c.EventuallyTrue("other pods are bound", func() bool { return c.Pod("even").Spec.NodeName != "" })
	if got := c.Pod("odd").Spec.NodeName; got != "" {
		t.Errorf("the pod of the unknown profile is on %s", got)
	}
}

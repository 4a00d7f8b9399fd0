package extender_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// serveExample runs muster with the profiles of the example, beside a scheduler with the same
// ones.
func (c *cluster) serveExample() *server {
	c.Helper()
	text, err := os.ReadFile("../../docs/examples/profiles.yaml")
	c.Must(err)
	var example struct {
		Profiles []any `json:"profiles"`
	}
	c.Must(yaml.Unmarshal(text, &example))
	if text, err = yaml.Marshal(example); err != nil {
		c.Fatal(err)
	}
	s := c.serve(muster.Options{Text: string(text)})
	c.Schedule(s.schedulerConfig([]string{"--percentage-of-nodes-to-score=100"}))
	return s
}

func inZone(zone int) func(*corev1.Node) {
	return workload.NodeLabelled(corev1.LabelTopologyZone, fmt.Sprintf("zone-%d", zone))
}

// of is the scheduler name of a pod.
func of(profile string) func(*corev1.Pod) bool {
	return func(pod *corev1.Pod) bool { return pod.Spec.SchedulerName == profile }
}

// spreadOver counts pods by what they are spread over.
func (c *cluster) spreadOver(counts func(*corev1.Pod) bool, over func(node string) string) map[string]int {
	c.Helper()
	pods := c.Pods()
	spread := map[string]int{}
	for _, pod := range pods {
		if counts(pod) {
			spread[over(pod.Spec.NodeName)]++
		}
	}
	return spread
}

func node(name string) string { return name }

func TestOneProfileSpreadsAndTheOtherPacks(t *testing.T) {
	const nodes, zones, cpus, web = 16, 4, 8, 32
	c := newCluster(t)
	zoneOf := map[string]string{}
	var all []*corev1.Node
	for i := range nodes {
		n := workload.NewNode(fmt.Sprintf("node-%02d", i), fmt.Sprint(cpus), inZone(i%zones))
		all, zoneOf[n.Name] = append(all, n), n.Labels[corev1.LabelTopologyZone]
	}
	c.createNodes(all...)
	c.Create(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "web"}, Ports: []corev1.ServicePort{{Port: 80}}},
	})
	s := c.serveExample()

	c.createPods(workload.NewPods("pod", web, "1", workload.ScheduledBy("spread"), workload.Labelled("app", "web"))...)
	c.awaitBound(web)
	byNode := c.spreadOver(of("spread"), node)
	byZone := c.spreadOver(of("spread"), func(node string) string { return zoneOf[node] })
	for what, spread := range map[string]map[string]int{"nodes": byNode, "zones": byZone} {
		counts := slices.Collect(maps.Values(spread))
		if want := web / map[string]int{"nodes": nodes, "zones": zones}[what]; slices.Min(counts) != want || slices.Max(counts) != want {
			t.Errorf("%s have %v pods, want %d each", what, spread, want)
		}
	}

	// The larger first: what fits best is then as good as it gets.
	bound, asked := web, 0
	for _, cpu := range []int{3, 2, 1} {
		const each = 6
		var pods []*corev1.Pod
		for i := range each {
			pods = append(pods, workload.NewPod(fmt.Sprintf("batch-%d-%d", cpu, i), fmt.Sprint(cpu), workload.ScheduledBy("pack")))
		}
		c.createPods(pods...)
		bound, asked = bound+each, asked+each*cpu
		c.awaitBound(bound)
	}
	left := cpus - web/nodes
	if used, least := len(c.spreadOver(of("pack"), node)), (asked+left-1)/left; used > least {
		t.Errorf("%d CPUs are on %d nodes, and would fit on %d", asked, used, least)
	}

	c.createPods(workload.NewPod("nameless", "1"))
	bound++
	c.awaitBound(bound)
	if got := c.Pod("nameless").Spec.SchedulerName; got != corev1.DefaultSchedulerName {
		t.Errorf("a pod without a scheduler name has %q", got)
	}
	c.expectReporters("Scheduled", bound)
	want := map[string]int{"spread": web, "pack": 18, corev1.DefaultSchedulerName: 1}
	if diff := cmp.Diff(want, s.profileAttempts("scheduled")); diff != "" {
		t.Errorf("attempts that ended well, by profile (-want +got):\n%s", diff)
	}
}

// expectReporters waits until a number of pods have an event, and checks that each was reported by
// the name of the pod's profile.
func (c *cluster) expectReporters(reason string, count int) {
	c.Helper()
	pods := c.Pods()
	c.Eventually("events tell of all pods", func() error {
		events, err := c.Client.EventsV1().Events(workload.Namespace).List(c.Context(), metav1.ListOptions{FieldSelector: "reason=" + reason})
		if err != nil {
			return err
		}
		told := map[string]bool{}
		for i := range events.Items {
			event := &events.Items[i]
			pod := pods[event.Regarding.Name]
			if pod == nil || pod.UID != event.Regarding.UID {
				continue // of a test before
			}
			told[pod.Name] = true
			if event.ReportingController != pod.Spec.SchedulerName {
				c.Fatalf("the event about pod %s of %q is reported by %q", pod.Name, pod.Spec.SchedulerName, event.ReportingController)
			}
		}
		if len(told) != count {
			return fmt.Errorf("there are events about %d pods, want %d", len(told), count)
		}
		return nil
	})
}

// profileAttempts are the attempts to schedule pods that had a result, by profile.
func (s *server) profileAttempts(result string) map[string]int {
	s.Helper()
	attempts, err := s.MetricBy(s.Context(), "muster_schedule_attempts_total", "profile", muster.Labels{"result": result})
	s.Must(err)
	maps.DeleteFunc(attempts, func(_ string, count int) bool { return count == 0 })
	return attempts
}

func TestProfilesChangeWhilePodsFlow(t *testing.T) {
	const nodes, cpus, flowing, packed = 8, 16, 24, 24
	c := newCluster(t, workload.NewNodes("node", nodes, fmt.Sprint(cpus))...)
	profile := func(strategy string) string {
		return `
profiles:
- schedulerName: default-scheduler
  nodeSelection: Muster
  plugins: {score: {disabled: [{name: NodeResourcesBalancedAllocation}]}}
  pluginConfig: [{name: NodeResourcesFit, args: {scoringStrategy: {type: ` + strategy + `}}}]
`
	}
	s := c.serve(muster.Options{Text: profile("LeastAllocated")})
	c.Schedule(s.schedulerConfig([]string{"--percentage-of-nodes-to-score=100"}))
	for i := range nodes {
		c.createPods(workload.NewPod(fmt.Sprintf("spread-%02d", i), "1"))
	}
	c.awaitBound(nodes)
	if used := len(c.spreadOver(of(corev1.DefaultSchedulerName), node)); used != nodes {
		t.Errorf("pods are on %d nodes, want one on each of %d", used, nodes)
	}

	var flow sync.WaitGroup
	flow.Go(func() {
		pace := time.NewTicker(100 * time.Millisecond)
		defer pace.Stop()
		for i := range flowing {
			if err := (&workload.Cluster{Pods: []*corev1.Pod{workload.NewPod(fmt.Sprintf("flowing-%02d", i), "100m")}}).CreateWorkloads(
				t.Context(), c.Client,
			); err != nil {
				t.Error(err)
			}
			<-pace.C
		}
	})
	c.Must(s.Configure(muster.Options{Text: profile("MostAllocated")}))
	c.EventuallyIs("the change is in force", 1, func() int {
		return s.metric("muster_config_reloads_total", muster.Labels{"result": "applied"})
	})
	flow.Wait()
	c.awaitBound(nodes + flowing)

	c.createPods(workload.NewPods("pod", packed, "1", workload.Labelled("after", "the-change"))...)
	c.awaitBound(nodes + flowing + packed)
	after := c.spreadOver(func(pod *corev1.Pod) bool { return pod.Labels["after"] != "" }, node)
	if most := packed/(cpus-1) + 2; len(after) > most {
		t.Errorf("pods after the change are on %v, want at most %d nodes", after, most)
	}
	if failed := s.profileAttempts("error"); len(failed) > 0 {
		t.Errorf("attempts failed: %v", failed)
	}
}

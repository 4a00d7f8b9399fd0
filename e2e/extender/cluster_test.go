package extender_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

func TestMain(m *testing.M) { lab.Main(m) }

// byHand is a scheduler that does not exist: its pods wait for the test. Muster has a profile for it
// that runs with ofByHand.
const (
	byHand   = "by-hand"
	ofByHand = "profiles: [{schedulerName: default-scheduler}, {schedulerName: " + byHand + "}]\n"
)

// cluster is a control plane without machines, whose nodes are ready when they are created.
type cluster struct{ *lab.Lab }

// newCluster takes one with nodes.
func newCluster(t *testing.T, nodes ...*corev1.Node) *cluster {
	t.Helper()
	return newClusterWith(t, nil, nodes...)
}

// newClusterWith takes one in which controllers run.
func newClusterWith(t *testing.T, controllers []string, nodes ...*corev1.Node) *cluster {
	t.Helper()
	c := &cluster{lab.Take(t, lab.Options{Options: controlplane.Options{Controllers: controllers}, CRDs: true})}
	c.createNodes(nodes...)
	return c
}

func (c *cluster) createNodes(nodes ...*corev1.Node) {
	c.Helper()
	c.Must((&workload.Cluster{Nodes: nodes}).CreateNodes(c.Context(), c.Client))
}

func (c *cluster) createPods(pods ...*corev1.Pod) {
	c.Helper()
	c.Must((&workload.Cluster{Pods: pods}).CreateWorkloads(c.Context(), c.Client))
}

// awaitBound waits until there are as many pods and each has a node.
func (c *cluster) awaitBound(count int) {
	c.Helper()
	c.Eventually("all pods are bound", func() error {
		pods, bound := c.Pods(), 0
		for _, pod := range pods {
			if pod.Spec.NodeName != "" {
				bound++
			}
		}
		if bound != count || len(pods) != count {
			return fmt.Errorf("%d of %d pods are bound, want all %d", bound, len(pods), count)
		}
		return nil
	})
}

// isBound says why a pod is not bound, nil when it is.
func (c *cluster) isBound(name string) error {
	if pod := c.Pod(name); pod.Spec.NodeName == "" {
		return fmt.Errorf("%s is not bound: %v", name, pod.Status.Conditions)
	}
	return nil
}

// awaitCondition waits until the scheduler has said of a pod why it is pending, and
// returns what it said.
func (c *cluster) awaitCondition(name string) corev1.PodCondition {
	c.Helper()
	var condition corev1.PodCondition
	c.Eventually("pod "+name+" is told why it is pending", func() error {
		for _, condition = range c.Pod(name).Status.Conditions {
			if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
				return nil
			}
		}
		return fmt.Errorf("it has no false condition %s", corev1.PodScheduled)
	})
	return condition
}

// createPriorityClass returns when pods may name the class.
func (c *cluster) createPriorityClass(name string, value int32, change ...func(*schedulingv1.PriorityClass)) {
	c.Helper()
	class := &schedulingv1.PriorityClass{ObjectMeta: metav1.ObjectMeta{Name: name}, Value: value}
	for _, f := range change {
		f(class)
	}
	c.Create(class)
	c.Eventually("the admission of pods knows the priority class", func() error {
		_, err := c.wouldBe(workload.NewPod("of-"+name, "1", workload.OfPriority(name)))
		return err
	})
}

// wouldBe is a pod as the API server would create it.
func (c *cluster) wouldBe(pod *corev1.Pod) (*corev1.Pod, error) {
	dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	return c.Client.CoreV1().Pods(pod.Namespace).Create(c.Context(), pod, dry)
}

// server is a muster beside a cluster.
type server struct {
	*cluster
	*muster.Server
}

// serve runs a muster until the test ends and returns when it is ready.
func (c *cluster) serve(o muster.Options) *server {
	c.Helper()
	return &server{c, c.Muster(o)}
}

// launch runs a muster until the test ends and returns when it is alive.
func (c *cluster) launch(o muster.Options) *server {
	c.Helper()
	s := &server{c, c.Launch(o)}
	c.Eventually("muster is alive", func() error { return s.status("/livez") })
	return s
}

// serveAndSchedule runs a muster and a stock scheduler that calls it.
func (c *cluster) serveAndSchedule(o muster.Options) *server {
	c.Helper()
	s := c.serve(o)
	c.Schedule(s.schedulerConfig(nil))
	return s
}

// schedulerConfig returns the output of `muster scheduler-config`, with changes of the test.
func (s *server) schedulerConfig(flags []string, change ...func(config map[string]any)) string {
	s.Helper()
	printed, err := s.SchedulerConfig(s.Context(), flags...)
	s.Must(err)
	var config map[string]any
	s.Must(yaml.Unmarshal([]byte(printed), &config))
	for _, f := range change {
		f(config)
	}
	changed, err := yaml.Marshal(config)
	s.Must(err)
	return string(changed)
}

// status is nil while a page answers 200.
func (s *server) status(path string) error {
	_, err := s.Page(s.Context(), path)
	return err
}

// calls is how many calls of a verb had an outcome.
func (s *server) calls(verb, outcome string) int {
	return s.metric("muster_verb_duration_seconds", muster.Labels{"verb": verb, "outcome": outcome})
}

// callsInFlight is how many calls of a verb are being answered.
func (s *server) callsInFlight(verb string) int {
	return s.metric("muster_verb_calls_in_flight", muster.Labels{"verb": verb})
}

// nominations is how many nominations had an outcome.
func (s *server) nominations(outcome string) int {
	return s.metric("muster_nominations_total", muster.Labels{"outcome": outcome})
}

func (s *server) metric(name string, labels muster.Labels) int {
	s.Helper()
	value, err := s.Metric(s.Context(), name, labels)
	s.Must(err)
	return value
}

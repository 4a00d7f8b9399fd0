package extender_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/scheduler"
	schedulerconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	inTree "k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/profile"

	"muster.dev/muster/api/config"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

const stock = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

func TestOffloadTurnsOffWhatMusterRunsAndNothingElse(t *testing.T) {
	c := newCluster(t)
	printed, err := muster.SchedulerConfig(t.Context(), lab.Program(c.T), "http://127.0.0.1:8888", "--offload")
	c.Must(err)
	ours := &config.Default().Profiles[0]
	ours.Offload = true
	// For preemption, for claims that are not bound, and for devices, which somebody has to allocate.
	stay := []string{config.NodeResourcesFit, config.VolumeBinding, config.DynamicResources}
	filters := func(plugin schedulerconfig.Plugin) bool {
		return !slices.Contains(stay, plugin.Name) && slices.Contains(ours.FilterPlugins(), plugin.Name)
	}
	scores := func(plugin schedulerconfig.Plugin) bool {
		return slices.ContainsFunc(ours.ScorePlugins(), func(score config.ScorePlugin) bool { return score.Name == plugin.Name })
	}
	want := c.pluginsThatRun(stock)
	want.PreFilter.Enabled = slices.DeleteFunc(want.PreFilter.Enabled, filters)
	want.Filter.Enabled = slices.DeleteFunc(want.Filter.Enabled, filters)
	want.PreScore.Enabled = slices.DeleteFunc(want.PreScore.Enabled, scores)
	want.Score.Enabled = slices.DeleteFunc(want.Score.Enabled, scores)
	if diff := cmp.Diff(want, c.pluginsThatRun(printed)); diff != "" {
		t.Errorf("what is to be left of the stock scheduler's plugins (-) and what runs (+) differ:\n%s", diff)
	}
}

// pluginsThatRun are the plugins that kube-scheduler makes of the configuration of its
// one profile, default-scheduler.
func (c *cluster) pluginsThatRun(document string) *schedulerconfig.Plugins {
	c.Helper()
	object, _, err := scheme.Codecs.UniversalDecoder().Decode([]byte(document), nil, nil)
	c.Must(err)
	configuration := object.(*schedulerconfig.KubeSchedulerConfiguration)
	s, err := scheduler.New(c.Context(), c.Client, scheduler.NewInformerFactory(c.Client, 0, nil), nil,
		profile.NewRecorderFactory(events.NewBroadcaster(&events.EventSinkImpl{Interface: c.Client.EventsV1()})),
		scheduler.WithKubeConfig(c.RESTConfig()),
		scheduler.WithProfiles(configuration.Profiles...),
		scheduler.WithExtenders(configuration.Extenders...))
	c.Must(err)
	return s.Profiles[corev1.DefaultSchedulerName].ListPlugins()
}

func TestOnlyPluginsThatKubeSchedulerHasCanBeOffloaded(t *testing.T) {
	registry := inTree.NewInTreeRegistry()
	for _, plugin := range config.KnownPlugins() {
		if _, has := registry[plugin.Name]; has != plugin.InTree {
			t.Errorf("%s: kube-scheduler has it: %t, muster takes it to: %t", plugin.Name, has, plugin.InTree)
		}
	}
}

// many are more nodes than kube-scheduler looks at, unless told otherwise: it is content
// with 48% of 300 that have room, and with 100 on which evictions would make it.
const many = 300

func slot(i int) map[string]string { return map[string]string{"example.com/slot": strconv.Itoa(i)} }

// onSlot restricts a pod to the one node of a slot.
func onSlot(i int) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Name, pod.Spec.NodeSelector = fmt.Sprintf("slot-%d", i), slot(i)
	}
}

func TestAnOffloadedSchedulerFindsTheOneNodeOfManyAtOnce(t *testing.T) {
	nodes := workload.NewNodes("node", many, "4")
	var pods []*corev1.Pod
	for i, node := range nodes {
		node.Labels = slot(i)
		if i%25 == 0 {
			pods = append(pods, workload.NewPod("", "1", onSlot(i)))
		}
	}
	c := newCluster(t, nodes...)
	s := c.serveAndSchedule(muster.Options{Text: "profiles: [{offload: true, nodeSelection: Muster}]"})
	c.createPods(pods...)
	c.awaitBound(len(pods))
	if got := s.calls("filter", "unschedulable"); got > 0 {
		t.Errorf("%d attempts found no node: kube-scheduler did not offer all that have room", got)
	}
}

// Victims stay until the test lets them go, so that no view of the cluster is ahead of the
// other one while preemption is looked at.
func TestAnOffloadedSchedulerPreemptsOnTheOneNodeOfManyAtOnce(t *testing.T) {
	lab.Long(t)
	nodes := workload.NewNodes("node", many, "4")
	var low, victims, high []*corev1.Pod
	for i, node := range nodes {
		node.Labels = slot(i)
		pod := workload.NewPod("low-"+node.Name, "3", workload.On(node.Name))
		if i%75 == 0 {
			pod.Finalizers = []string{"example.com/stays"}
			victims = append(victims, pod)
			high = append(high, workload.NewPod("", "3", onSlot(i), workload.OfPriority("high")))
		}
		low = append(low, pod)
	}
	c := newCluster(t, nodes...)
	c.createPriorityClass("high", 1000)
	c.createPods(low...)
	s := c.serveAndSchedule(muster.Options{Text: "profiles: [{offload: true, nodeSelection: Muster}]"})
	c.createPods(high...)
	c.Eventually("the one node of each pod is to make place for it", func() error {
		pods := c.Pods()
		for i, pod := range high {
			victim := victims[i]
			if got := pods[pod.Name].Status.NominatedNodeName; got != victim.Spec.NodeName || pods[victim.Name].DeletionTimestamp == nil {
				return fmt.Errorf("%s is to go to %q, want %s, whose pod is being deleted: %v",
					pod.Name, got, victim.Spec.NodeName, pods[victim.Name].DeletionTimestamp != nil)
			}
		}
		return nil
	})
	if got := s.calls("preempt", "unschedulable"); got > 0 {
		t.Errorf("%d attempts at preemption found no node: kube-scheduler did not propose all on which evictions make room", got)
	}
	for _, pod := range victims {
		_, err := c.Client.CoreV1().Pods(pod.Namespace).Patch(t.Context(), pod.Name, types.MergePatchType,
			[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
		c.Must(err)
	}
	c.awaitBound(many) // one has made place for each
}

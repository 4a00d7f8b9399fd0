package extender_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	inTree "k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/profile"

	"muster.dev/muster/api/config/v1alpha2"
	"muster.dev/muster/e2e/muster"
)

const stock = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

func TestOffloadTurnsOffWhatMusterRunsAndNothingElse(t *testing.T) {
	printed, err := muster.SchedulerConfig(t.Context(), shared.muster, "http://127.0.0.1:8888", "--offload")
	if err != nil {
		t.Fatal(err)
	}
	ours := &v1alpha2.Default().Profiles[0]
	ours.Offload = true
	filters := func(plugin config.Plugin) bool {
		return plugin.Name != v1alpha2.NodeResourcesFit && slices.Contains(ours.FilterPlugins(), plugin.Name)
	}
	scores := func(plugin config.Plugin) bool {
		return slices.ContainsFunc(ours.ScorePlugins(), func(score v1alpha2.ScorePlugin) bool { return score.Name == plugin.Name })
	}
	want := pluginsThatRun(t, stock)
	want.PreFilter.Enabled = slices.DeleteFunc(want.PreFilter.Enabled, filters)
	want.Filter.Enabled = slices.DeleteFunc(want.Filter.Enabled, filters)
	want.PreScore.Enabled = slices.DeleteFunc(want.PreScore.Enabled, scores)
	want.Score.Enabled = slices.DeleteFunc(want.Score.Enabled, scores)
	if diff := cmp.Diff(want, pluginsThatRun(t, printed)); diff != "" {
		t.Errorf("what is to be left of the stock scheduler's plugins (-) and what runs (+) differ:\n%s", diff)
	}
}

// pluginsThatRun are the plugins that kube-scheduler makes of the configuration of its
// one profile, default-scheduler.
func pluginsThatRun(t *testing.T, document string) *config.Plugins {
	t.Helper()
	object, _, err := scheme.Codecs.UniversalDecoder().Decode([]byte(document), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	configuration := object.(*config.KubeSchedulerConfiguration)
	s, err := scheduler.New(t.Context(), shared.client, scheduler.NewInformerFactory(shared.client, 0), nil,
		profile.NewRecorderFactory(events.NewBroadcaster(&events.EventSinkImpl{Interface: shared.client.EventsV1()})),
		scheduler.WithKubeConfig(shared.RESTConfig()),
		scheduler.WithProfiles(configuration.Profiles...),
		scheduler.WithExtenders(configuration.Extenders...))
	if err != nil {
		t.Fatal(err)
	}
	return s.Profiles[corev1.DefaultSchedulerName].ListPlugins()
}

func TestOnlyPluginsThatKubeSchedulerHasCanBeOffloaded(t *testing.T) {
	registry := inTree.NewInTreeRegistry()
	for _, plugin := range v1alpha2.KnownPlugins() {
		if _, has := registry[plugin.Name]; has != plugin.InTree() {
			t.Errorf("%s: kube-scheduler has it: %t, muster takes it to: %t", plugin.Name, has, plugin.InTree())
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
	for _, selection := range []string{"Scheduler", "Extender"} {
		t.Run(selection+" chooses", func(t *testing.T) {
			nodes := newNodes(many, "4")
			var pods []*corev1.Pod
			for i, node := range nodes {
				node.Labels = slot(i)
				if i%25 == 0 {
					pods = append(pods, newPod("", "1", onSlot(i)))
				}
			}
			c := newCluster(t, nodes...)
			s := c.serve(serving{config: "profiles: [{offload: true, nodeSelection: " + selection + "}]"})
			c.schedule(s.schedulerConfig(nil))
			c.createPods(pods...)
			c.awaitBound(len(pods))
			if got := s.calls("filter", "unschedulable"); got > 0 {
				t.Errorf("%d attempts found no node: kube-scheduler did not offer all that have room", got)
			}
		})
	}
}

func TestAnOffloadedSchedulerPreemptsOnTheOneNodeOfManyAtOnce(t *testing.T) {
	nodes := newNodes(many, "4")
	var low, high []*corev1.Pod
	for i, node := range nodes {
		node.Labels = slot(i)
		low = append(low, newPod("low-"+node.Name, "3", func(pod *corev1.Pod) { pod.Spec.NodeName = node.Name }))
		if i%75 == 0 {
			high = append(high, newPod("", "3", onSlot(i), withPriority("high")))
		}
	}
	c := newCluster(t, nodes...)
	c.createPriorityClass("high", 1000)
	c.createPods(low...)
	s := c.serve(serving{config: "profiles: [{offload: true, nodeSelection: Extender}]"})
	c.schedule(s.schedulerConfig(nil))
	c.createPods(high...)
	c.awaitBound(many) // one has made place for each
	// kube-scheduler may try once more when it sees that the victim is gone before muster does.
	if got := s.calls("preempt", "unschedulable"); got > uint64(len(high)) {
		t.Errorf("%d attempts at preemption found no node: kube-scheduler did not propose all on which evictions make room", got)
	}
}

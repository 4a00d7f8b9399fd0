package extender_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/scheduler"
	schedulerconfig "k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/scheme"
	inTree "k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/profile"

	"muster.dev/muster/api/config"
	"muster.dev/muster/e2e/muster"
)

const stock = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"

func TestOffloadTurnsOffWhatMusterRunsAndNothingElse(t *testing.T) {
	printed, err := muster.SchedulerConfig(t.Context(), shared.muster, "http://127.0.0.1:8888", "--offload")
	if err != nil {
		t.Fatal(err)
	}
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
func pluginsThatRun(t *testing.T, document string) *schedulerconfig.Plugins {
	t.Helper()
	object, _, err := scheme.Codecs.UniversalDecoder().Decode([]byte(document), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	configuration := object.(*schedulerconfig.KubeSchedulerConfiguration)
	s, err := scheduler.New(t.Context(), shared.client, scheduler.NewInformerFactory(shared.client, 0, nil), nil,
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

// Victims stay until the test lets them go, so that no view of the cluster is ahead of the
// other one while preemption is looked at.
func TestAnOffloadedSchedulerPreemptsOnTheOneNodeOfManyAtOnce(t *testing.T) {
	nodes := newNodes(many, "4")
	var low, victims, high []*corev1.Pod
	for i, node := range nodes {
		node.Labels = slot(i)
		pod := newPod("low-"+node.Name, "3", func(pod *corev1.Pod) { pod.Spec.NodeName = node.Name })
		if i%75 == 0 {
			pod.Finalizers = []string{ours}
			victims = append(victims, pod)
			high = append(high, newPod("", "3", onSlot(i), withPriority("high")))
		}
		low = append(low, pod)
	}
	c := newCluster(t, nodes...)
	c.createPriorityClass("high", 1000)
	letGo := func(ctx context.Context) error {
		for _, pod := range victims {
			_, err := c.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.MergePatchType,
				[]byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				return err
			}
		}
		return nil
	}
	t.Cleanup(func() {
		if err := letGo(context.Background()); err != nil {
			t.Error(err)
		}
	})
	c.createPods(low...)
	s := c.serve(serving{config: "profiles: [{offload: true, nodeSelection: Extender}]"})
	c.schedule(s.schedulerConfig(nil))
	c.createPods(high...)
	c.eventually("the one node of each pod is to make place for it", func() error {
		pods, err := c.pods()
		if err != nil {
			return err
		}
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
	if err := letGo(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.awaitBound(many) // one has made place for each
}

package finished

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

// podServer holds the pods of an API server by their phase, and who watches them. It is filled
// before the first watch, and then only with what is shown to it.
type podServer struct {
	byPhase map[corev1.PodPhase][]*metav1.PartialObjectMetadata

	mu      sync.Mutex
	watches []podWatch
}

type podWatch struct {
	*watch.FakeWatcher
	restrictions clienttesting.WatchRestrictions
}

func (p *podServer) client() *metadatafake.FakeMetadataClient {
	client := metadatafake.NewSimpleMetadataClient(metadatafake.NewTestScheme())
	client.PrependReactor("list", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		fields := action.(clienttesting.ListAction).GetListRestrictions().Fields
		list := &metav1.List{ListMeta: metav1.ListMeta{ResourceVersion: "1"}}
		for phase, pods := range p.byPhase {
			for _, pod := range pods {
				if fields.Matches(phaseIs(phase)) { // the client itself matches labels
					list.Items = append(list.Items, runtime.RawExtension{Object: pod.DeepCopy()})
				}
			}
		}
		return true, list, nil
	})
	client.PrependWatchReactor("pods", func(action clienttesting.Action) (bool, watch.Interface, error) {
		p.mu.Lock()
		defer p.mu.Unlock()
		w := podWatch{watch.NewFakeWithOptions(watch.FakeOptions{ChannelSize: 10}), action.(clienttesting.WatchAction).GetWatchRestrictions()}
		p.watches = append(p.watches, w)
		return true, w, nil
	})
	return client
}

// phaseIs are the fields of a pod in a phase.
type phaseIs corev1.PodPhase

func (p phaseIs) Has(field string) bool { return field == "status.phase" }
func (p phaseIs) Get(string) string     { return string(p) }

// show shows an event of a pod to the watches on its phase and its labels.
func (p *podServer) show(event watch.EventType, phase corev1.PodPhase, pod *metav1.PartialObjectMetadata) {
	p.mu.Lock()
	for _, w := range p.watches {
		if w.restrictions.Fields.Matches(phaseIs(phase)) && w.restrictions.Labels.Matches(labels.Set(pod.Labels)) {
			w.Action(event, pod.DeepCopy())
		}
	}
	p.mu.Unlock()
	synctest.Wait()
}

func ended(namespace, name string, labels map[string]string) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(name), ResourceVersion: "1", Labels: labels},
	}
}

func TestPodsThatHaveFinishedAreToldByGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, ours := map[string]string{v1alpha1.LabelX: "g"}, map[string]string{v1alpha1.LabelMuster: "g"}
		server := &podServer{byPhase: map[corev1.PodPhase][]*metav1.PartialObjectMetadata{
			corev1.PodSucceeded: {
				ended("a", "1", x), ended("b", "2", x), ended("a", "3", map[string]string{v1alpha1.LabelSigs: "g"}),
				ended("a", "4", map[string]string{v1alpha1.LabelX: "h", v1alpha1.LabelSigs: "other"}), // of one group
				ended("a", "5", nil),
			},
			corev1.PodFailed:  {ended("a", "6", x), ended("a", "7", ours)},
			corev1.PodRunning: {ended("a", "8", x)},
		}}
		var mu sync.Mutex
		var told []string
		pods, err := Follow(server.client(), clock.RealClock{}, Owned{}, func(pod Pod) {
			mu.Lock()
			defer mu.Unlock()
			said := fmt.Sprintf("%s %s of %s by %s", pod.UID, pod.Phase, pod.Group, pod.Label)
			if pod.Gone {
				said += ", gone"
			}
			told = append(told, said)
		})
		if err != nil {
			t.Fatal(err)
		}
		expect := func(when string, want ...string) {
			t.Helper()
			mu.Lock()
			defer mu.Unlock()
			slices.Sort(told)
			if diff := cmp.Diff(want, told); diff != "" {
				t.Errorf("%s (-want +got):\n%s", when, diff)
			}
			told = nil
		}
		if pods.Synced() {
			t.Error("in sync before it ran")
		}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { pods.Run(ctx) })
		synctest.Wait()
		if !pods.Synced() {
			t.Error("not in sync")
		}
		expect("at the start",
			"1 Succeeded of a/g by scheduling.x-k8s.io/pod-group",
			"2 Succeeded of b/g by scheduling.x-k8s.io/pod-group",
			"3 Succeeded of a/g by pod-group.scheduling.sigs.k8s.io",
			"4 Succeeded of a/h by scheduling.x-k8s.io/pod-group",
			"6 Failed of a/g by scheduling.x-k8s.io/pod-group",
			"7 Failed of a/g by muster.dev/pod-group",
		)
		server.show(watch.Added, corev1.PodSucceeded, ended("a", "8", x))
		expect("another one succeeds", "8 Succeeded of a/g by scheduling.x-k8s.io/pod-group")

		deleted := ended("a", "8", x)
		deleted.DeletionTimestamp = &metav1.Time{Time: time.Now()}
		server.show(watch.Modified, corev1.PodSucceeded, deleted)
		expect("it is being deleted", "8 Succeeded of a/g by scheduling.x-k8s.io/pod-group, gone")

		server.show(watch.Deleted, corev1.PodFailed, ended("a", "6", x))
		expect("one that has failed is deleted", "6 Failed of a/g by scheduling.x-k8s.io/pod-group, gone")

		server.show(watch.Modified, corev1.PodSucceeded, ended("a", "1", map[string]string{v1alpha1.LabelX: "h"}))
		expect("one goes over to another group",
			"1 Succeeded of a/g by scheduling.x-k8s.io/pod-group, gone", "1 Succeeded of a/h by scheduling.x-k8s.io/pod-group")
		stop()
		running.Wait()
	})
}

func TestPodsThatCannotBeReadAreNotWaitedForForLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := metadatafake.NewSimpleMetadataClient(metadatafake.NewTestScheme())
		client.PrependReactor("list", "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
			return true, nil, apierrors.NewForbidden(corev1.Resource("pods"), "", nil)
		})
		pods, err := Follow(client, clock.RealClock{}, Owned{}, func(Pod) {})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { pods.Run(ctx) })
		<-time.After(patience - time.Second)
		if pods.Synced() {
			t.Error("in sync without the pods")
		}
		if err := pods.WaitForSync(ctx); err != nil {
			t.Error(err)
		}
		stop()
		running.Wait()
	})
}

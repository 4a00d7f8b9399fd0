package status

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	metadatafake "k8s.io/client-go/metadata/fake"
	clienttesting "k8s.io/client-go/testing"

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

// show shows an event of a pod to those who watch for its phase and its labels.
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

func TestPodsThatHaveEndedAreCountedByGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		x, sigs, ours := map[string]string{v1alpha1.LabelX: "g"}, map[string]string{v1alpha1.LabelSigs: "g"}, map[string]string{v1alpha1.LabelMuster: "g"}
		server := &podServer{byPhase: map[corev1.PodPhase][]*metav1.PartialObjectMetadata{
			corev1.PodSucceeded: {
				ended("a", "1", x), ended("a", "2", x), ended("b", "3", x), ended("a", "4", sigs), ended("a", "5", map[string]string{v1alpha1.LabelX: "h"}),
				ended("a", "6", map[string]string{v1alpha1.LabelX: "g", v1alpha1.LabelSigs: "other"}), // counts once
				ended("a", "7", nil),
			},
			corev1.PodFailed:  {ended("a", "8", x), ended("a", "9", ours)},
			corev1.PodRunning: {ended("a", "10", x)},
		}}

		type group struct{ label, namespace, name string }
		var mu sync.Mutex
		changed := map[group]bool{}
		f, err := NewFinished(server.client(), func(label string, of types.NamespacedName) {
			mu.Lock()
			defer mu.Unlock()
			changed[group{label, of.Namespace, of.Name}] = true
		})
		if err != nil {
			t.Fatal(err)
		}
		expect := func(when string, wantChanged map[group]bool, want map[group][2]int) {
			t.Helper()
			got := map[group][2]int{}
			for g := range want {
				succeeded, failed := f.Count(g.label, types.NamespacedName{Namespace: g.namespace, Name: g.name})
				got[g] = [2]int{succeeded, failed}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s: counts, want (-) got (+):\n%s", when, diff)
			}
			mu.Lock()
			defer mu.Unlock()
			if diff := cmp.Diff(wantChanged, changed, cmp.AllowUnexported(group{})); diff != "" {
				t.Errorf("%s: changed, want (-) got (+):\n%s", when, diff)
			}
			clear(changed)
		}
		ag, bg, ah := group{v1alpha1.LabelX, "a", "g"}, group{v1alpha1.LabelX, "b", "g"}, group{v1alpha1.LabelX, "a", "h"}
		sg, so, mg := group{v1alpha1.LabelSigs, "a", "g"}, group{v1alpha1.LabelSigs, "a", "other"}, group{v1alpha1.LabelMuster, "a", "g"}
		if f.HasSynced() {
			t.Error("in sync before it ran")
		}
		expect("before it ran", map[group]bool{}, map[group][2]int{ag: {}})

		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { f.Run(ctx) })
		synctest.Wait()
		if !f.HasSynced() {
			t.Error("not in sync")
		}
		expect("at the start", map[group]bool{ag: true, bg: true, ah: true, sg: true, mg: true},
			map[group][2]int{ag: {3, 1}, bg: {1, 0}, ah: {1, 0}, sg: {1, 0}, so: {}, mg: {0, 1}})

		server.show(watch.Added, corev1.PodSucceeded, ended("a", "10", x))
		expect("another succeeds", map[group]bool{ag: true}, map[group][2]int{ag: {4, 1}, bg: {1, 0}})

		server.show(watch.Deleted, corev1.PodFailed, ended("a", "8", x))
		expect("one that has failed is deleted", map[group]bool{ag: true}, map[group][2]int{ag: {4, 0}})

		server.show(watch.Modified, corev1.PodSucceeded, ended("a", "1", map[string]string{v1alpha1.LabelX: "h"}))
		expect("one goes over to another group", map[group]bool{ag: true, ah: true}, map[group][2]int{ag: {3, 0}, ah: {2, 0}})
		stop()
		running.Wait()
	})
}

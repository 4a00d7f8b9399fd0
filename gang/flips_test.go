package gang

import (
	"context"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

func TestAGroupIsToldToBeSatisfiedOrNotWithinASecond(t *testing.T) {
	run(t, func(p *process) {
		resource := v1alpha1.ResourceOf(v1alpha1.GroupX)
		group := podGroup("g", 2)
		group.SetUID("g")
		group.SetResourceVersion("1")
		objects := dynamicfake.NewSimpleDynamicClientWithCustomListKinds(
			runtime.NewScheme(), map[schema.GroupVersionResource]string{resource: "PodGroupList"}, group.DeepCopy())
		ctx, stop := context.WithCancel(p.Context())
		var publishing sync.WaitGroup
		publishing.Go(func() {
			if err := p.Publisher.Run(ctx, Clients{Core: fake.NewClientset(), Dynamic: objects}); err != nil {
				t.Error(err)
			}
		})
		defer publishing.Wait()
		defer stop()
		wants := func(when string, want metav1.ConditionStatus) {
			t.Helper()
			p.after(time.Second)
			object, err := objects.Resource(resource).Namespace("default").Get(ctx, "g", metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			decoded, err := v1alpha1.Decode(object)
			if err != nil {
				t.Fatal(err)
			}
			got := meta.FindStatusCondition(decoded.Status.Conditions, v1alpha1.PodGroupSatisfiedCondition)
			if got == nil || got.Status != want {
				t.Errorf("%s it is satisfied: %+v, want %s", when, got, want)
			}
		}
		runs := func(pod *corev1.Pod) {
			pod.Spec.NodeName, pod.Status.Phase = "a", corev1.PodRunning
			p.set(pod)
		}
		pods := members("g", 3, "1")
		p.set(node("a", "8"), group)
		runs(pods[0])
		wants("with one of two", metav1.ConditionFalse)
		runs(pods[1])
		wants("with two", metav1.ConditionTrue)
		p.set(leaving(pods[1]))
		wants("while one is being deleted", metav1.ConditionFalse)
		runs(pods[2])
		wants("with another one", metav1.ConditionTrue)
		p.delete(pods[1])
		wants("when that has gone", metav1.ConditionTrue)
		p.delete(pods[0])
		wants("when one more has gone", metav1.ConditionFalse)
	})
}

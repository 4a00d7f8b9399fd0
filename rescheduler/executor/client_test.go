package executor

import (
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"muster.dev/muster/api/rescheduling/v1alpha1"
)

func TestANodeIsEditedAsTheAPIServerHasIt(t *testing.T) {
	stored := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1", UID: "uid", ResourceVersion: "7", Annotations: map[string]string{"theirs": "1", "ours": "1"}},
		Spec:       corev1.NodeSpec{Taints: []corev1.Taint{{Key: "theirs", Effect: corev1.TaintEffectNoSchedule}}},
	}
	for name, test := range map[string]struct {
		uid   types.UID
		edit  func(*corev1.Node)
		patch []string
		fails func(error) bool
	}{
		"a patch names its version and UID, and has what changes": {
			uid: "uid",
			edit: func(n *corev1.Node) {
				annotate(n, "ours", "")
				n.Spec.Unschedulable = true
			},
			patch: []string{`{"metadata":{"annotations":{"ours":null},"resourceVersion":"7","uid":"uid"},"spec":{"unschedulable":true}}`},
		},
		"a taint is added to the present ones": {
			uid: "uid",
			edit: func(n *corev1.Node) {
				n.Spec.Taints = append(n.Spec.Taints, corev1.Taint{Key: "ours", Effect: corev1.TaintEffectNoSchedule})
			},
			patch: []string{`{"metadata":{"resourceVersion":"7","uid":"uid"},"spec":{"taints":[{"effect":"NoSchedule","key":"theirs"},` +
				`{"effect":"NoSchedule","key":"ours"}]}}`},
		},
		"nothing is written when nothing changes": {uid: "uid", edit: func(*corev1.Node) {}},
		"another node of that name is left alone": {
			uid: "other", edit: func(n *corev1.Node) { annotate(n, "ours", "") }, fails: apierrors.IsConflict,
		},
	} {
		t.Run(name, func(t *testing.T) {
			core := fake.NewClientset(stored.DeepCopy())
			var patches []string
			core.PrependReactor("patch", "nodes", func(action clienttesting.Action) (bool, runtime.Object, error) {
				patches = append(patches, string(action.(clienttesting.PatchAction).GetPatch()))
				return true, stored, nil
			})
			client := NewClient(core, dynamicfake.NewSimpleDynamicClient(runtime.NewScheme()))
			seen := stored.DeepCopy() // long ago
			seen.UID, seen.ResourceVersion, seen.Spec.Taints, seen.Annotations = test.uid, "3", nil, nil
			err := client.EditNode(t.Context(), seen, test.edit)
			if err != nil && (test.fails == nil || !test.fails(err)) || err == nil && test.fails != nil {
				t.Errorf("the error is %v", err)
			}
			if diff := cmp.Diff(test.patch, patches); diff != "" {
				t.Errorf("patches (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAMissingDefinitionOfPlansIsSaidAsSuch(t *testing.T) {
	objects := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
	objects.PrependReactor("create", "*", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, nil, &apierrors.StatusError{ErrStatus: metav1.Status{
			Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound, Message: "the server could not find the requested resource",
		}}
	})
	_, err := NewClient(fake.NewClientset(), objects).Create(t.Context(), &v1alpha1.ReschedulingPlan{})
	if err == nil || !strings.Contains(err.Error(), "the CustomResourceDefinition reschedulingplans.rescheduling.muster.dev is missing") {
		t.Errorf("error %v", err)
	}
}

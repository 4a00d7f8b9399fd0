package lab

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

func TestMain(m *testing.M) { Main(m) }

// The subtests run one after the other: the second one takes what the first gave back.
func TestWhatATestLeavesIsGoneForTheNext(t *testing.T) {
	var first string
	t.Run("a test leaves objects of all kinds", func(t *testing.T) {
		l := take(t, Options{CRDs: true})
		first = l.Dir()
		l.Must(l.StartKWOK(t.Context()))
		_, err := l.Client.CoreV1().Namespaces().Create(
			t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "tenant"}}, metav1.CreateOptions{},
		)
		l.Must(err)
		for _, name := range []string{"plain", "finalized"} {
			volume := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "tenant"}}
			if name == "finalized" {
				volume.Finalizers = []string{"example.com/never"}
			}
			volume.Spec = corev1.PersistentVolumeClaimSpec{AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}}
			volume.Spec.Resources.Requests = corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
			_, err := l.Client.CoreV1().PersistentVolumeClaims("tenant").Create(t.Context(), volume, metav1.CreateOptions{})
			l.Must(err)
		}
		group := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": v1alpha1.Resources()[0].GroupVersion().String(), "kind": "PodGroup",
			"metadata": map[string]any{"name": "gang"}, "spec": map[string]any{"minMember": int64(2)},
		}}
		_, err = l.Dynamic.Resource(v1alpha1.Resources()[0]).Namespace("tenant").Create(t.Context(), group, metav1.CreateOptions{})
		l.Must(err)
		for i := range 50 {
			configMap := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{GenerateName: fmt.Sprintf("many-%d-", i)}}
			_, err := l.Client.CoreV1().ConfigMaps("tenant").Create(t.Context(), configMap, metav1.CreateOptions{})
			l.Must(err)
		}
		namespace, err := l.Client.CoreV1().Namespaces().Get(t.Context(), metav1.NamespaceDefault, metav1.GetOptions{})
		l.Must(err)
		namespace.Labels["example.com/marked"] = "true"
		_, err = l.Client.CoreV1().Namespaces().Update(t.Context(), namespace, metav1.UpdateOptions{})
		l.Must(err)
	})
	t.Run("the next test finds none of them", func(t *testing.T) {
		l := take(t, Options{CRDs: true})
		if l.Dir() != first {
			t.Error("it got another control plane")
		}
		now, err := l.plane.takeStock(t.Context())
		l.Must(err)
		for uid, o := range now {
			if _, known := l.plane.before[uid]; !known {
				t.Errorf("%s %s/%s is still there", o.resource.Resource, o.meta.Namespace, o.meta.Name)
			}
		}
		namespace, err := l.Client.CoreV1().Namespaces().Get(t.Context(), metav1.NamespaceDefault, metav1.GetOptions{})
		l.Must(err)
		if _, marked := namespace.Labels["example.com/marked"]; marked {
			t.Error("the namespace default is still marked")
		}
	})
	t.Run("other options make another control plane", func(t *testing.T) {
		if l := take(t, Options{}); l.Dir() == first {
			t.Error("it got the same one")
		}
	})
	t.Run("who damages what was there before gets the last use of it", func(t *testing.T) {
		l := take(t, Options{CRDs: true})
		l.Must(l.Client.RbacV1().ClusterRoles().Delete(t.Context(), "view", metav1.DeleteOptions{}))
	})
	t.Run("the next one is new", func(t *testing.T) {
		if l := take(t, Options{CRDs: true}); l.Dir() == first {
			t.Error("it got the damaged one")
		}
	})
}

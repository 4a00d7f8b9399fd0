package extender_test

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/e2e/workload"
)

// lateClaim is a claim whose volume nobody makes but the test, once a pod that uses it has its node.
type lateClaim struct {
	*cluster
	name string
}

func (c *cluster) newLateClaim(name string) *lateClaim {
	c.Helper()
	class := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: "example.com/late",
		VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer),
	}
	if _, err := c.client.StorageV1().StorageClasses().Create(c.Context(), class, metav1.CreateOptions{}); err != nil {
		c.Fatal(err)
	}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: workload.Namespace},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &name, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources: corev1.VolumeResourceRequirements{Requests: oneGi()},
		},
	}
	if _, err := c.client.CoreV1().PersistentVolumeClaims(workload.Namespace).Create(c.Context(), claim, metav1.CreateOptions{}); err != nil {
		c.Fatal(err)
	}
	l := &lateClaim{c, name}
	c.Cleanup(l.clear)
	return l
}

// clear deletes what the claim is made of.
func (l *lateClaim) clear() {
	ctx, now := context.Background(), metav1.DeleteOptions{}
	claims, volumes := l.client.CoreV1().PersistentVolumeClaims(workload.Namespace), l.client.CoreV1().PersistentVolumes()
	unprotected := []byte(`{"metadata":{"finalizers":null}}`)
	_, _ = claims.Patch(ctx, l.name, types.MergePatchType, unprotected, metav1.PatchOptions{})
	_, _ = volumes.Patch(ctx, l.name, types.MergePatchType, unprotected, metav1.PatchOptions{}) // there may be none
	_ = volumes.Delete(ctx, l.name, now)
	if err := errors.Join(claims.Delete(ctx, l.name, now), l.client.StorageV1().StorageClasses().Delete(ctx, l.name, now)); err != nil {
		l.Error(err)
	}
}

func oneGi() corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
}

// used has a pod wait for the volume.
func (l *lateClaim) used(pod *corev1.Pod) {
	pod.Spec.Volumes = []corev1.Volume{{Name: "late", VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: l.name},
	}}}
}

// provide makes the volume and binds the claim to it.
func (l *lateClaim) provide() {
	l.Helper()
	core := l.client.CoreV1()
	claim, err := core.PersistentVolumeClaims(workload.Namespace).Get(l.Context(), l.name, metav1.GetOptions{})
	if err != nil {
		l.Fatal(err)
	}
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: l.name}, Spec: corev1.PersistentVolumeSpec{
		Capacity: oneGi(), AccessModes: claim.Spec.AccessModes, StorageClassName: l.name,
		PersistentVolumeSource: corev1.PersistentVolumeSource{
			CSI: &corev1.CSIPersistentVolumeSource{Driver: "example.com", VolumeHandle: l.name},
		},
		ClaimRef: &corev1.ObjectReference{
			Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
		},
	}}
	if _, err := core.PersistentVolumes().Create(l.Context(), volume, metav1.CreateOptions{}); err != nil {
		l.Fatal(err)
	}
	claim.Spec.VolumeName = volume.Name
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, "pv.kubernetes.io/bind-completed", "yes")
	if claim, err = core.PersistentVolumeClaims(claim.Namespace).Update(l.Context(), claim, metav1.UpdateOptions{}); err != nil {
		l.Fatal(err)
	}
	claim.Status.Phase = corev1.ClaimBound
	if _, err := core.PersistentVolumeClaims(claim.Namespace).UpdateStatus(l.Context(), claim, metav1.UpdateOptions{}); err != nil {
		l.Fatal(err)
	}
}

// kube-scheduler waits for the volume before it asks muster to bind the pod, for many times as long as an assumption
// lives of which nothing is heard.
func TestAPodThatWaitsForItsVolumeKeepsItsPlace(t *testing.T) {
	const assume = time.Second
	c := newCluster(t, newNode("a", "64"))
	claim := c.newLateClaim("late")
	s := c.serve(serving{
		config: "profiles: [{offload: true, nodeSelection: Extender}]\ntimeouts: {assume: " + assume.String() + "}",
	})
	c.schedule(s.schedulerConfig(nil))
	c.createPods(newPod("first", "10m", withPort, claim.used))
	c.eventually("kube-scheduler waits for the volume of the first pod", func() error {
		if c.pod("first").Status.NominatedNodeName != "a" {
			return errors.New("it is not nominated yet")
		}
		return nil
	})
	<-time.After(5 * assume)
	c.createPods(newPod("second", "10m", withPort))
	c.awaitCondition("second")
	claim.provide()
	c.eventually("the first pod is bound", func() error {
		if c.pod("first").Spec.NodeName == "" {
			return errors.New("it is not")
		}
		return nil
	})
	if got := c.pod("second").Spec.NodeName; got != "" {
		t.Errorf("the second one is on %s as well", got)
	}
}

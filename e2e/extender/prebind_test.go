package extender_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// lateClaim is a claim whose volume nobody makes but the test, once a pod that uses it has its node.
type lateClaim struct {
	*cluster
	name string
}

func (c *cluster) newLateClaim(name string) *lateClaim {
	c.Helper()
	c.Create(
		&storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{Name: name}, Provisioner: "example.com/late",
			VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer),
		},
		&corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: corev1.PersistentVolumeClaimSpec{
				StorageClassName: &name, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
				Resources: corev1.VolumeResourceRequirements{Requests: oneGi()},
			},
		},
	)
	return &lateClaim{c, name}
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
	core := l.Client.CoreV1()
	claim, err := core.PersistentVolumeClaims(workload.Namespace).Get(l.Context(), l.name, metav1.GetOptions{})
	l.Must(err)
	volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: l.name}, Spec: corev1.PersistentVolumeSpec{
		Capacity: oneGi(), AccessModes: claim.Spec.AccessModes, StorageClassName: l.name,
		PersistentVolumeSource: corev1.PersistentVolumeSource{
			CSI: &corev1.CSIPersistentVolumeSource{Driver: "example.com", VolumeHandle: l.name},
		},
		ClaimRef: &corev1.ObjectReference{
			Kind: "PersistentVolumeClaim", APIVersion: "v1", Namespace: claim.Namespace, Name: claim.Name, UID: claim.UID,
		},
	}}
	l.Create(volume)
	claim.Spec.VolumeName = volume.Name
	metav1.SetMetaDataAnnotation(&claim.ObjectMeta, "pv.kubernetes.io/bind-completed", "yes")
	claim, err = core.PersistentVolumeClaims(claim.Namespace).Update(l.Context(), claim, metav1.UpdateOptions{})
	l.Must(err)
	claim.Status.Phase = corev1.ClaimBound
	_, err = core.PersistentVolumeClaims(claim.Namespace).UpdateStatus(l.Context(), claim, metav1.UpdateOptions{})
	l.Must(err)
}

// kube-scheduler waits for the volume before it asks muster to bind the pod, many times longer than an unheard-of
// assumption lives.
func TestAPodThatWaitsForItsVolumeKeepsItsPlace(t *testing.T) {
	lab.Long(t)
	const assume = 3 * time.Second // and how long a bind call may take
	c := newCluster(t, workload.NewNode("a", "64"))
	claim := c.newLateClaim("late")
	s := c.serve(muster.Options{
		Text: "profiles: [{offload: true, nodeSelection: Muster}]\ntimeouts: {bind: " + assume.String() + "}",
	})
	c.Schedule(s.schedulerConfig(nil))
	c.createPods(workload.NewPod("first", "2", withPort, claim.used))
	c.EventuallyTrue("kube-scheduler waits for the volume of the first pod", func() bool {
		return c.Pod("first").Status.NominatedNodeName == "a"
	})
	<-time.After(5 * assume) // what has not expired by then does not
	c.createPods(workload.NewPod("second", "2", withPort))
	c.awaitCondition("second")
	claim.provide()
	c.EventuallyTrue("the first pod is bound", func() bool { return c.Pod("first").Spec.NodeName != "" })
	if got := c.Pod("second").Spec.NodeName; got != "" {
		t.Errorf("the second one is on %s as well", got)
	}
}

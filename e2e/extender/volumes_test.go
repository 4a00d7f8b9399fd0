package extender_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	storagehelpers "k8s.io/component-helpers/storage/volume"

	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// With offload nobody but muster looks whether a node has the CSI driver that a volume needs (VolumeLimitScaling).
func TestAPodIsBoundWhereItsDemandedDriverIs(t *testing.T) {
	const driver, claim = "csi.example.com", "data"
	c := newCluster(t, workload.NewNode("bare", "4"), workload.NewNode("equipped", "4"))
	demanded := &storagev1.CSIDriver{
		ObjectMeta: metav1.ObjectMeta{Name: driver}, Spec: storagev1.CSIDriverSpec{PreventPodSchedulingIfMissing: new(true)},
	}
	c.Create(demanded)
	created, err := c.Client.StorageV1().CSIDrivers().Get(t.Context(), driver, metav1.GetOptions{})
	c.Must(err)
	if created.Spec.PreventPodSchedulingIfMissing == nil {
		t.Skip("the API server of this release drops the field")
	}
	once := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	c.Create(
		&corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: claim}, Spec: corev1.PersistentVolumeSpec{
			Capacity: oneGi(), AccessModes: once,
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: claim}},
		}},
		&corev1.PersistentVolumeClaim{
			ObjectMeta: metav1.ObjectMeta{Name: claim, Annotations: map[string]string{storagehelpers.AnnBindCompleted: "yes"}},
			Spec: corev1.PersistentVolumeClaimSpec{
				VolumeName: claim, StorageClassName: new(""), AccessModes: once, Resources: corev1.VolumeResourceRequirements{Requests: oneGi()},
			},
		},
	)
	c.serveAndSchedule(muster.Options{Text: "profiles: [{offload: true, nodeSelection: Muster}]"})
	c.createPods(workload.NewPod("pod", "1", func(pod *corev1.Pod) {
		pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}}}
	}))
	if why := c.awaitCondition("pod").Message; !strings.Contains(why, "2 CSI driver is not installed on the node") {
		t.Errorf("while the driver is on no node the pod is told %q", why)
	}
	c.Create(&storagev1.CSINode{ObjectMeta: metav1.ObjectMeta{Name: "equipped"}, Spec: storagev1.CSINodeSpec{
		Drivers: []storagev1.CSINodeDriver{{Name: driver, NodeID: "equipped"}},
	}})
	c.awaitBound(1)
	c.wantPlaces(map[string]string{"pod": "equipped"})
}

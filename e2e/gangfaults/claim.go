package gangfaults

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/e2e/faultcampaign"
	"muster.dev/muster/e2e/workload"
)

// claimName is a claim to which no volume is ever bound. kube-scheduler puts a pod that has it on no node, and
// says so by a plugin that muster leaves to it.
const claimName = "never-bound"

func (l *lane) createClaim(ctx context.Context) error {
	class := &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: "none"}, Provisioner: "kubernetes.io/no-provisioner",
		VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer),
	}
	_, err := l.Client.StorageV1().StorageClasses().Create(ctx, class, metav1.CreateOptions{})
	if err := faultcampaign.UnlessDone(err, "create storage class", class.Name); err != nil {
		return err
	}
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: claimName, Namespace: workload.Namespace},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class.Name, AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany},
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	_, err = l.Client.CoreV1().PersistentVolumeClaims(workload.Namespace).Create(ctx, claim, metav1.CreateOptions{})
	return faultcampaign.UnlessDone(err, "create claim", claim.Name)
}

// unbindable says that the scheduler puts a pod on no node.
func unbindable(pod *corev1.Pod) bool {
	for _, v := range pod.Spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			return true
		}
	}
	return false
}

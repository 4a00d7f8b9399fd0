package reschedulerfaults

import (
	"context"
	"errors"
	"fmt"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/e2e/workload"
)

// resizePrefix begins the annotations of the namespace that say what pods of a workload request when they are created,
// whatever its template says: the name of the workload is the rest.
const resizePrefix = "resize.e2e.muster.dev/"

// resizer is what changes requests on creation, as a vertical autoscaler does.
const resizer = "resizer"

// startResizer has the API server change requests on creation from now on.
func (l *lane) startResizer(ctx context.Context) error {
	app := `object.metadata.labels["` + appLabel + `"]`
	says := `has(object.metadata.labels) && "` + appLabel + `" in object.metadata.labels && has(namespaceObject.metadata.annotations) && ` +
		`("` + resizePrefix + `" + ` + app + `) in namespaceObject.metadata.annotations`
	change := `JSONPatch{op: "replace", path: "/spec/containers/0/resources/requests/cpu", ` +
		`value: namespaceObject.metadata.annotations["` + resizePrefix + `" + ` + app + `]}`
	policy := &admissionregistrationv1.MutatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: resizer},
		Spec: admissionregistrationv1.MutatingAdmissionPolicySpec{
			FailurePolicy: new(admissionregistrationv1.Fail), ReinvocationPolicy: admissionregistrationv1.NeverReinvocationPolicy,
			MatchConstraints: &admissionregistrationv1.MatchResources{ResourceRules: []admissionregistrationv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionregistrationv1.RuleWithOperations{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
				},
			}}},
			Mutations: []admissionregistrationv1.Mutation{{
				PatchType: admissionregistrationv1.PatchTypeJSONPatch,
				JSONPatch: &admissionregistrationv1.JSONPatch{Expression: says + " ? [" + change + "] : []"},
			}},
		},
	}
	binding := &admissionregistrationv1.MutatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: resizer}, Spec: admissionregistrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: resizer},
	}
	registration := l.Client.AdmissionregistrationV1()
	_, policyErr := registration.MutatingAdmissionPolicies().Create(ctx, policy, metav1.CreateOptions{})
	_, bindingErr := registration.MutatingAdmissionPolicyBindings().Create(ctx, binding, metav1.CreateOptions{})
	if err := errors.Join(policyErr, bindingErr); err != nil {
		return fmt.Errorf("have requests changed on creation: %w", err)
	}
	return nil
}

// resize has the pods of a workload request so much when they are created, a JSON string, or what its template says again,
// which is null.
func (l *lane) resize(ctx context.Context, name, cpu string) error {
	patch := fmt.Appendf(nil, `{"metadata": {"annotations": {%q: %s}}}`, resizePrefix+name, cpu)
	_, err := l.Client.CoreV1().Namespaces().Patch(ctx, workload.Namespace, types.MergePatchType, patch, metav1.PatchOptions{})
	if err != nil {
		return fmt.Errorf("change what pods of %s request: %w", name, err)
	}
	return nil
}

// createClaim makes the claim that pods with one share, and its volume, as if a controller had bound them.
func (l *lane) createClaim(ctx context.Context) error {
	room := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	shared := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	pvc := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Name: claim, Namespace: workload.Namespace, Annotations: map[string]string{"pv.kubernetes.io/bind-completed": "yes"},
		},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: shared, StorageClassName: new(""), VolumeName: claim, Resources: corev1.VolumeResourceRequirements{Requests: room},
		},
	}
	pvc, err := l.Client.CoreV1().PersistentVolumeClaims(workload.Namespace).Create(ctx, pvc, metav1.CreateOptions{})
	if err != nil {
		return fmt.Errorf("create a claim: %w", err)
	}
	volume := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: claim},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: room, AccessModes: shared,
			ClaimRef:               &corev1.ObjectReference{Namespace: workload.Namespace, Name: claim, UID: pvc.UID},
			PersistentVolumeSource: corev1.PersistentVolumeSource{NFS: &corev1.NFSVolumeSource{Server: "nfs.example.com", Path: "/"}},
		},
	}
	_, volumeErr := l.Client.CoreV1().PersistentVolumes().Create(ctx, volume, metav1.CreateOptions{})
	pvc.Status = corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound, AccessModes: shared, Capacity: room}
	_, claimErr := l.Client.CoreV1().PersistentVolumeClaims(workload.Namespace).UpdateStatus(ctx, pvc, metav1.UpdateOptions{})
	if err := errors.Join(volumeErr, claimErr); err != nil {
		return fmt.Errorf("bind a claim: %w", err)
	}
	return nil
}

package gangfaults

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/faultcampaign"
	"muster.dev/muster/e2e/workload"
)

// What scripts do to PodGroups.

func (r *run) podGroups(like *unstructured.Unstructured) dynamic.ResourceInterface {
	return r.lane.Dynamic.Resource(v1alpha1.ResourceOf(like.GroupVersionKind().Group)).Namespace(workload.Namespace)
}

func (r *run) createPodGroup(ctx context.Context, group *unstructured.Unstructured) error {
	_, err := r.podGroups(group).Create(ctx, group, metav1.CreateOptions{})
	return faultcampaign.UnlessDone(err, "create PodGroup", group.GetName())
}

func (r *run) deletePodGroup(ctx context.Context, group *unstructured.Unstructured) error {
	err := r.podGroups(group).Delete(ctx, group.GetName(), metav1.DeleteOptions{})
	return faultcampaign.UnlessDone(err, "delete PodGroup", group.GetName())
}

func (r *run) editMinMember(ctx context.Context, group *unstructured.Unstructured, to int) error {
	patch := fmt.Appendf(nil, `{"spec": {"minMember": %d}}`, to)
	_, err := r.podGroups(group).Patch(ctx, group.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
	return faultcampaign.UnlessDone(err, "edit PodGroup", group.GetName())
}

package cluster

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// PatchPod returns a request that patches a pod, of the core API's client. The metadata of the patch should name the UID: it
// is a precondition.
func PatchPod(core rest.Interface, how types.PatchType, pod *corev1.Pod, patch map[string]any) *rest.Request {
	body, _ := json.Marshal(patch) // of strings and types of the API, which always succeeds
	return core.Patch(how).Namespace(pod.Namespace).Resource("pods").Name(pod.Name).Param("fieldManager", FieldManager).Body(body)
}

// PatchPodStatus returns a request that patches the status of a pod. Annotations can be written with it, which takes no
// right to the rest of the pod.
func PatchPodStatus(core rest.Interface, how types.PatchType, pod *corev1.Pod, patch map[string]any) *rest.Request {
	return PatchPod(core, how, pod, patch).SubResource("status")
}

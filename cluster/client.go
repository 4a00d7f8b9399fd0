package cluster

import (
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// FieldManager is the name under which muster writes objects. By this name it recognises its own writes after a
// restart, such as nominations.
const FieldManager = "muster"

// ClientConfig returns a copy of a client configuration, for clients of the core API. They speak protobuf, where JSON would cost
// several times the time and memory. Dynamic and metadata clients can be made from either.
func ClientConfig(config *rest.Config) *rest.Config {
	binary := rest.CopyConfig(config)
	binary.ContentType = runtime.ContentTypeProtobuf
	binary.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	return binary
}

// Unfinished selects the pods that hold something on a node or ask for it, which are the pods that a view has. To a
// watch with this selector a pod that finishes is deleted.
func Unfinished() fields.Selector {
	return fields.AndSelectors(
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodFailed)),
		fields.OneTermNotEqualSelector("status.phase", string(corev1.PodSucceeded)),
	)
}

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

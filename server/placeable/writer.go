package placeable

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"

	"muster.dev/muster/cluster"
)

const (
	// callTimeout is how long the API server may take to answer.
	callTimeout = 10 * time.Second
	// active is the condition of an AdmissionCheck without which Kueue admits nothing by its queues.
	active = "Active"
	// retryAfter is when Kueue may reserve quota again for a workload whose room was given up, in seconds: others have their turn first.
	retryAfter = 60
)

// identity is the very version of an object that a patch is for.
type identity struct {
	UID             types.UID `json:"uid"`
	ResourceVersion string    `json:"resourceVersion"`
}

func identityOf(object metav1.Object) identity {
	return identity{object.GetUID(), object.GetResourceVersion()}
}

// say writes what is said of a workload, and returns the workload as it is then. It is refused if anybody has changed it since.
func say(
	ctx context.Context, client dynamic.Interface, s said, checks sets.Set[string], now time.Time,
) (*unstructured.Unstructured, error) {
	states, _, err := unstructured.NestedSlice(s.of.object.Object, "status", "admissionChecks")
	if err != nil {
		return nil, err
	}
	for _, one := range states {
		fields, is := one.(map[string]any)
		name, _ := fields["name"].(string)
		if !is || !checks.Has(name) {
			continue
		}
		if fields["state"] != string(s.state) {
			fields["lastTransitionTime"] = now.UTC().Format(time.RFC3339)
		}
		fields["state"], fields["message"] = string(s.state), s.message
		delete(fields, "requeueAfterSeconds")
		if s.state == retry {
			fields["requeueAfterSeconds"] = int64(retryAfter)
		}
	}
	return patch(ctx, client, workloads(), s.of.object, map[string]any{"admissionChecks": states})
}

// activate says that an AdmissionCheck is answered.
func activate(ctx context.Context, client dynamic.Interface, object *unstructured.Unstructured, now time.Time) error {
	conditions := slices.Clone(conditionsOf(object))
	meta.SetStatusCondition(&conditions, metav1.Condition{
		Type: active, Status: metav1.ConditionTrue, Reason: "Active", Message: "muster looks for places of all pods of a workload",
		ObservedGeneration: object.GetGeneration(), LastTransitionTime: metav1.NewTime(now).Rfc3339Copy(),
	})
	_, err := patch(ctx, client, admissionChecks(), object, map[string]any{"conditions": conditions})
	return err
}

func patch(
	ctx context.Context, client dynamic.Interface, resource schema.GroupVersionResource, object *unstructured.Unstructured,
	status map[string]any,
) (*unstructured.Unstructured, error) {
	body, err := json.Marshal(map[string]any{"metadata": identityOf(object), "status": status})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return client.Resource(resource).Namespace(object.GetNamespace()).
		Patch(ctx, object.GetName(), types.MergePatchType, body, metav1.PatchOptions{FieldManager: cluster.FieldManager}, "status")
}

package servertest

import "fmt"

// ReviewOf returns the API server's review of a pod, which is given in JSON.
func ReviewOf(operation, pod string) string {
	return fmt.Sprintf(`{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
		"uid": "u", "operation": %q, "resource": {"group": "", "version": "v1", "resource": "pods"}, "object": %s}}`, operation, pod)
}

package v1alpha2

import "k8s.io/apimachinery/pkg/util/validation/field"

// former returns the fields that there were, each with what to write in its place.
func former() map[string]string {
	return map[string]string{
		"ahead.reserve":         "take it out: muster nominates gated pods to their places",
		"gangs.gates":           "take it out: each profile says by profiles[].gates whether its pods are gated",
		"gangs.gatedBy":         "take it out: a webhook gates pods where serving.webhookListen is set, else the policy of 'muster gate-policy'",
		"nomination.minBacklog": "take it out: 20 pods must wait; nomination.minSaving: 0s nominates every pod, however few wait",
	}
}

// explained returns errors about the shape of a document, in which fields that there were are not told as unknown.
func explained(errs field.ErrorList) field.ErrorList {
	lines := former()
	for _, err := range errs {
		if line, was := lines[err.Field]; was {
			err.Detail = line
		}
	}
	return errs
}

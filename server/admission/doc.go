// Package admission is what is decided about pods, and about those who write them, before they are there:
// the webhook that gates the members of gangs, and the policies by which the API server does so itself,
// keeps what muster manages from others, and holds the accounts of muster to what they are for. It says,
// too, how a kube-scheduler is to be configured that asks muster.
//
// It knows the pod that is created and the profiles, and nothing of the cluster, so every replica can
// answer. Gates deny nothing: a pod that is not gated starts as it would without them.
package admission

// Package admission gates pods that are created and sets their scheduler, and says how the API server and kube-scheduler are set up.
//
// Webhooks do so where the API server has no policies of its own for it. By policies the API server does so itself, keeps what muster
// manages from others, and holds the accounts of muster to what they are for. The configuration of
// kube-scheduler has it ask muster. The policies are templates of the chart, which package charts holds.
//
// It knows the pod that is created and the profiles, and nothing of the cluster, so every replica can
// answer. Gates deny nothing: a pod that is not gated starts as it would without them.
package admission

package v1alpha1

// LabelScheduler is of namespaces. Its value is the schedulerName of a profile: that of all pods there that name no other
// scheduler than the cluster's default one, where the API server has the policy for it.
const LabelScheduler = "muster.dev/scheduler"

package v1alpha2

import (
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

// former returns the fields that there were, and some that others have elsewhere, each with what to write in its place. Indices of
// lists are left out.
func former() map[string]string {
	return map[string]string{
		"gangs.gates":           "take it out: each profile says by profiles[].gates whether its pods are gated",
		"gangs.gatedBy":         "take it out: a webhook gates pods where serving.webhookListen is set, else the policy of 'muster gate-policy'",
		"nomination.minBacklog": "take it out: 20 pods must wait; nomination.minSaving: 0s nominates every pod, however few wait",

		"clientConnection.burst": "take it out: twice clientConnection.qps may be sent at once",
		"debug.enabled":          "take it out; in place of false write debug.listen: \"\"",
		"ahead": "take it out: kube-scheduler's Lease is leaderElection.schedulerLease, or " +
			"kube-system/kube-scheduler",
		"gangs.breakAfter":                   "take it out: it is five times gangs.scheduleTimeout",
		"gangs.deniedTTL":                    "take it out: muster looks again after 3s, and at once when there is a place",
		"gangs.evictWhole":                   "write gangs.evict: Whole in place of true, Members in place of false",
		"gangs.maxGapPercent":                "take it out: a tenth of minMember may be without a place",
		"gangs.maxMembers":                   "take it out: a group may have 10000",
		"gangs.maxScheduleTimeout":           "take it out: it is ten times gangs.scheduleTimeout",
		"gangs.preemptAfter":                 "take it out: muster looks for victims after 2s; in place of 0s write gangs.evict: Never",
		"load.metrics":                       "write load.interval in place of load.metrics.interval",
		"load.nodeMetrics.report":            "take it out: load.nodeMetrics.manage does it with source Metrics and Prometheus",
		"load.prometheus.interval":           "write load.interval",
		"load.prometheus.timeout":            "take it out: the answers of one look may take 10s, or load.interval if that is longer",
		"load.prometheus.node.label":         "have the queries name the node in a label node or instance, as by label_replace",
		"load.prometheus.node.pattern":       "have the queries name the node in a label node or instance, as by label_replace",
		"load.prometheus.pod.namespaceLabel": "have the queries name the namespace in a label namespace, as by label_replace",
		"load.prometheus.pod.nameLabel":      "have the queries name the pod in a label pod, as by label_replace",
		"nomination.maxAhead":                "take it out: 2000 pods may be nominated and not taken up",
		"nomination.qps":                     "take it out: clientConnection.qps counts for nominations, apart from other requests",
		"leaderElection.renewDeadline":       "take it out: a leader acts for two thirds of leaderElection.leaseDuration",
		"leaderElection.retryPeriod": "take it out: a replica tries every 2s, and five times in the time of a renewal " +
			"where that is short",
		"timeouts.assume":                         "take it out: it is timeouts.bind, and 30s at least",
		"profiles.plugins.filter.enabled.args":    "write it in the profile's pluginConfig: [{name: PLUGIN, args: ...}]",
		"profiles.plugins.score.enabled.args":     "write it in the profile's pluginConfig: [{name: PLUGIN, args: ...}]",
		"profiles.plugins.filter.args":            "write it in the profile's pluginConfig: [{name: PLUGIN, args: ...}]",
		"profiles.plugins.score.args":             "write it in the profile's pluginConfig: [{name: PLUGIN, args: ...}]",
		"profiles.args":                           "write it in the profile's pluginConfig: [{name: PLUGIN, args: ...}]",
		"profiles.plugins.filter.enabled.weight":  "take it out: only score plugins have a weight",
		"profiles.plugins.filter.disabled.weight": "take it out: only score plugins have a weight",
		"profiles.plugins.score.disabled.weight":  "take it out: a disabled plugin has no weight",
		"rescheduler.approvalTTL":                 "take it out: a plan waits for a day, and is made again if it still helps",
		"rescheduler.balance.maxNodes":            "write rescheduler.budgets.nodesPerPlan",
		"rescheduler.balance.minGain":             "take it out: it is half of the margin",
		"rescheduler.balance.samples":             "take it out: five measurements in a row must find it",
		"rescheduler.budgets.nodeCoolDown":        "take it out: it is a tenth of rescheduler.budgets.workloadCoolDown",
		"rescheduler.budgets.perNamespace":        "take it out: write a budget in rescheduler.budgets.selected with the namespace and a rate",
		"rescheduler.budgets.perNode": "take it out: write a budget in rescheduler.budgets.selected with topologyKey: " +
			"kubernetes.io/hostname and a rate",
		"rescheduler.budgets.windows":   "write it as the windows of a budget in rescheduler.budgets.selected that has nothing else",
		"rescheduler.coalesce.maxNodes": "write rescheduler.budgets.nodesPerPlan",
		"rescheduler.evictable.allowKubeSystem": "take it out; in place of true name kube-system in " +
			"rescheduler.evictable.namespaces, or '*' for all",
		"rescheduler.evictable.allowSingleReplica": "take it out; in place of true write rescheduler.evictable.minReplicas: 0",
		"rescheduler.freeDomains.enabled":          "take it out: domains are freed where rescheduler.freeDomains.key is set",
		"rescheduler.planTTL":                      "take it out: it is five times rescheduler.replacementTimeout",
		"rescheduler.planTime":                     "take it out: it is a sixth of rescheduler.interval",
		"rescheduler.relieve.maxNodes":             "write rescheduler.budgets.nodesPerPlan",
		"rescheduler.relieve.samples":              "take it out: three measurements in a row must find it",
		"rescheduler.repair.duplicates":            "take it out; in place of true write Duplicates into rescheduler.repair.checks",
		"rescheduler.repair.enabled": "take it out; in place of true write rescheduler.repair.checks: " +
			"[TaintToleration, NodeAffinity, PodTopologySpread, InterPodAffinity], or the checks of your choice",
		"rescheduler.respread.minGain": "take it out: a move gains a tenth of a node at least",
		"rescheduler.scaleUp.provisioningRequest.enabled": "take it out; in place of true write " +
			"rescheduler.scaleUp.provisioningRequest.className, such as best-effort-atomic-scale-up.autoscaling.x-k8s.io",
		"serving.maxBodyBytes":     "take it out: a body may have 64 MiB",
		"serving.maxConnections":   "take it out: 10000 connections may be open",
		"serving.maxInFlightBytes": "take it out: bodies may take 256 MiB together",
		"serving.profiling": "take it out: profiles are served at debug.listen to callers on the same host, as " +
			"through kubectl port-forward",
		"serving.tls.selfManaged.namespace": "take it out: Secrets and Service are in leaderElection.resourceNamespace",
		"serving.tls.selfManaged.webhookName": "take it out: with serving.webhookListen, the webhook configuration has the name of " +
			"selfManaged.serviceName",
		"serving.tls.selfManaged.serviceName": "take it out: the Service has the name leaderElection.resourceName",
		"verdictStore":                        "take it out: verdicts may take a quarter of GOMEMLIMIT, or 256 MiB of each profile without it",
		"timeouts.shutdown":                   "take it out: calls in flight may finish for as long as timeouts.bind",
	}
}

// Explained returns errors about the shape of a document, in which fields that there were are not told as unknown.
func Explained(errs field.ErrorList) field.ErrorList {
	lines, index := former(), regexp.MustCompile(`\[\d+\]`)
	for _, err := range errs {
		if line, was := lines[index.ReplaceAllString(err.Field, "")]; was {
			err.Detail = line
		}
	}
	return errs
}

package main

import (
	"context"
	"slices"
	"strings"

	"muster.dev/muster/gang/operators"
	"muster.dev/muster/gang/operators/kinds"
	"muster.dev/muster/server/remote"
)

// workloadTypes returns the types of objects that make pods: of Kubernetes itself, and of the operators whose gangs muster knows.
func workloadTypes() []objectType {
	types := []objectType{
		workloadType("Deployment", "deployments", "deploy"), workloadType("ReplicaSet", "replicasets", "rs"),
		workloadType("StatefulSet", "statefulsets", "sts"), workloadType("DaemonSet", "daemonsets", "ds"),
		workloadType("Job", "jobs"), workloadType("CronJob", "cronjobs", "cj"),
	}
	for _, kind := range kinds.All() {
		for _, owner := range kind.Owners {
			known := func(t objectType) bool { return t.owner == owner.Kind }
			if owner.GroupKind() != operators.Pod && !slices.ContainsFunc(types, known) {
				types = append(types, workloadType(owner.Kind, owner.Resource))
			}
		}
	}
	return types
}

func workloadType(kind string, more ...string) objectType {
	return objectType{
		names: append([]string{strings.ToLower(kind)}, more...), namespaced: true, owner: kind,
		known: func(ctx context.Context, c *remote.Client) ([]string, error) { return c.Owners(ctx, kind) },
	}
}

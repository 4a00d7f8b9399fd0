// Package v1alpha1 reads version v1alpha1 of muster's configuration, which knows one profile
// and, besides plugins, the providers and policies that kube-scheduler had before plugins.
//
// A document is only ever converted:
//
//	strict decode → document of v1alpha2 → as any of v1alpha2
//
// [Convert] writes that document, with what the user wrote and no defaults; [Decode] has
// v1alpha2 decode it, so that a file means the same whether it is converted first or not.
//
//	v1alpha1                          v1alpha2, in the one profile
//	schedulerName                     the same
//	plugins, pluginConfig             the same
//	hardPodAffinitySymmetricWeight    pluginConfig: InterPodAffinity, args.hardPodAffinityWeight
//	algorithmSource.provider          DefaultProvider: nothing. ClusterAutoscalerProvider: NodeResourcesFit
//	                                  scores, with args.scoringStrategy.type MostAllocated
//	algorithmSource.policy            plugins: the default ones disabled, those enabled that do what the
//	                                  predicates and priorities did; pluginConfig: their arguments
//
// Of the arguments in a policy, serviceAffinity becomes ServiceAffinity with its labels,
// labelsPresence an addedAffinity of NodeAffinity, which holds pods to their own node
// selectors as well, and requestedToCapacityRatioArguments the scoringStrategy of
// NodeResourcesFit. What muster cannot do is refused by name: serviceAntiAffinity,
// labelPreference, and extenders, as muster is one.
package v1alpha1

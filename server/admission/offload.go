package admission

import (
	"slices"

	"muster.dev/muster/api/config"
)

const offloadHeader = `#
# offload: the plugins that are disabled below run in muster instead. Set 'nodeSelection: Muster' and
# 'offload: true' in the same profiles of muster, and print this file again after changing their plugins.
`

const preemptionHeader = `# NodeResourcesFit stays on as a filter: preemption tries evictions on the filters that are on
# and needs one that they can turn, and it keeps the room of nominated pods. As room is all that
# kube-scheduler still looks at, it must not stop early: muster is offered every node with room
# (percentageOfNodesToScore). Where evictions make room it stops at a tenth of the nodes, as always:
# if none of them suits the pod, muster finds others.
`

const noPreemptionHeader = `# --no-preemption: NodeResourcesFit is among them, and DefaultPreemption is off, as it would have
# no filter to try evictions on. Only for gangs is a pod ever evicted for one of higher priority:
# set 'gangs: {evict: Never}' in muster's configuration if none is to be.
`

// defaultPreemption is kube-scheduler's plugin that evicts pods for others.
const defaultPreemption = "DefaultPreemption"

// offloadAll sets offload in every profile, which has muster pick the node.
func offloadAll(cfg *config.Configuration) error {
	for i := range cfg.Profiles {
		profile := &cfg.Profiles[i]
		profile.Offload, profile.NodeSelection, profile.Shortlist = true, config.NodeSelectionMuster, nil
	}
	if errs := cfg.Validate(); len(errs) > 0 {
		return config.InSource("--offload", errs.ToAggregate())
	}
	return nil
}

// offloadComment says what offload did to the profiles, if to any.
func offloadComment(profiles []config.Profile, preemption bool) string {
	switch {
	case !slices.ContainsFunc(profiles, func(p config.Profile) bool { return p.Offload }):
		return ""
	case preemption:
		return offloadHeader + preemptionHeader
	default:
		return offloadHeader + noPreemptionHeader
	}
}

package admission

import (
	"strings"

	"muster.dev/muster/api/config"
)

const offloadHeader = `#
# offload: the plugins that are disabled below run in muster instead. Set 'offload: true' in the
# same profiles of muster, and print this file again after changing their plugins.
`

const preemptionHeader = `# NodeResourcesFit stays on as a filter: preemption tries evictions on the filters that are on
# and needs one that they can turn, and it keeps the room of nominated pods. As room is all that
# kube-scheduler still looks at, it must not stop early: muster is offered every node with room
# (percentageOfNodesToScore). Where evictions make room it stops at a tenth of the nodes, as always:
# if none of them suits the pod, muster finds others.
`

const noPreemptionHeader = `# --no-preemption: NodeResourcesFit is among them, and DefaultPreemption is off, as it would have
# no filter to try evictions on. Only for gangs is a pod ever evicted for one of higher priority:
# set 'gangs: {preemptAfter: 0s}' in muster's configuration if none is to be.
`

const coarseScoresHeader = `#
# With nodeSelection: Scheduler, muster's scores take the place of kube-scheduler's own, rounded to
# tens of 0 to 100 for each plugin. With Extender, muster ranks nodes by the exact ones.
# Scheduler is set in: `

// defaultPreemption is kube-scheduler's plugin that evicts pods for others.
const defaultPreemption = "DefaultPreemption"

// offloadAll sets offload in every profile.
func offloadAll(cfg *config.Configuration) error {
	for i := range cfg.Profiles {
		cfg.Profiles[i].Offload = true
	}
	if errs := cfg.Validate(); len(errs) > 0 {
		return config.InSource("--offload", errs.ToAggregate())
	}
	return nil
}

// offloadComment says what offload did to the profiles, if to any.
func offloadComment(profiles []config.Profile, preemption bool) string {
	var offloaded, coarse []string
	for _, profile := range profiles {
		if !profile.Offload {
			continue
		}
		offloaded = append(offloaded, profile.SchedulerName)
		if profile.NodeSelection == config.NodeSelectionScheduler {
			coarse = append(coarse, profile.SchedulerName)
		}
	}
	comment := ""
	if len(offloaded) > 0 {
		comment += offloadHeader
		if preemption {
			comment += preemptionHeader
		} else {
			comment += noPreemptionHeader
		}
	}
	if len(coarse) > 0 {
		comment += coarseScoresHeader + strings.Join(coarse, ", ") + ".\n"
	}
	return comment
}

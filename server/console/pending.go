package console

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/inspect"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/server/remote"
)

// pendingPage is the pods that have no node.
type pendingPage struct{ remote.Pending }

func (s *Console) debugPending(*http.Request) (inspect.Answer, error) {
	page := pendingPage{remote.Pending{Pods: []remote.PendingPod{}}}
	for _, pod := range s.options.Cluster.Pending() {
		row := remote.PendingPod{
			Pod:       pod.FullName(),
			Scheduler: pod.Spec.SchedulerName,
			Created:   pod.CreationTimestamp.UTC(),
			Nominated: pod.Status.NominatedNodeName,
			Owners:    s.owners(pod),
			Why:       s.whyPending(pod),
		}
		for _, gate := range pod.Spec.SchedulingGates {
			row.Gates = append(row.Gates, gate.Name)
		}
		page.Pods = append(page.Pods, row)
	}
	return page, nil
}

// owners names the controller of a pod, the controller of that, and so on. The Deployment of a ReplicaSet is told by their names, as
// no watch shows either here.
func (s *Console) owners(pod *cluster.Pod) (owners []remote.Owner) {
	for _, of := range s.options.Cluster.Owners.Controllers(pod) {
		owners = append(owners, remote.Owner{Kind: of.Kind, Name: of.Name})
		hash := pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
		if deployment, made := strings.CutSuffix(of.Name, "-"+hash); of.Kind == "ReplicaSet" && hash != "" && made {
			owners = append(owners, remote.Owner{Kind: "Deployment", Name: deployment})
		}
	}
	return owners
}

// whyPending tells what a pod waits for, in the same words for pods that wait for the same. Nodes are not asked about it:
// an explanation does that.
func (s *Console) whyPending(pod *cluster.Pod) string {
	state := s.explainer.State(pod)
	switch _, err := s.options.Profiles.Named(pod.Spec.SchedulerName); {
	case state.Gang != nil && state.Gang.Why != "":
		return "gang " + state.Gang.Gang + ": " + state.Gang.Why
	case state.Gang != nil:
		return "gang " + state.Gang.Gang + " starts"
	case len(state.Gates) > 0:
		return "held back by gate " + strings.Join(state.Gates, ", ")
	case err != nil:
		return "for scheduler " + pod.Spec.SchedulerName + ", which is not muster's"
	case state.Counts != "", state.Nomination != nil && state.Nomination.Node != "":
		return "has a place, and waits to be bound"
	case pod.Tried():
		return "kube-scheduler has found no node"
	default:
		return "kube-scheduler has not tried it yet"
	}
}

// Text implements [inspect.Answer].
func (p pendingPage) Text(t *inspect.Table) {
	t.Title("%d pods have no node", len(p.Pods))
	t.Row("POD", "SCHEDULER", "CREATED", "NOMINATED", "GATES", "WHY")
	for i := range p.Pods {
		pod := &p.Pods[i]
		t.Row(pod.Pod, pod.Scheduler, inspect.Time(pod.Created), cmp.Or(pod.Nominated, "-"), cmp.Or(strings.Join(pod.Gates, ","), "-"), pod.Why)
	}
}

// placementPage shows what is placed ahead of calls.
type placementPage struct{ nomination.Report }

func (s *Console) debugPlacement(*http.Request) (inspect.Answer, error) {
	if s.options.Nominations == nil {
		return nil, inspect.Refuse(http.StatusNotFound, "placement: there is no API server")
	}
	return placementPage{s.options.Nominations.Report()}, nil
}

// Text implements [inspect.Answer].
func (p placementPage) Text(t *inspect.Table) {
	title := "pods by stage, and nominations by what became of them"
	if p.Pausing {
		title += "; nothing is nominated at present, since the API server is slow"
	}
	if p.SteppingAside {
		title += "; pods that are not gated are left to kube-scheduler at present: few wait, or it is not known that nominations save it enough"
	}
	t.Title("%s", title)
	for _, stage := range slices.Sorted(maps.Keys(p.Stages)) {
		t.Row(stage, p.Stages[stage])
	}
	t.Gap()
	for _, outcome := range slices.Sorted(maps.Keys(p.Ended)) {
		t.Row(outcome, p.Ended[outcome])
	}
	t.Gap()
	t.Row("IN FLIGHT", "NODE", "STAGE", "AGE", "ATTEMPT")
	for _, n := range p.InFlight {
		t.Row(n.Pod, n.Node, n.Stage, duration(n.AgeSeconds), n.Attempt)
	}
	t.Gap()
	t.Row("MISSED", "NODE", "WHY", "AT", "ATTEMPT")
	for _, e := range p.Missed {
		t.Row(e.Pod, e.Node, e.Outcome, inspect.Time(e.At), e.Attempt)
	}
}

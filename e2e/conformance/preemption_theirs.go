package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

// dryRun is what kube-scheduler's DefaultPreemption finds for the pending pod of a scenario.
type dryRun struct {
	// tried are the nodes that the pod does not fit, and might if others were gone. Fits says that it fits another one,
	// so that it would not come to that.
	tried []fwk.NodeInfo
	fits  bool
	// candidates are the nodes of these on which evictions help, with the victims.
	candidates []preemption.Candidate

	*defaultpreemption.DefaultPreemption
	evaluator *preemption.Evaluator
	filters   framework.Framework
	state     fwk.CycleState
	pod       *corev1.Pod
	failed    error
}

// errFails says that a plugin of kube-scheduler fails, so that it evicts nobody.
var errFails = errors.New("a plugin of kube-scheduler fails")

// preempt does what the scheduler does to place a pod, up to the candidates for preemption. Where it would be content
// with some nodes it tries them all. What it starts ends with the context.
func (v *inTreeView) preempt(ctx context.Context, s *Scenario) (*dryRun, error) {
	filters, err := v.framework(ctx, s.Profile, s.Profile.filterSet())
	if err != nil {
		return nil, err
	}
	d := &dryRun{filters: filters, state: framework.NewCycleState(), pod: v.pending[0]}
	if err := d.filter(ctx, v.nodes); err != nil || len(d.tried) == 0 {
		return d, err
	}
	all := &config.DefaultPreemptionArgs{MinCandidateNodesPercentage: 100, MinCandidateNodesAbsolute: 1}
	features := feature.NewSchedulerFeaturesFromGates(utilfeature.DefaultFeatureGate)
	if d.DefaultPreemption, err = defaultpreemption.New(ctx, all, filters, features); err != nil {
		return nil, fmt.Errorf("kube-scheduler: %w", err)
	}
	d.evaluator = preemption.NewEvaluator(d.Name(), filters, d, d.Executor)
	tried := int32(len(d.tried))
	d.candidates, _, _ = d.evaluator.DryRunPreemption(ctx, d.state, d.pod, d.tried, s.Objects.PodDisruptionBudgets, 0, tried)
	return d, d.failed
}

// filter finds the nodes that preemption is tried on.
func (d *dryRun) filter(ctx context.Context, nodes []fwk.NodeInfo) error {
	result, status, _ := d.filters.RunPreFilterPlugins(ctx, d.state, d.pod)
	for _, node := range nodes {
		verdict := status
		if status.IsSuccess() {
			if !result.AllNodes() && !result.NodeNames.Has(node.Node().Name) {
				continue
			}
			verdict = d.filters.RunFilterPluginsWithNominatedPods(ctx, d.state, d.pod, node)
		}
		switch verdict.Code() {
		case fwk.Error:
			return errFails
		case fwk.Success:
			d.fits = true
		case fwk.Unschedulable:
			d.tried = append(d.tried, node)
		}
	}
	return nil
}

// misjudges reports whether it may be wrong about how nominated pods and the pod get on. A plugin that finds nothing to do
// among the pods on nodes sits out, and is not told of nominated ones: InterPodAffinity where nobody who is on a node has
// anything against the pod, and the pod nothing against others; VolumeRestrictions where nobody uses its ReadWriteOncePod
// claims. And by a constraint with an empty selector PodTopologySpread counts no pod on a node, but each nominated one.
func (d *dryRun) misjudges(s *Scenario) bool {
	skipped, exclusive := d.state.GetSkipFilterPlugins(), exclusiveClaims(s)
	return skipped.Has(names.InterPodAffinity) && slices.ContainsFunc(s.Nominated, keepsApart) ||
		skipped.Has(names.VolumeRestrictions) && slices.ContainsFunc(d.pod.Spec.Volumes, func(own corev1.Volume) bool {
			return own.PersistentVolumeClaim != nil && exclusive[own.PersistentVolumeClaim.ClaimName] &&
				slices.ContainsFunc(s.Nominated, func(other *corev1.Pod) bool {
					return other.Namespace == d.pod.Namespace && uses(other, own.PersistentVolumeClaim.ClaimName)
				})
		}) ||
		len(s.Nominated) > 0 && !skipped.Has(names.PodTopologySpread) && slices.ContainsFunc(d.pod.Spec.TopologySpreadConstraints, selectsAll)
}

func keepsApart(pod *corev1.Pod) bool {
	return pod.Spec.Affinity != nil && pod.Spec.Affinity.PodAntiAffinity != nil
}

func uses(pod *corev1.Pod, claim string) bool {
	return slices.ContainsFunc(pod.Spec.Volumes, func(volume corev1.Volume) bool {
		return volume.PersistentVolumeClaim != nil && volume.PersistentVolumeClaim.ClaimName == claim
	})
}

// selectsAll is about constraints that filter.
func selectsAll(constraint corev1.TopologySpreadConstraint) bool {
	selector := constraint.LabelSelector
	return constraint.WhenUnsatisfiable == corev1.DoNotSchedule && selector != nil &&
		len(selector.MatchLabels)+len(selector.MatchExpressions) == 0
}

func (d *dryRun) outranks(other *corev1.Pod) bool {
	return corev1helpers.PodPriority(other) < corev1helpers.PodPriority(d.pod)
}

// leaves reports whether a pod of lower priority is going.
func (d *dryRun) leaves(other *corev1.Pod) bool {
	return other.DeletionTimestamp != nil && d.outranks(other)
}

// remove takes pods away from a node of a cycle.
func (d *dryRun) remove(ctx context.Context, state fwk.CycleState, node fwk.NodeInfo, these func(*corev1.Pod) bool) error {
	var removed []fwk.PodInfo
	for _, other := range node.GetPods() {
		if these(other.GetPod()) {
			removed = append(removed, other)
		}
	}
	for _, other := range removed {
		if err := node.RemovePod(klog.FromContext(ctx), other.GetPod()); err != nil {
			return err
		}
		if status := d.filters.RunPreFilterExtensionRemovePod(ctx, state, d.pod, other, node); !status.IsSuccess() {
			return status.AsError()
		}
	}
	return nil
}

// evictions returns whom it would evict, by node.
func (d *dryRun) evictions() evictions {
	all := evictions{}
	for _, candidate := range d.candidates {
		e := eviction{Violations: candidate.Victims().NumPDBViolations}
		for _, victim := range candidate.Victims().Pods {
			e.Victims = append(e.Victims, victim.UID)
		}
		all[candidate.Name()] = e
	}
	return all
}

// enough reports whether the pod fits a node that was tried once these are gone, and those that are going.
func (d *dryRun) enough(ctx context.Context, name string, victims []types.UID) bool {
	at := slices.IndexFunc(d.tried, func(node fwk.NodeInfo) bool { return node.Node().Name == name })
	state, node := d.state.Clone(), d.tried[at].Snapshot()
	err := d.remove(ctx, state, node, func(other *corev1.Pod) bool { return d.leaves(other) || slices.Contains(victims, other.UID) })
	return err == nil && d.filters.RunFilterPluginsWithNominatedPods(ctx, state, d.pod, node).IsSuccess()
}

// drawsOfATie is how often it is asked to choose between two nodes, until it takes the second one: of those that are
// equal it takes one at random.
const drawsOfATie = 300

// prefersNone reports whether no candidate is better than the one on a node, by its own choice.
func (d *dryRun) prefersNone(ctx context.Context, name string) bool {
	var ours preemption.Candidate
	for _, candidate := range d.candidates {
		if candidate.Name() == name {
			ours = candidate
		}
	}
	theirs := d.evaluator.SelectCandidate(ctx, d.candidates)
	if ours == nil || theirs == nil {
		return false
	}
	for range drawsOfATie {
		if d.evaluator.SelectCandidate(ctx, []preemption.Candidate{theirs, ours}).Name() == name {
			return true
		}
	}
	return false
}

// nominator knows to which nodes pods are nominated.
type nominator []*corev1.Pod

// AddNominatedPod implements fwk.PodNominator.
func (nominator) AddNominatedPod(klog.Logger, fwk.PodInfo, *fwk.NominatingInfo) {}

// DeleteNominatedPodIfExists implements fwk.PodNominator.
func (nominator) DeleteNominatedPodIfExists(*corev1.Pod) {}

// UpdateNominatedPod implements fwk.PodNominator.
func (nominator) UpdateNominatedPod(klog.Logger, *corev1.Pod, fwk.PodInfo) {}

// NominatedPodsForNode implements fwk.PodNominator.
func (n nominator) NominatedPodsForNode(node string) []fwk.PodInfo {
	var pods []fwk.PodInfo
	for _, pod := range n {
		if pod.Status.NominatedNodeName == node {
			info, _ := framework.NewPodInfo(pod) // also of a pod with terms that do not parse
			pods = append(pods, info)
		}
	}
	return pods
}

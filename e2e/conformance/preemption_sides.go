package conformance

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/klog/v2"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/apis/config"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/feature"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/names"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement"
	"muster.dev/muster/predicates"
)

// eviction is who has to go from a node, the most important first, and how many disruption budgets do not allow it.
type eviction struct {
	Victims    []types.UID
	Violations int64
}

func (e eviction) is(other eviction) bool {
	return slices.Equal(e.Victims, other.Victims) && e.Violations == other.Violations
}

// spares reports whether it has some of another one go, and not all of them.
func (e eviction) spares(other eviction) bool {
	return len(e.Victims) < len(other.Victims) &&
		!slices.ContainsFunc(e.Victims, func(victim types.UID) bool { return !slices.Contains(other.Victims, victim) })
}

// evictions are by node. There are none of a node on which they do not help.
type evictions map[string]eviction

func (e evictions) on(node string) string {
	if found, helps := e[node]; helps {
		return fmt.Sprintf("%v have to go, %d against budgets", found.Victims, found.Violations)
	}
	return "nobody's going helps"
}

func (e evictions) String() string {
	if len(e) == 0 {
		return "nobody's going helps anywhere"
	}
	var all []string
	for _, node := range slices.Sorted(maps.Keys(e)) {
		all = append(all, node+": "+e.on(node))
	}
	return strings.Join(all, "; ")
}

// musterPreempting is muster with the pending pod of a scenario.
type musterPreempting struct {
	pod     *corev1.Pod
	waiting *cluster.Pod // the same, with its claims
	store   *predicates.VerdictStore
	verbs   http.Handler
}

func preemptWithMuster(s *Scenario) (*musterPreempting, error) {
	cfg, err := s.Profile.config()
	if err != nil {
		return nil, err
	}
	c, store, verbs, err := serve(s, cfg, nil)
	if err != nil {
		return nil, err
	}
	waiting := c.PendingPod(s.Pending[0].UID)
	if waiting == nil { // it wishes for a node
		waiting = cluster.NewPod(s.Pending[0])
		if err := resolveClaims(c, waiting); err != nil {
			return nil, err
		}
	}
	return &musterPreempting{pod: s.Pending[0], waiting: waiting, store: store, verbs: verbs}, nil
}

// answer has the preempt verb answer which victims it would have evicted where these are proposed.
func (m *musterPreempting) answer(proposed evictions) (evictions, error) {
	args := extenderv1.ExtenderPreemptionArgs{Pod: m.pod, NodeNameToMetaVictims: map[string]*extenderv1.MetaVictims{}}
	for node, e := range proposed {
		victims := &extenderv1.MetaVictims{NumPDBViolations: e.Violations}
		for _, uid := range e.Victims {
			victims.Pods = append(victims.Pods, &extenderv1.MetaPod{UID: string(uid)})
		}
		args.NodeNameToMetaVictims[node] = victims
	}
	var result extenderv1.ExtenderPreemptionResult
	if err := call(m.verbs, "preempt", args, &result); err != nil {
		return nil, err
	}
	all := evictions{}
	for node, victims := range result.NodeNameToMetaVictims {
		e := eviction{Violations: victims.NumPDBViolations}
		for _, victim := range victims.Pods {
			e.Victims = append(e.Victims, types.UID(victim.UID))
		}
		all[node] = e
	}
	return all, nil
}

// plan has a plan for a gang of the one pod evict whom it has to: on the node that the plan chooses, "" if there is
// none.
func (m *musterPreempting) plan() (node string, e eviction) {
	pods := []*cluster.Pod{m.waiting}
	plan := placement.New(m.store, pods, 0)
	defer plan.Close()
	search := placement.NewEvictions(plan, func(pod *cluster.Pod) (placement.Eviction, bool) {
		return placement.Eviction{}, corev1helpers.PodPriority(pod.Pod) < corev1helpers.PodPriority(m.pod)
	})
	outcome := search.PlaceAll(pods, 1, time.Time{})
	if !outcome.Kept {
		return "", eviction{}
	}
	victims, ok := search.Victims()
	if !ok {
		return "", eviction{}
	}
	for _, victim := range victims {
		e.Victims = append(e.Victims, victim.Pod.UID)
		if victim.Violates {
			e.Violations++
		}
	}
	return plan.Node(outcome.Places[0].Node).Name, e
}

// dryRun is the finding of kube-scheduler's DefaultPreemption for the pending pod of a scenario.
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

// misjudges reports whether it may be wrong about how nominated pods and the pod get on. A plugin that finds nothing to
// do among the pods on nodes sits out, and is not told of nominated ones: InterPodAffinity where nobody who is on a
// node has anything against the pod, and the pod nothing against others; VolumeRestrictions where nobody uses its
// ReadWriteOncePod claims. And by a constraint with an empty selector PodTopologySpread counts no pod on a node, but
// each nominated one.
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

// enough reports whether the pod fits a node that was tried once these pods are gone, with the pods that are going.
func (d *dryRun) enough(ctx context.Context, name string, victims []types.UID) bool {
	at := slices.IndexFunc(d.tried, func(node fwk.NodeInfo) bool { return node.Node().Name == name })
	state, node := d.state.Clone(), d.tried[at].Snapshot()
	err := d.remove(ctx, state, node, func(other *corev1.Pod) bool { return d.leaves(other) || slices.Contains(victims, other.UID) })
	return err == nil && d.filters.RunFilterPluginsWithNominatedPods(ctx, state, d.pod, node).IsSuccess()
}

// drawsOfATie is how often it is asked to choose between two nodes, until it takes the second one: of equal ones it
// takes one at random.
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

package predicates

import (
	"math"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/klog/v2"
	"k8s.io/utils/ptr"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
)

// spreadConstraint is a topology spread constraint of a pod, parsed.
type spreadConstraint struct {
	selection
	topologyKey                  string
	maxSkew, minDomains          int32
	selector                     labels.Selector // of the pods that are spread
	honorsAffinity, honorsTaints bool            // which nodes the constraint is about
}

// parseSpreadConstraints parses those constraints that ask for an action, with the
// defaults of the API (filterTopologySpreadConstraints in
// pkg/scheduler/framework/plugins/podtopologyspread/common.go).
func parseSpreadConstraints(
	constraints []corev1.TopologySpreadConstraint, podLabels labels.Set, action corev1.UnsatisfiableConstraintAction,
) ([]spreadConstraint, error) {
	var parsed []spreadConstraint
	for i := range constraints {
		c := &constraints[i]
		if c.WhenUnsatisfiable != action {
			continue
		}
		selector, err := cluster.ParseSelector(c.LabelSelector)
		if err != nil {
			return nil, err
		}
		parsed = append(parsed, spreadConstraint{
			topologyKey: c.TopologyKey, maxSkew: c.MaxSkew, minDomains: ptr.Deref(c.MinDomains, 1),
			selector:       agreeing(selector, podLabels, c.MatchLabelKeys),
			honorsAffinity: ptr.Deref(c.NodeAffinityPolicy, corev1.NodeInclusionPolicyHonor) == corev1.NodeInclusionPolicyHonor,
			honorsTaints:   ptr.Deref(c.NodeTaintsPolicy, corev1.NodeInclusionPolicyIgnore) == corev1.NodeInclusionPolicyHonor,
		})
	}
	return parsed, nil
}

// agreeing selects those pods of a selector that have the given labels under some keys.
// Keys that are not among the labels do not matter.
func agreeing(selector labels.Selector, with labels.Set, keys []string) labels.Selector {
	same := labels.Set{}
	for _, key := range keys {
		if value, labelled := with[key]; labelled {
			same[key] = value
		}
	}
	requirements, selectable := selector.Requirements()
	if len(same) == 0 || !selectable {
		return selector
	}
	return labels.SelectorFromSet(same).Add(requirements...)
}

// spreading is PodTopologySpread at one of its extension points: the filter handles constraints that say
// DoNotSchedule, the score constraints that say ScheduleAnyway. As kube-scheduler does it with its feature
// gates at their defaults in v1.36: nodeAffinityPolicy and nodeTaintsPolicy count
// (NodeInclusionPolicyInPodTopologySpread), minDomains does (it has no gate any more), and matchLabelKeys
// narrow the selector here (MatchLabelKeysInPodTopologySpread), though the API server has done so already when
// it created the pod (MatchLabelKeysInPodTopologySpreadSelectorMerge).
type spreading struct {
	action corev1.UnsatisfiableConstraintAction
	// defaults are for pods without constraints. They lack the selector.
	defaults []spreadConstraint
	// system says that they are kube-scheduler's own, which are about nodes that lack one
	// of the topology keys as well.
	system bool
}

func newSpreading(args *config.PodTopologySpreadArgs, action corev1.UnsatisfiableConstraintAction) (spreading, error) {
	defaults, system := args.DefaultConstraints, args.DefaultingType == config.SystemDefaulting
	if system {
		defaults = []corev1.TopologySpreadConstraint{
			{TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.ScheduleAnyway, MaxSkew: 3},
			{TopologyKey: corev1.LabelTopologyZone, WhenUnsatisfiable: corev1.ScheduleAnyway, MaxSkew: 5},
		}
	}
	parsed, err := parseSpreadConstraints(defaults, nil, action)
	return spreading{action: action, defaults: parsed, system: system}, err
}

// aspects returns the aspects that both the constraints of pods and the default ones read.
func (s *spreading) aspects() cluster.Aspect {
	aspects := cluster.AspectLabels | cluster.AspectTaints | cluster.AspectPods
	if len(s.defaults) > 0 {
		aspects |= cluster.AspectService | cluster.AspectSelector
	}
	return aspects
}

// spread is the constraints of one pod that ask for one action, and what says which
// nodes and pods they are about.
type spread struct {
	constraints []spreadConstraint
	// everyKey says that they are about nodes that have all of their topology keys.
	everyKey bool
	// kin are the pods to spread by default; nil for constraints of the pod's own.
	kin *podKin

	namespace   string
	affinity    func() nodeaffinity.RequiredNodeAffinity // parsed once it matters
	tolerations []corev1.Toleration
}

// of returns the spread of a pod, nil when none would apply whatever objects there are. It has no constraints
// when the default ones select nothing at present.
func (s *spreading) of(pod *cluster.Pod, objects *cluster.Objects) (*spread, error) {
	if len(pod.Spec.TopologySpreadConstraints) > cluster.MostTerms {
		return nil, cluster.ErrTooManyTerms
	}
	prepared := &spread{
		everyKey:    true,
		namespace:   pod.Namespace,
		affinity:    sync.OnceValue(func() nodeaffinity.RequiredNodeAffinity { return nodeaffinity.GetRequiredNodeAffinity(pod.Pod) }),
		tolerations: pod.Spec.Tolerations,
	}
	if len(pod.Spec.TopologySpreadConstraints) > 0 {
		constraints, err := parseSpreadConstraints(pod.Spec.TopologySpreadConstraints, pod.Labels, s.action)
		if err != nil || len(constraints) == 0 {
			return nil, err
		}
		prepared.constraints = constraints
		return prepared, nil
	}
	if len(s.defaults) == 0 {
		return nil, nil
	}
	prepared.everyKey, prepared.kin = !s.system, kinOf(pod.Pod)
	if selector := prepared.kin.selector(objects); !selector.Empty() {
		for _, constraint := range s.defaults {
			constraint.selector = selector
			prepared.constraints = append(prepared.constraints, constraint)
		}
	}
	return prepared, nil
}

// counts reports whether the pods of a node are among the pods that are spread. The node has the topology keys
// that the constraint needs.
func (s *spread) counts(node *cluster.Node, constraint *spreadConstraint) bool {
	if constraint.honorsAffinity {
		// Like the scheduler, a term that does not parse matches nothing.
		required := s.affinity()
		if match, _ := required.Match(node.Node); !match {
			return false
		}
	}
	if constraint.honorsTaints {
		_, untolerated := corev1helpers.FindMatchingUntoleratedTaint(
			klog.Background(), node.Spec.Taints, s.tolerations, keepsPodsOff, comparisonOperators,
		)
		return !untolerated
	}
	return true
}

// mostMatching is more pods than any node runs.
const mostMatching = math.MaxInt16 - 1

// remember prepares for a look at nodes. forget must follow.
func (s *spread) remember(nodes []int32) {
	for i := range s.constraints {
		s.constraints[i].remember(nodes)
	}
}

func (s *spread) forget() {
	for i := range s.constraints {
		s.constraints[i].forget()
	}
}

// matching returns how many pods on a node are spread, at most mostMatching. A selector of
// everything counts as one of nothing.
func (s *spread) matching(node *cluster.Node, constraint *spreadConstraint) int16 {
	if constraint.selector.Empty() {
		return 0
	}
	count := 0
	for place := range node.Pods {
		if constraint.of(node, place, func(pod *cluster.Pod) bool {
			return pod.Namespace == s.namespace && constraint.selector.Matches(labels.Set(pod.Labels))
		}) && node.Pods[place].DeletionTimestamp == nil {
			count++
		}
	}
	return int16(min(count, mostMatching))
}

// minds implements [mindful].
func (s *spread) minds(pod *cluster.Pod) bool {
	return pod.Namespace == s.namespace && slices.ContainsFunc(s.constraints, func(c spreadConstraint) bool {
		return c.selector.Matches(labels.Set(pod.Labels))
	})
}

// DependsOn implements [Selective].
func (s *spread) DependsOn(kind cluster.Aspect, object types.NamespacedName, before, after *cluster.Objects) bool {
	return s.kin != nil && s.kin.dependsOn(kind, object, before, after)
}

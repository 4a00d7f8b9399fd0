package conformance

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1helpers "k8s.io/component-helpers/scheduling/corev1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

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

// plan has a plan for a gang of the one pod evict whom it has to: on the node that the plan chooses, "" if there
// is none.
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

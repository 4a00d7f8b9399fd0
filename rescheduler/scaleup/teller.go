// Package scaleup tells which waiting pods only more nodes would help: moving others was shown not to make room
// for them.
//
// A [Teller] says so in a condition and an event of each such pod and in a metric, and by choice
// asks a cluster autoscaler for nodes, in a ProvisioningRequest for each pod or gang:
//
//	plan without budgets ─ Judge → Verdict ─ Tell → conditions, events, ProvisioningRequests
//
// It remembers nothing that the API server does not: what was told of a pod stands on the pod,
// and a request is known by its name.
//
// A change of a pending pod may have kube-scheduler try it again: it does so, once its pause is over, with a
// pod that an extender had a part in refusing, and not with one that its own plugins refused
// (PriorityQueue.Update in pkg/scheduler/backend/queue, and the events that pkg/scheduler/framework/runtime
// registers for extenders). So a condition is written once for each change of its reason, and its message is
// that of the moment.
package scaleup

import (
	"context"
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"

	"muster.dev/muster/cluster"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/rescheduler/planner"
)

// ConditionRearrangingHelps is the type of the condition of a pod that says, with status False,
// that moving other pods would not give it room. It is taken off when that is not so any more,
// and when the pod has a node.
const ConditionRearrangingHelps corev1.PodConditionType = "muster.dev/RearrangingHelps"

// Reasons of the condition.
const (
	ReasonNoNodeFits       = "NoNodeFits"       // no node could take the pod, however empty
	ReasonTooLittleMovable = "TooLittleMovable" // too little may be moved where it could run
	ReasonNoOtherPlace     = "NoOtherPlace"     // what would have to move has no other place
)

// eventReason is the reason of a pod's event.
const eventReason = "RearrangingDoesNotHelp"

// maxWrites bounds the conditions that are written in one go, which plans have to wait for.
const maxWrites = 50

// Client writes conditions of pods.
type Client interface {
	// SetCondition sets a condition of a pod of that UID.
	SetCondition(ctx context.Context, pod *corev1.Pod, condition corev1.PodCondition) error
	// RemoveCondition takes the condition of a type off a pod of that UID.
	RemoveCondition(ctx context.Context, pod *corev1.Pod, of corev1.PodConditionType) error
}

// Options of a Teller. All are required but Client and Requests.
type Options struct {
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Clock      clock.PassiveClock
	Cluster    *cluster.Cluster
	// Client writes; nil when nobody is to be told: then pods are counted, and that is all.
	Client Client
	Events events.EventRecorder
	// Requests asks for nodes; nil when nobody is to be asked.
	Requests *Requests
}

// Teller tells which pods only more nodes would help. It belongs to one goroutine.
type Teller struct {
	Options

	pods *prometheus.GaugeVec
	told map[types.UID]string // reasons that were written and that the watch has not shown yet
}

// New returns a Teller that has told nothing yet.
func New(o Options) *Teller {
	t := &Teller{Options: o, told: map[types.UID]string{}, pods: prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "muster_rescheduling_pods_needing_nodes",
		Help: "Pods that wait although moving others was shown not to make room for them, by reason: only more nodes help.",
	}, []string{"reason"})}
	o.Registerer.MustRegister(t.pods)
	return t
}

// Tell writes a verdict to the pods. A failed write is repeated the next time.
func (t *Teller) Tell(ctx context.Context, v Verdict) {
	t.count(v)
	if t.Client == nil {
		return
	}
	needs, unknown := byPod(v.Needs), byPod(v.Unknown)
	writes, seen := 0, sets.New[types.UID]()
	for _, pod := range t.concerned() {
		seen.Insert(pod.UID)
		if unknown[pod.UID] != nil || writes == maxWrites {
			continue
		}
		wanted := ""
		if need := needs[pod.UID]; need != nil {
			wanted = reasonOf(need)
		}
		if wanted == t.said(pod) {
			continue
		}
		writes++
		if err := t.write(ctx, pod, needs[pod.UID]); err != nil && !nomination.Outdated(err) {
			t.Logger.Warn("cannot write a condition of a pod", "pod", pod.Namespace+"/"+pod.Name, "err", err)
			break
		}
		t.told[pod.UID] = wanted
	}
	for uid := range t.told {
		if !seen.Has(uid) {
			delete(t.told, uid)
		}
	}
	if t.Requests != nil {
		t.Requests.reconcile(ctx, t.Cluster, v.Needs)
	}
}

// byPod finds the refusal of a pod, by its UID.
func byPod(refusals []planner.Refusal) map[types.UID]*planner.Refusal {
	of := map[types.UID]*planner.Refusal{}
	for i := range refusals {
		for _, pod := range refusals[i].Pods {
			of[pod.UID] = &refusals[i]
		}
	}
	return of
}

// count has the metric say what a verdict says.
func (t *Teller) count(v Verdict) {
	t.pods.Reset()
	for i := range v.Needs {
		t.pods.WithLabelValues(reasonOf(&v.Needs[i])).Add(float64(len(v.Needs[i].Pods)))
	}
}

// concerned returns the pods that wait, and the pods on nodes that were reported as waiting.
func (t *Teller) concerned() []*cluster.Pod {
	pods := planner.Waiting(t.Cluster)
	for node := range t.Cluster.Snapshot().Nodes() {
		for _, pod := range node.Pods {
			if shown(pod) != "" || t.told[pod.UID] != "" {
				pods = append(pods, pod)
			}
		}
	}
	return pods
}

// said returns the reason that a pod gives, or will when the watch has caught up; "" for none.
func (t *Teller) said(pod *cluster.Pod) string {
	told, outstanding := t.told[pod.UID]
	if !outstanding {
		return shown(pod)
	}
	if told == shown(pod) {
		delete(t.told, pod.UID)
	}
	return told
}

// shown returns the reason of the condition of a pod, "" when it has none.
func shown(pod *cluster.Pod) string {
	for i := range pod.Status.Conditions {
		if c := &pod.Status.Conditions[i]; c.Type == ConditionRearrangingHelps {
			return c.Reason
		}
	}
	return ""
}

// write has a pod say that it needs nodes, or nothing when need is nil.
func (t *Teller) write(ctx context.Context, pod *cluster.Pod, need *planner.Refusal) error {
	if need == nil {
		return t.Client.RemoveCondition(ctx, pod.Pod, ConditionRearrangingHelps)
	}
	condition := corev1.PodCondition{
		Type: ConditionRearrangingHelps, Status: corev1.ConditionFalse, Reason: reasonOf(need), Message: message(pod, need),
	}
	condition.LastTransitionTime.Time = t.Clock.Now()
	if err := t.Client.SetCondition(ctx, pod.Pod, condition); err != nil {
		return err
	}
	t.Events.Eventf(pod.Pod, nil, corev1.EventTypeWarning, eventReason, "Rescheduling", "%s", condition.Message)
	return nil
}

// RESTClient is a [Client] of the API server.
type RESTClient struct{ core rest.Interface }

// NewClient writes through a client of the core API.
func NewClient(core rest.Interface) *RESTClient { return &RESTClient{core} }

// SetCondition implements [Client].
func (c *RESTClient) SetCondition(ctx context.Context, pod *corev1.Pod, condition corev1.PodCondition) error {
	return c.patch(ctx, pod, condition)
}

// RemoveCondition implements [Client].
func (c *RESTClient) RemoveCondition(ctx context.Context, pod *corev1.Pod, of corev1.PodConditionType) error {
	return c.patch(ctx, pod, map[string]any{"$patch": "delete", "type": of})
}

// patch merges a condition into the conditions of a pod, whatever its version: others write theirs.
func (c *RESTClient) patch(ctx context.Context, pod *corev1.Pod, condition any) error {
	return cluster.PatchPodStatus(c.core, types.StrategicMergePatchType, pod, map[string]any{
		"metadata": map[string]any{"uid": pod.UID},
		"status":   map[string]any{"conditions": []any{condition}},
	}).Do(ctx).Error()
}

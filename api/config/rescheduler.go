package config

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"muster.dev/muster/api/rescheduling/v1alpha1"
)

// Rescheduler configures 'muster reschedule'. A Lease named after leaderElection.resourceName, with
// -rescheduler behind it, decides which of several replicas acts.
type Rescheduler struct {
	// Listen is the host:port of /metrics, /livez, /readyz and /debug/rescheduler. Change it when a kubelet or a
	// Prometheus is to reach it. Defaults to 127.0.0.1:8889.
	Listen string `json:"listen"`
	// Mode says whether plans are carried out: DryRun (default), Approve or Auto. Change it when you have seen what it
	// plans.
	Mode v1alpha1.Mode `json:"mode"`
	// Interval is the time between two looks for something to plan. The search takes a sixth of it at most, or 1s.
	// Raise it when a large cluster needs a longer search. Defaults to 30s.
	Interval metav1.Duration `json:"interval"`
	// ReplacementTimeout is how long what replaces a pod may take to be bound and ready, after
	// the grace period of the pod. A plan is given up after five times that, whatever has been done of it: from when it
	// was made, or somebody has approved of it. Raise it when pods start slowly, or end slowly. Defaults to 2m.
	ReplacementTimeout metav1.Duration `json:"replacementTimeout"`
	// MakeRoom moves pods so that pending ones get a place.
	MakeRoom MakeRoomPolicy `json:"makeRoom"`
	// Coalesce moves pods so that nodes become empty.
	Coalesce CoalescePolicy `json:"coalesce"`
	// FreeDomains moves pods so that whole racks, zones or the like have room for large gangs.
	FreeDomains FreeDomainsPolicy `json:"freeDomains"`
	// Relieve moves pods off nodes that are hot.
	Relieve RelievePolicy `json:"relieve"`
	// Balance moves pods off nodes that use much more than the others.
	Balance BalancePolicy `json:"balance"`
	// Respread moves pods onto nodes that have joined lately.
	Respread RespreadPolicy `json:"respread"`
	// ScaleUp answers pods that only more nodes help.
	ScaleUp ScaleUp `json:"scaleUp"`
	// Separate moves pods away from others, or off their nodes, on request.
	Separate SeparatePolicy `json:"separate"`
	// Repair moves pods off nodes that would not take them any more.
	Repair RepairPolicy `json:"repair"`
	// ScaleDown handles nodes that the cluster could do without.
	ScaleDown ScaleDown `json:"scaleDown"`
	// Evictable says which pods may be moved.
	Evictable Evictable `json:"evictable"`
	// Budgets bound the disruption, besides PodDisruptionBudgets.
	Budgets DisruptionBudgets `json:"budgets"`
}

// PlanTime returns how long a policy may search for a plan: a sixth of the interval, and from 1s to 30s, as policies are
// asked one after the other and what a plan was made from must not be old.
func (r *Rescheduler) PlanTime() time.Duration {
	return min(max(r.Interval.Duration/6, time.Second), 30*time.Second)
}

// PlanTTL returns when a plan is given up: some of its replacements come one after another.
func (r *Rescheduler) PlanTTL() time.Duration { return 5 * r.ReplacementTimeout.Duration }

// MakeRoomPolicy moves pods so that pending ones, and gangs, get a place.
type MakeRoomPolicy struct {
	// Enabled turns it on. Defaults to true.
	Enabled bool `json:"enabled"`
	// PendingFor is how long the rescheduler must have seen a pod pending. Raise it when an autoscaler adds nodes for
	// pending pods sooner than pods are worth moving. Defaults to 1m.
	PendingFor metav1.Duration `json:"pendingFor"`
}

// CoalescePolicy moves pods so that nodes become empty.
type CoalescePolicy struct {
	// Enabled turns it on. Defaults to false.
	Enabled bool `json:"enabled"`
	// Mark is how the nodes are marked that a plan empties, before its first eviction: None (default), Annotate, or
	// Taint or Cordon, which annotate them, too, and keep other pods off. Change it when somebody else removes nodes
	// that are empty, and is to find them so.
	Mark NodeMark `json:"mark"`
	// ClosedFor is how long a node that was emptied stays tainted or cordoned, unless it is needed before. Raise it
	// when who removes empty nodes waits for longer. Defaults to 1h.
	ClosedFor metav1.Duration `json:"closedFor"`
}

// NodeMark is how a node is marked that is being emptied.
type NodeMark string

// The marks.
const (
	MarkNone     NodeMark = "None"
	MarkAnnotate NodeMark = "Annotate"
	MarkTaint    NodeMark = "Taint"
	MarkCordon   NodeMark = "Cordon"
)

// ScaleUp says what else is done about pods that moving others does not help, besides reporting
// them. ScaleUp needs makeRoom.
type ScaleUp struct {
	// ProvisioningRequest asks a cluster autoscaler for nodes.
	ProvisioningRequest ProvisioningRequest `json:"provisioningRequest"`
}

// ProvisioningRequest asks a cluster autoscaler for nodes, by an object of
// autoscaling.x-k8s.io/v1 for each pod or gang.
type ProvisioningRequest struct {
	// ClassName is the provisioning class, such as best-effort-atomic-scale-up.autoscaling.x-k8s.io, which adds nodes. Of
	// Cluster Autoscaler's own classes check-capacity.autoscaling.x-k8s.io adds none. Defaults to "", with which nobody is
	// asked.
	ClassName string `json:"className"`
	// Parameters are passed on to the autoscaler that serves the class, such as ValidUntilSeconds: "600".
	Parameters map[string]string `json:"parameters,omitempty"`
}

// ScaleDown handles nodes that the cluster could do without.
type ScaleDown struct {
	// Annotate has each say so in an annotation. Turn it on when somebody reads it who removes nodes. Defaults to
	// false.
	Annotate bool `json:"annotate"`
}

// Evictable says which pods may be moved. Never moved are static pods, pods of DaemonSets, critical
// pods, pods that nothing would replace and pods annotated not to be evicted.
type Evictable struct {
	// AllowLocalStorage allows to move pods with an emptyDir or a hostPath. Turn it on when such volumes hold nothing
	// that is missed. Defaults to false.
	AllowLocalStorage bool `json:"allowLocalStorage"`
	// AllowClaims allows to move pods with PersistentVolumeClaims. Turn it on when volumes can be attached elsewhere.
	// Defaults to false.
	AllowClaims bool `json:"allowClaims"`
	// AllowHigherPriority allows pods to be moved for the sake of lower-priority pods. Turn it on when priority says
	// who is scheduled first, and not who may be disturbed. Defaults to false.
	AllowHigherPriority bool `json:"allowHigherPriority"`
	// Controllers are further kinds, such as CloneSet.apps.kruise.io, whose pods may be moved,
	// besides ReplicaSets, StatefulSets, ReplicationControllers, and Jobs that bear it.
	Controllers []string `json:"controllers,omitempty"`
	// BelowPriority protects pods of this priority and above.
	BelowPriority *int32 `json:"belowPriority,omitempty"`
	// Selector protects pods that it does not match, such as app in (a, b). Empty matches all.
	Selector string `json:"selector,omitempty"`
	// NodeSelector protects pods on nodes that it does not match. Empty matches all.
	NodeSelector string `json:"nodeSelector,omitempty"`
	// Namespaces protect the pods of all others. Empty stands for all but kube-system, whose pods move where they name
	// it; '*' stands for all.
	Namespaces []string `json:"namespaces,omitempty"`
	// ExceptNamespaces protect their pods.
	ExceptNamespaces []string `json:"exceptNamespaces,omitempty"`
	// MinAge protects pods that have not run for so long. Raise it when pods are of use only some time after their
	// start. Defaults to 0.
	MinAge metav1.Duration `json:"minAge"`
	// MinReplicas protects pods of controllers with fewer pods on nodes, and the only one that is ready. 0 protects
	// neither: set it where work may rest until a replacement is ready, and muster warns of it. Defaults to 1.
	MinReplicas int32 `json:"minReplicas"`
}

// AllNamespaces stands for all namespaces, kube-system as well.
const AllNamespaces = "*"

// DisruptionBudgets bound the disruption, besides PodDisruptionBudgets.
type DisruptionBudgets struct {
	// Rate bounds all evictions. Raise it when the cluster is large. Defaults to 20 in 1h.
	Rate EvictionRate `json:"rate"`
	// PerPlan is how many pods one plan may move, 0 for any number. Raise it when a gang or a node needs more pods to
	// move. Defaults to 10.
	PerPlan int32 `json:"perPlan"`
	// NodesPerPlan is how many nodes a plan takes pods off to empty or relieve them, or for balance, 0 for any number:
	// those first that use most. Raise it when one node at a time is too slow for a large cluster. Defaults to 1.
	NodesPerPlan int32 `json:"nodesPerPlan"`
	// PerWorkload is how many pods of one controller a plan may move, 0 for any number. In per cent, as in 25%, it is
	// that part of them, rounded up. Raise it when workloads have replicas to spare. Defaults to 1.
	PerWorkload intstr.IntOrString `json:"perWorkload"`
	// WorkloadCoolDown is how long no other plan moves a pod of a controller after an eviction. None moves a pod off
	// the same node for a tenth of that. Raise it when pods need long to be of full use after their start. Defaults to
	// 10m.
	WorkloadCoolDown metav1.Duration `json:"workloadCoolDown"`
	// Selected are budgets of pods that a label selector matches. One with windows and nothing else says when any pod
	// may be evicted.
	Selected []SelectedBudget `json:"selected,omitempty"`
}

// NodeCoolDown returns how long no other plan moves a pod off a node after an eviction: what has moved is measured
// elsewhere after a tenth of the time in which its controller rests.
func (b *DisruptionBudgets) NodeCoolDown() time.Duration { return b.WorkloadCoolDown.Duration / 10 }

// EvictionRate allows a number of evictions in any period of a given length.
type EvictionRate struct {
	// Evictions is how many, 0 for any number.
	Evictions int32 `json:"evictions"`
	// Per is the length of the period.
	Per metav1.Duration `json:"per"`
}

// SelectedBudget bounds the disruption of pods that a label selector matches.
type SelectedBudget struct {
	// Namespace is where the pods are. Empty stands for all.
	Namespace string `json:"namespace,omitempty"`
	// Selector is the label selector, such as tier=web. It may be empty, for all pods, where
	// policies, topologyKey or windows is set.
	Selector string `json:"selector"`
	// Policies are bounded by it, such as Respread. Empty stands for all.
	Policies []v1alpha1.Policy `json:"policies,omitempty"`
	// TopologyKey is a label of nodes, such as topology.kubernetes.io/zone. With it, the pods of each
	// domain are counted alone.
	TopologyKey string `json:"topologyKey,omitempty"`
	// Rate bounds their evictions. Defaults to any number.
	Rate EvictionRate `json:"rate"`
	// MaxDown is how many of them may be down at once: not ready, or without a node. In per cent,
	// as in 10%, it is that part of them, rounded up. Defaults to any number.
	MaxDown *intstr.IntOrString `json:"maxDown,omitempty"`
	// Windows are when these pods may be evicted. Empty stands for any time.
	Windows []MaintenanceWindow `json:"windows,omitempty"`
}

// OfAllPods reports whether the budget has windows and nothing else: without one that is open no plan is made.
func (s *SelectedBudget) OfAllPods() bool {
	return len(s.Windows) > 0 && len(s.Policies) == 0 && s.Namespace == "" && s.Selector == "" && s.TopologyKey == "" &&
		s.Rate == EvictionRate{} && s.MaxDown == nil
}

// MaintenanceWindow is a part of a day.
type MaintenanceWindow struct {
	// From is when it begins, as in 22:00.
	From string `json:"from"`
	// To is when it ends, as in 06:00. If that is not after from, it is on the next day.
	To string `json:"to"`
	// Days are those on which it begins, such as Sat. Empty stands for all.
	Days []string `json:"days,omitempty"`
	// TimeZone is a name such as Europe/Berlin. Empty means UTC.
	TimeZone string `json:"timeZone,omitempty"`
}

func baseRescheduler() Rescheduler {
	return Rescheduler{
		Listen: "127.0.0.1:8889", Mode: v1alpha1.DryRun,
		Interval:           seconds(30),
		ReplacementTimeout: metav1.Duration{Duration: 2 * time.Minute},
		MakeRoom:           MakeRoomPolicy{Enabled: true, PendingFor: metav1.Duration{Duration: time.Minute}},
		Coalesce:           CoalescePolicy{Mark: MarkNone, ClosedFor: metav1.Duration{Duration: time.Hour}},
		FreeDomains:        FreeDomainsPolicy{Nodes: 1, Domains: 1},
		Relieve:            baseRelieve(),
		Balance:            baseBalance(),
		Respread:           baseRespread(),
		Evictable:          Evictable{MinReplicas: 1},
		Budgets: DisruptionBudgets{
			Rate: EvictionRate{Evictions: 20, Per: metav1.Duration{Duration: time.Hour}}, PerPlan: 10, NodesPerPlan: 1,
			PerWorkload: intstr.FromInt32(1), WorkloadCoolDown: metav1.Duration{Duration: 10 * time.Minute},
		},
	}
}

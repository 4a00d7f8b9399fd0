package explanation

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/placement"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/predicates"
)

// Members tells of gangs and their members, as a [gang.Observer] does.
type Members interface {
	// About is on the gangs of a name.
	About(name types.NamespacedName) []core.Details
	// Member is on the pod of a UID, and its gang.
	Member(uid types.UID) (core.Summary, core.Member, bool)
	// Prospect is where members of a gang would go now.
	Prospect(key membership.Key) (gang.Prospect, bool)
	// Yielding are the members with places in gangs of a lower priority, and their nodes.
	Yielding(above int32) (pods []*cluster.Pod, on []string)
	// First are the gangs that run with too few members, so that the others are placed before a pod.
	First(pod *cluster.Pod) []membership.Key
}

// Nominations tells of pods that are placed before kube-scheduler asks, as a [nomination.Nominator] does.
type Nominations interface {
	// About is on the pod of a UID.
	About(uid types.UID) (nomination.Pending, bool)
	// PlannedBelow are, by node, the pods of less than a priority that count there only since they were planned there.
	PlannedBelow(above int32) map[string][]types.UID
}

// Explainer explains pods and gangs of a cluster. Members are nil if gangs are not known, and Nominations where none are made.
type Explainer struct {
	Cluster     *cluster.Cluster
	Profiles    *predicates.Profiles
	Members     Members
	Nominations Nominations
	// Serving is why the process does not schedule, nil when it does.
	Serving func() error
}

// Pod explains a pod, of the cluster or not. The error says that no profile is for it: then nothing is told of nodes.
func (x *Explainer) Pod(pod *cluster.Pod) (*Pod, error) {
	told := x.State(pod)
	store, err := x.Profiles.Named(pod.Spec.SchedulerName)
	if err != nil {
		told.NoProfile = err.Error()
		if pod.Spec.SchedulerName == corev1.DefaultSchedulerName {
			told.NoProfile += "; a pod that names none gets another one only as it is created, by the label " + v1alpha1.LabelScheduler +
				" of its namespace or by its kind (profiles[].defaultFor)"
		}
		told.Summary = told.State()
		return told, err
	}
	snap := x.Cluster.Snapshot()
	told.Profile, told.Class, told.Generation = store.Profile.Name, store.HashOf(pod), snap.Generation
	told.Asks = asks(&pod.Requests)
	told.Nodes, told.Room = x.survey(store, pod, snap).nodes()
	told.Fitting = told.Room.Fit
	slices.SortStableFunc(told.Nodes, func(a, b Node) int {
		return cmp.Or(cmp.Compare(len(a.Against), len(b.Against)), cmp.Compare(b.Total, a.Total))
	})
	if x.Members != nil && told.Bound == "" {
		for _, key := range x.Members.First(pod) {
			told.First = append(told.First, key.String())
		}
	}
	told.Summary = told.State()
	return told, nil
}

// State says where a pod is, and what it waits for. Nothing is told of nodes.
func (x *Explainer) State(pod *cluster.Pod) *Pod {
	told := &Pod{
		Pod:     pod.FullName(),
		Bound:   pod.Spec.NodeName,
		Member:  membership.Tell(pod),
		Ignored: membership.Ignored(pod),
		Gang:    x.membership(pod),
		Nodes:   []Node{},
	}
	if x.Nominations != nil {
		if about, known := x.Nominations.About(pod.UID); known {
			told.Nomination = &about
		}
	}
	for _, gate := range pod.Spec.SchedulingGates {
		told.Gates = append(told.Gates, gate.Name)
	}
	if told.Bound == "" && pod.UID != "" {
		told.Counts = x.Cluster.PlaceOf(pod.UID)
	}
	if err := x.Serving(); err != nil {
		told.Standby = err.Error()
	}
	return told
}

// membership is a pod as a member of a gang, nil for one that is of none.
func (x *Explainer) membership(pod *cluster.Pod) *Membership {
	if x.Members == nil {
		return nil
	}
	of, m, found := x.Members.Member(pod.UID)
	if !found {
		return nil
	}
	return &Membership{Gang: of.Name, Stage: m.Stage, Node: m.Node, Room: m.Room, Why: of.Why, Note: of.Note, brief: briefly(&of)}
}

// mostKinds is how many members without a place are looked at that are not known to be alike.
const mostKinds = 8

// Gangs explains the gangs of a name, none when there is none.
func (x *Explainer) Gangs(name types.NamespacedName) *Gangs {
	told := &Gangs{Gangs: []Gang{}}
	if x.Members == nil {
		return told
	}
	for _, details := range x.Members.About(name) {
		g := Gang{Details: details}
		if g.Why != "" {
			x.seek(&g, membership.Key{Label: details.Label, NamespacedName: name})
		}
		told.Gangs = append(told.Gangs, g)
	}
	return told
}

// seek says where members without a place would go.
func (x *Explainer) seek(g *Gang, key membership.Key) {
	snap, placed := x.Cluster.Snapshot(), sets.New[types.UID]()
	if prospect, sought := x.Members.Prospect(key); sought {
		snap, g.Places = prospect.Snapshot, placesOf(&prospect)
		g.Why = g.Places.whyNow(g.Why)
		for _, place := range prospect.Own {
			if place.Node >= 0 {
				placed.Insert(place.Pod.UID)
			}
		}
	}
	g.Generation = snap.Generation
	alike := map[string]int{} // entries, by class
	for i := range g.Members {
		pod := x.Cluster.FindPod(types.NamespacedName{Namespace: key.Namespace, Name: g.Members[i].Pod})
		if g.Members[i].Node != "" || pod == nil || pod.DeletionTimestamp != nil {
			continue
		}
		class := x.class(pod)
		at, known := alike[class]
		switch {
		case class != "" && known:
		case len(alike) == mostKinds || len(g.Seeking) == mostKinds:
			g.MoreSeeking++
			continue
		default:
			at = g.add(x.alone(pod, snap))
			alike[class] = at
		}
		g.Seeking[at].Pods = append(g.Seeking[at].Pods, pod.Name)
		if placed.Has(pod.UID) {
			g.Seeking[at].Placed++
		}
	}
}

// placesOf says how many members would get a place by a prospect.
func placesOf(p *gang.Prospect) *Places {
	told := &Places{
		Wanted: p.Wanted, Found: p.Found, Short: p.Wanted - p.Found, Yielding: p.Yielding, Cut: p.Cut,
	}
	if told.Short > 0 {
		told.Lacks = p.Lacks
		for _, o := range p.Against {
			told.Against = append(told.Against, Objection{o.Reason, o.Nodes})
		}
	}
	return told
}

// class names the class of a pod, "" for one that is judged for itself.
func (x *Explainer) class(pod *cluster.Pod) string {
	if store := x.Profiles.Of(pod.Spec.SchedulerName); store != nil {
		return store.HashOf(pod)
	}
	return ""
}

// alone says where a member would fit by itself. It names none.
func (x *Explainer) alone(pod *cluster.Pod, snap *cluster.Snapshot) Seeking {
	told := Seeking{Asks: asks(&pod.Requests)}
	store, err := x.Profiles.Named(pod.Spec.SchedulerName)
	if err != nil {
		told.NoProfile = err.Error()
		return told
	}
	var nodes []Node
	nodes, told.Alone = x.survey(store, pod, snap).nodes()
	for i := range nodes {
		if nodes[i].Fits {
			told.Rooms += int64(placement.Slots(snap.NodeByName(nodes[i].Node).WithoutPod(pod.UID), pod))
		}
	}
	told.Refused = refusals(nodes)
	return told
}

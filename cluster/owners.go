package cluster

import (
	"log/slog"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"

	"muster.dev/muster/cluster/lock"
)

// podKind is the kind of pods, which own others: a leader its workers' StatefulSet, a driver its executors.
var podKind = schema.GroupKind{Kind: "Pod"} //nolint:gochecknoglobals // it never changes

// Owners say which pods belong to what, by who owns them. All of it comes from watches: a reference of a pod counts
// if there is an object of its kind, name and UID in the pod's own namespace. So a pod is affiliated again when its
// owners come, change or go.
//
// An owner is created before its pods, and may be shown after them, as its watch is another one, and may yet have to begin.
// Until it is, nobody knows the gang of the pod. Only the API server can tell that it never will be.
//
// Exported methods are safe for concurrent use. The others need the lock of the cluster, unless they say otherwise.
type Owners struct {
	log        *slog.Logger
	metrics    *metrics
	affiliator Affiliator // nil when nobody asks
	live       bool
	waiting    *waiting
	mu         *lock.Mutex // of the cluster
	show       func(*Pod)  // has the cluster take in a pod
	questions  questions

	known map[ownerKey]*Owner
	// watched says of kinds whether their objects can be watched. Of others nobody knows it yet.
	watched map[schema.GroupKind]bool
	pods    map[ownerKey]sets.Set[types.UID] // whose chains pass by a name, whether there is such an object or not
	passed  map[types.UID][]ownerKey         // what the chain of a pod passes by
}

func newOwners(o *Options, c *Cluster) *Owners {
	return &Owners{
		log: c.log, metrics: c.metrics, affiliator: o.Affiliator, live: o.Live, waiting: c.waiting, mu: &c.mu, show: c.setPod,
		questions: newQuestions(o.Clock, &c.mu), known: map[ownerKey]*Owner{}, watched: map[schema.GroupKind]bool{podKind: true},
		pods: map[ownerKey]sets.Set[types.UID]{}, passed: map[types.UID][]ownerKey{},
	}
}

// Affiliated returns a pod that is in no view with what it belongs to, by the owners that are known now.
func (o *Owners) Affiliated(object *corev1.Pod) *Pod {
	pod := &Pod{Pod: object, Namespace: object.Namespace}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.affiliator != nil {
		chain, _, _ := o.chain(pod)
		chain.Unseen, chain.Awaited = false, false
		pod.Affiliation = o.affiliator.Affiliate(object, chain)
	}
	return pod
}

// MayBelong reports whether a pod that no watch has shown may belong to something: what it says of its owners is not
// believed, and is no reason to take it for a pod of none.
func (o *Owners) MayBelong(pod *corev1.Pod) bool {
	if o.affiliator == nil {
		return false
	}
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		group, err := schema.ParseGroupVersion(ref.APIVersion)
		if err == nil && o.affiliator.Follows(group.WithKind(ref.Kind).GroupKind()) {
			return true
		}
	}
	_, _, names := o.affiliator.Names(pod)
	return names || o.affiliator.Affiliate(pod, &Chain{}).Gang != ""
}

// Controllers returns the controller of a pod, the controller of that, and so on, as far as they are known.
func (o *Owners) Controllers(pod *Pod) (above []metav1.OwnerReference) {
	o.mu.Lock()
	defer o.mu.Unlock()
	chain := &Chain{}
	if o.affiliator != nil {
		chain, _, _ = o.chain(pod)
	}
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		above = append(above, *ref)
	}
	for _, owner := range chain.Owners {
		if ref := metav1.GetControllerOfNoCopy(owner); ref != nil {
			above = append(above, *ref)
		}
	}
	return above
}

// take has the cluster take in what the watch says of a pod, with what it belongs to.
func (o *Owners) take(pod *Pod) {
	known := o.pod(pod.UID) != nil
	o.resolve(pod)
	o.show(pod)
	if !known {
		o.affiliate(o.below(ownerKey{podKind, key(pod)}))
	}
}

// lose applies that a pod is gone or finished, once the cluster has it no more: it owns none.
func (o *Owners) lose(pod *corev1.Pod) {
	o.follow(pod.UID, nil)
	o.questions.raise(pod.UID, nil)
	o.affiliate(o.below(ownerKey{podKind, key(pod)}))
}

// affiliate has pods affiliated again.
func (o *Owners) affiliate(pods []types.UID) {
	for _, uid := range pods {
		pod := o.pod(uid)
		if pod == nil {
			continue
		}
		next := *pod
		if o.resolve(&next); !next.Affiliation.equal(&pod.Affiliation) {
			o.show(&next)
		}
	}
}

// resolve says to what a pod belongs that nobody else holds yet, and follows its owners.
func (o *Owners) resolve(pod *Pod) {
	if o.affiliator == nil {
		return
	}
	chain, passed, unseen := o.chain(pod)
	o.follow(pod.UID, passed)
	pod.Affiliation = o.affiliator.Affiliate(pod.Pod, chain)
	if pod.Affiliation.Gang == "" && chain.Lost != nil && chain.Namesake == nil {
		if former := o.former(pod.UID); former.Gang != "" {
			pod.Affiliation, unseen = former, nil
		}
	}
	o.questions.raise(pod.UID, unseen)
}

// former returns to what a pod belonged so far. It does so still when its owner has gone, as it is about to go, too.
func (o *Owners) former(uid types.UID) Affiliation {
	if pod := o.pod(uid); pod != nil {
		return pod.Affiliation
	}
	return Affiliation{}
}

// pod returns a pod that the watch shows, nil when it shows none.
func (o *Owners) pod(uid types.UID) *Pod {
	if pod := o.waiting.pending[uid]; pod != nil {
		return pod
	}
	return o.waiting.ledger.placed[uid].pod
}

// follow notes what the chain of a pod passes by, instead of what it has passed by before.
func (o *Owners) follow(pod types.UID, names []ownerKey) {
	for _, name := range o.passed[pod] {
		if o.pods[name].Delete(pod).Len() == 0 {
			delete(o.pods, name)
		}
	}
	for _, name := range names {
		if o.pods[name] == nil {
			o.pods[name] = sets.New[types.UID]()
		}
		o.pods[name].Insert(pod)
	}
	if o.passed[pod] = names; len(names) == 0 {
		delete(o.passed, pod)
	}
}

// below returns the pods whose chains pass by a name.
func (o *Owners) below(name ownerKey) []types.UID { return slices.Sorted(maps.Keys(o.pods[name])) }

// belowKind returns the pods whose chains pass by any object of a kind.
func (o *Owners) belowKind(kind schema.GroupKind) []types.UID {
	of := sets.New[types.UID]()
	for name, passing := range o.pods {
		if name.GroupKind == kind {
			maps.Copy(of, passing)
		}
	}
	return slices.Sorted(maps.Keys(of))
}

// mostOwners is how many owners of a pod are looked at, one above the other. A worker of a LeaderWorkerSet has four.
const mostOwners = 6

// Chain is the owners of a pod.
type Chain struct {
	// Owners are its controller, the controller of that, and so on, as far as their kinds are followed.
	Owners []*Owner
	// Lost is the first reference that leads to no object, or not to the one that it names; nil for none.
	Lost *metav1.OwnerReference
	// Namesake is another object of the kind and name of Lost, which it does not mean; nil for none.
	Namesake *Owner
	// Unseen says that the object of Lost may be shown yet.
	Unseen bool
	// Named is the object that the pod names without being owned by it, the group of groups that it is in, and so on. Absent
	// is the first of these that is not there, nil for none. Awaited says that it may be yet.
	Named   []*Owner
	Absent  *GroupReference
	Awaited bool
}

// Leads reports whether what the pod names is there, and all groups of groups above that.
func (c *Chain) Leads() bool { return len(c.Named) > 0 && c.Absent == nil }

// chain returns the owners of a pod, the names that it passes by, and what of them no watch has shown.
func (o *Owners) chain(pod *Pod) (chain *Chain, passed []ownerKey, unseen []reference) {
	chain = &Chain{}
	ref := metav1.GetControllerOfNoCopy(pod)
	for ref != nil && len(chain.Owners) < mostOwners {
		group, err := schema.ParseGroupVersion(ref.APIVersion)
		kind := group.WithKind(ref.Kind).GroupKind()
		if err != nil || !o.affiliator.Follows(kind) {
			break
		}
		name := ownerKey{kind, types.NamespacedName{Namespace: pod.Namespace, Name: ref.Name}}
		passed = append(passed, name)
		owner := o.find(name, ref.UID)
		if owner == nil || owner.UID != ref.UID {
			chain.Lost, chain.Namesake = ref, owner
			if o.mayShow(kind) {
				unseen = append(unseen, reference{name, ref.UID})
				chain.Unseen = !o.questions.absent(reference{name, ref.UID})
			}
			break
		}
		chain.Owners = append(chain.Owners, owner)
		ref = metav1.GetControllerOfNoCopy(owner)
	}
	named, asked := o.named(pod, chain)
	return chain, append(passed, named...), append(unseen, asked...)
}

// named adds to a chain what a pod names, and the groups of groups above that. It returns the names that it passes by, and
// what of them no watch has shown.
func (o *Owners) named(pod *Pod, chain *Chain) (passed []ownerKey, unseen []reference) {
	kind, name, names := o.affiliator.Names(pod.Pod)
	for at := (GroupReference{kind, name}); names && len(chain.Named) < mostOwners; {
		key := ownerKey{at.GroupKind, types.NamespacedName{Namespace: pod.Namespace, Name: at.Name}}
		passed = append(passed, key)
		group := o.known[key]
		if group != nil {
			chain.Named = append(chain.Named, group)
			at, names = group.Asks.Parent, group.Asks.Parent != GroupReference{}
			continue
		}
		chain.Absent, names = &at, false
		switch watched, told := o.watched[at.GroupKind]; {
		case told: // it may be made at any time
			chain.Awaited = watched
		case o.live: // is there such a resource?
			unseen = append(unseen, reference{ownerKey: key})
			chain.Awaited = !o.questions.absent(reference{ownerKey: key})
		}
	}
	return passed, unseen
}

// mayShow reports whether a watch may show objects of a kind, now or once it has begun.
func (o *Owners) mayShow(kind schema.GroupKind) bool {
	watched, told := o.watched[kind]
	return o.live && (watched || !told)
}

// find returns the object of a name, nil when there is none. A pod is looked up by its UID.
func (o *Owners) find(name ownerKey, uid types.UID) *Owner {
	if name.GroupKind != podKind {
		return o.known[name]
	}
	pod := o.pod(uid)
	if pod == nil || key(pod) != name.NamespacedName {
		return nil
	}
	return o.affiliator.Owner(pod.Pod)
}

package cluster

import (
	"maps"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/clock"
)

// mostOwners is how many owners of a pod are looked at, one above the other. A worker of a LeaderWorkerSet has four.
const mostOwners = 6

// OwnerGrace is how long after a pod its owners are waited for. A watch lags for less.
const OwnerGrace = 10 * time.Second

// podKind is the kind of pods, which own others: a leader its workers' StatefulSet, a driver its executors.
var podKind = schema.GroupKind{Kind: "Pod"} //nolint:gochecknoglobals // it never changes

// owners says which pods belong to what, by who owns them. All of it comes from watches: a reference of a pod counts
// if there is an object of its kind, name and UID in the pod's own namespace. So a pod is affiliated again when its
// owners come, change or go.
//
// An owner is created before its pods, and may be shown after them, as its watch is another one. Until it is, or grace
// is over, nobody knows the gang of the pod.
type owners struct {
	affiliator Affiliator // nil when nobody asks
	waiting    *waiting
	clock      clock.WithDelayedExecution
	grace      time.Duration
	// again has a pod affiliated again, once the cluster is locked.
	again func(types.UID)

	known   map[ownerKey]*Owner
	watched sets.Set[schema.GroupKind]       // kinds whose objects can be watched
	pods    map[ownerKey]sets.Set[types.UID] // whose chains pass by a name, whether there is such an object or not
	passed  map[types.UID][]ownerKey         // what the chain of a pod passes by
	timers  map[types.UID]clock.Timer        // of pods whose grace is not over
	overdue sets.Set[types.UID]              // pods whose grace is over
}

func newOwners(o *Options, w *waiting, again func(types.UID)) owners {
	return owners{
		affiliator: o.Affiliator, waiting: w, clock: o.Clock, grace: o.OwnerGrace, again: again,
		known: map[ownerKey]*Owner{}, watched: sets.New(podKind), pods: map[ownerKey]sets.Set[types.UID]{},
		passed: map[types.UID][]ownerKey{}, timers: map[types.UID]clock.Timer{}, overdue: sets.New[types.UID](),
	}
}

// reduced returns an object as an Owner, nil for one of a kind that is not followed. It takes a while, and needs no lock.
func (o *owners) reduced(object runtime.Object) *Owner {
	if o.affiliator == nil {
		return nil
	}
	switch object.(type) {
	case *batchv1.Job, *appsv1.StatefulSet:
		return o.affiliator.Owner(object)
	}
	return nil
}

// resolve says to what a pod belongs that nobody else holds yet, and follows its owners.
func (o *owners) resolve(pod *Pod) {
	if o.affiliator == nil {
		return
	}
	o.unfollow(pod.UID)
	chain := o.chain(pod, func(name ownerKey) { o.follow(pod.UID, name) })
	if !chain.Unseen {
		o.settle(pod.UID)
		pod.Affiliation = o.affiliator.Affiliate(pod.Pod, chain)
		return
	}
	o.expect(pod.UID)
	if pod.Affiliation = o.former(pod.UID); pod.Affiliation.Gang == "" {
		pod.Affiliation = o.affiliator.Affiliate(pod.Pod, chain)
	}
}

// former returns to what a pod belonged so far: it does for a while after its owner has gone, as it is about to go, too.
func (o *owners) former(uid types.UID) Affiliation {
	if pod := o.pod(uid); pod != nil {
		return pod.Affiliation
	}
	return Affiliation{}
}

// pod returns a pod that the watch shows, nil when it shows none.
func (o *owners) pod(uid types.UID) *Pod {
	if pod := o.waiting.pending[uid]; pod != nil {
		return pod
	}
	return o.waiting.ledger.placed[uid].pod
}

// chain returns the owners of a pod, and tells of each name that it passes by.
func (o *owners) chain(pod *Pod, passes func(ownerKey)) *Chain {
	chain := &Chain{}
	ref := metav1.GetControllerOfNoCopy(pod)
	for ref != nil && len(chain.Owners) < mostOwners {
		group, err := schema.ParseGroupVersion(ref.APIVersion)
		kind := group.WithKind(ref.Kind).GroupKind()
		if err != nil || !o.affiliator.Follows(kind) {
			break
		}
		name := ownerKey{kind, types.NamespacedName{Namespace: pod.Namespace, Name: ref.Name}}
		passes(name)
		owner := o.find(name, ref.UID)
		if owner == nil || owner.UID != ref.UID {
			chain.Lost, chain.Namesake = ref, owner
			chain.Unseen = o.watched.Has(kind) && o.grace > 0 && !o.overdue.Has(pod.UID)
			break
		}
		chain.Owners = append(chain.Owners, owner)
		ref = metav1.GetControllerOfNoCopy(owner)
	}
	if kind, named, names := o.affiliator.Names(pod.Pod); names {
		name := ownerKey{kind, types.NamespacedName{Namespace: pod.Namespace, Name: named}}
		passes(name)
		chain.Named = o.known[name]
		chain.Awaited = chain.Named == nil && o.watched.Has(kind)
	}
	return chain
}

// find returns the object of a name, nil when there is none. A pod is looked up by its UID.
func (o *owners) find(name ownerKey, uid types.UID) *Owner {
	if name.GroupKind != podKind {
		return o.known[name]
	}
	pod := o.pod(uid)
	if pod == nil || key(pod) != name.NamespacedName {
		return nil
	}
	return o.affiliator.Owner(pod.Pod)
}

func (o *owners) follow(pod types.UID, name ownerKey) {
	if o.pods[name] == nil {
		o.pods[name] = sets.New[types.UID]()
	}
	o.pods[name].Insert(pod)
	o.passed[pod] = append(o.passed[pod], name)
}

func (o *owners) unfollow(pod types.UID) {
	for _, name := range o.passed[pod] {
		if o.pods[name].Delete(pod).Len() == 0 {
			delete(o.pods, name)
		}
	}
	delete(o.passed, pod)
}

// expect ends the grace of a pod in time.
func (o *owners) expect(pod types.UID) {
	if o.timers[pod] == nil {
		o.timers[pod] = o.clock.AfterFunc(o.grace, func() { o.again(pod) })
	}
}

// expire notes that the grace of a pod is over. It reports false if it was settled in time.
func (o *owners) expire(pod types.UID) bool {
	if o.timers[pod] == nil {
		return false
	}
	delete(o.timers, pod)
	o.overdue.Insert(pod)
	return true
}

// settle notes that nothing is expected for a pod.
func (o *owners) settle(pod types.UID) {
	if timer := o.timers[pod]; timer != nil {
		timer.Stop()
		delete(o.timers, pod)
	}
}

// forget ends to follow the owners of a pod that is gone.
func (o *owners) forget(pod types.UID) {
	o.unfollow(pod)
	o.settle(pod)
	o.overdue.Delete(pod)
}

// below returns the pods whose chains pass by a name.
func (o *owners) below(name ownerKey) []types.UID { return slices.Sorted(maps.Keys(o.pods[name])) }

// set takes an owner in. It returns the pods that may belong to something else now.
func (o *owners) set(owner *Owner) []types.UID {
	name := keyOf(owner)
	if last := o.known[name]; last != nil && last.says(owner) {
		return nil
	}
	o.known[name] = owner
	return o.below(name)
}

// remove takes an owner out, as set takes one in.
func (o *owners) remove(name ownerKey) []types.UID {
	if o.known[name] == nil {
		return nil
	}
	delete(o.known, name)
	return o.below(name)
}

// drop takes out all owners of a kind, as set takes one in.
func (o *owners) drop(kind schema.GroupKind) []types.UID {
	maps.DeleteFunc(o.known, func(name ownerKey, _ *Owner) bool { return name.GroupKind == kind })
	o.watched.Delete(kind)
	return o.belowKind(kind)
}

// tell notes whether objects of a kind can be watched. It returns the pods to which that makes a difference.
func (o *owners) tell(kind schema.GroupKind, watched bool) []types.UID {
	if o.watched.Has(kind) == watched {
		return nil
	}
	if o.watched.Delete(kind); watched {
		o.watched.Insert(kind)
	}
	return o.belowKind(kind)
}

// belowKind returns the pods whose chains pass by any object of a kind.
func (o *owners) belowKind(kind schema.GroupKind) []types.UID {
	of := sets.New[types.UID]()
	for name, passing := range o.pods {
		if name.GroupKind == kind {
			maps.Copy(of, passing)
		}
	}
	return slices.Sorted(maps.Keys(of))
}

// affiliate has pods affiliated again. The cluster is locked.
func (c *Cluster) affiliate(pods []types.UID) {
	for _, uid := range pods {
		pod := c.owners.pod(uid)
		if pod == nil {
			continue
		}
		next := *pod
		if c.owners.resolve(&next); !next.Affiliation.equal(&pod.Affiliation) {
			c.setPod(&next)
		}
	}
}

// overdue has a pod affiliated again whose owners have not been shown in time.
func (c *Cluster) overdue(pod types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.owners.expire(pod) {
		c.affiliate([]types.UID{pod})
	}
}

// setMember takes in what the watch says of a pod, with what it belongs to.
func (c *Cluster) setMember(pod *Pod) {
	known := c.owners.pod(pod.UID) != nil
	c.owners.resolve(pod)
	c.setPod(pod)
	if !known {
		c.affiliate(c.owners.below(ownerKey{podKind, key(pod)}))
	}
}

// removeMember applies that a pod is gone or finished, and owns none any more.
func (c *Cluster) removeMember(pod *corev1.Pod) {
	c.removePod(pod.UID)
	c.affiliate(c.owners.below(ownerKey{podKind, key(pod)}))
}

// watchedOwner is told of trouble with the watch on a kind of owners, and of its end. Only what does not pass by itself
// counts: muster may not read it. A kind that is defined is served soon.
func (c *Cluster) watchedOwner(kind schema.GroupKind, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.affiliate(c.owners.tell(kind, !apierrors.IsForbidden(err)))
}

// toldOf returns who is told of trouble with the watch on objects like one, nil for nobody.
func (c *Cluster) toldOf(example runtime.Object) func(error) {
	if c.owners.affiliator == nil {
		return nil
	}
	switch example.(type) {
	case *batchv1.Job:
		return func(err error) { c.watchedOwner(batchv1.SchemeGroupVersion.WithKind("Job").GroupKind(), err) }
	case *appsv1.StatefulSet:
		return func(err error) { c.watchedOwner(appsv1.SchemeGroupVersion.WithKind("StatefulSet").GroupKind(), err) }
	}
	return nil
}

// OwnerHandler takes the objects of a custom resource whose pods belong together; see [Options].
func (c *Cluster) OwnerHandler(kind schema.GroupKind) CustomHandler {
	locked := func(change func() []types.UID) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.affiliate(change())
	}
	return CustomHandler{
		Trim: func(object any) (any, error) {
			if whole, is := object.(runtime.Unstructured); is {
				return c.owners.affiliator.Owner(whole), nil
			}
			return object, nil // reduced already, or a tombstone of what was
		},
		Watched: func(err error) { c.watchedOwner(kind, err) },
		Set:     func(object metav1.Object) { locked(func() []types.UID { return c.owners.set(object.(*Owner)) }) },
		Delete: func(object metav1.Object) {
			locked(func() []types.UID { return c.owners.remove(keyOf(object.(*Owner))) })
		},
		Drop: func() { locked(func() []types.UID { return c.owners.drop(kind) }) },
	}
}

// Affiliated returns a pod that is in no view with what it belongs to, by the owners that are known now.
func (c *Cluster) Affiliated(object *corev1.Pod) *Pod {
	pod := &Pod{Pod: object, Namespace: object.Namespace}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.owners.affiliator != nil {
		chain := c.owners.chain(pod, func(ownerKey) {})
		chain.Unseen, chain.Awaited = false, false
		pod.Affiliation = c.owners.affiliator.Affiliate(object, chain)
	}
	return pod
}

// MayBelong reports whether a pod that no watch has shown may belong to something: what it says of its owners is not
// believed, and is no reason to take it for a pod of none.
func (c *Cluster) MayBelong(pod *corev1.Pod) bool {
	affiliator := c.owners.affiliator
	if affiliator == nil {
		return false
	}
	if ref := metav1.GetControllerOfNoCopy(pod); ref != nil {
		group, err := schema.ParseGroupVersion(ref.APIVersion)
		if err == nil && affiliator.Follows(group.WithKind(ref.Kind).GroupKind()) {
			return true
		}
	}
	_, _, names := affiliator.Names(pod)
	return names || affiliator.Affiliate(pod, &Chain{}).Gang != ""
}

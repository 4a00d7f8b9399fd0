package cluster

import (
	"maps"
	"slices"
	"sync"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// mostOwners is how many owners of a pod are looked at, one above the other. A worker of a LeaderWorkerSet has four.
const mostOwners = 6

// podKind is the kind of pods, which own others: a leader its workers' StatefulSet, a driver its executors.
var podKind = schema.GroupKind{Kind: "Pod"} //nolint:gochecknoglobals // it never changes

// owners says which pods belong to what, by who owns them. All of it comes from watches: a reference of a pod counts
// if there is an object of its kind, name and UID in the pod's own namespace. So a pod is affiliated again when its
// owners come, change or go.
//
// An owner is created before its pods, and may be shown after them, as its watch is another one, and may yet have to begin.
// Until it is, nobody knows the gang of the pod. Only the API server can tell that it never will be.
type owners struct {
	affiliator Affiliator // nil when nobody asks
	live       bool
	waiting    *waiting
	questions  questions

	known map[ownerKey]*Owner
	// watched says of kinds whether their objects can be watched. Of others nobody knows it yet.
	watched map[schema.GroupKind]bool
	pods    map[ownerKey]sets.Set[types.UID] // whose chains pass by a name, whether there is such an object or not
	passed  map[types.UID][]ownerKey         // what the chain of a pod passes by
}

func newOwners(o *Options, w *waiting, lock sync.Locker) owners {
	return owners{
		affiliator: o.Affiliator, live: o.Live, waiting: w, questions: newQuestions(o.Clock, lock),
		known: map[ownerKey]*Owner{}, watched: map[schema.GroupKind]bool{podKind: true}, pods: map[ownerKey]sets.Set[types.UID]{},
		passed: map[types.UID][]ownerKey{},
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

// chain returns the owners of a pod, the names that it passes by, and what of them no watch has shown.
func (o *owners) chain(pod *Pod) (chain *Chain, passed []ownerKey, unseen []reference) {
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
	if kind, named, names := o.affiliator.Names(pod.Pod); names {
		name := ownerKey{kind, types.NamespacedName{Namespace: pod.Namespace, Name: named}}
		passed = append(passed, name)
		chain.Named = o.known[name]
		switch _, told := o.watched[kind]; {
		case chain.Named != nil:
		case told: // it may be made at any time
			chain.Awaited = o.watched[kind]
		case o.live: // is there such a resource?
			unseen = append(unseen, reference{ownerKey: name})
			chain.Awaited = !o.questions.absent(reference{ownerKey: name})
		}
	}
	return chain, passed, unseen
}

// mayShow reports whether a watch may show objects of a kind, now or once it has begun.
func (o *owners) mayShow(kind schema.GroupKind) bool {
	watched, told := o.watched[kind]
	return o.live && (watched || !told)
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

// follow notes what the chain of a pod passes by, instead of what it has passed by before.
func (o *owners) follow(pod types.UID, names []ownerKey) {
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

// forget ends to follow the owners of a pod that is gone.
func (o *owners) forget(pod types.UID) {
	o.follow(pod, nil)
	o.questions.raise(pod, nil)
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
	delete(o.watched, kind)
	return o.belowKind(kind)
}

// tell notes whether objects of a kind can be watched. It returns the pods to which that makes a difference.
func (o *owners) tell(kind schema.GroupKind, watched bool) []types.UID {
	if before, told := o.watched[kind]; told && before == watched {
		return nil
	}
	o.watched[kind] = watched
	o.questions.reopen(kind)
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
		chain, _, _ := c.owners.chain(pod)
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

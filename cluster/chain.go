package cluster

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

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
	// Named is the object that the pod names without being owned by it, nil for none. Awaited says that there is none,
	// and may be.
	Named   *Owner
	Awaited bool
}

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

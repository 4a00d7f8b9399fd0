package cluster

import (
	"maps"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// Owner is an object that owns pods, or owners of pods, reduced to what tells the gang of its pods. It is
// immutable.
type Owner struct {
	metav1.TypeMeta
	metav1.ObjectMeta // its identity and its controller, and nothing else
	// Asks are its wishes for its pods, the zero value where it has nothing to say.
	Asks Asks
}

var _ apiObject = (*Owner)(nil)

// NewOwner returns an object as an Owner that asks for something.
func NewOwner(kind schema.GroupKind, object metav1.Object, asks Asks) *Owner {
	owner := &Owner{ObjectMeta: metav1.ObjectMeta{
		Name: object.GetName(), Namespace: object.GetNamespace(), UID: object.GetUID(), ResourceVersion: object.GetResourceVersion(),
	}, Asks: asks}
	owner.SetGroupVersionKind(kind.WithVersion(""))
	if controller := metav1.GetControllerOfNoCopy(object); controller != nil {
		owner.OwnerReferences = []metav1.OwnerReference{*controller}
	}
	return owner
}

// DeepCopyObject implements [runtime.Object].
func (o *Owner) DeepCopyObject() runtime.Object {
	next := *o
	next.OwnerReferences, next.Asks.Roles = slices.Clone(o.OwnerReferences), slices.Clone(o.Asks.Roles)
	return &next
}

// Kind returns the kind of the object.
func (o *Owner) Kind() schema.GroupKind { return o.GroupVersionKind().GroupKind() }

// says reports whether two states of an object say the same of its pods.
func (o *Owner) says(other *Owner) bool {
	return o.UID == other.UID && o.Asks.equal(&other.Asks) && slices.EqualFunc(o.OwnerReferences, other.OwnerReferences,
		func(a, b metav1.OwnerReference) bool { return a.UID == b.UID && a.Name == b.Name })
}

// Asks are the wishes of an owner for its pods.
type Asks struct {
	// Roles are the parts that its pods play. Pods of one that is not listed start one by one.
	Roles []Role
	// Instances says that the owner has several sets of pods with these roles, each a gang of its own.
	Instances bool
	// Apart says that pods of one role are made after pods of another one have started, so that each is a gang of
	// its own.
	Apart bool
	// Alone says in words why the pods start one by one, "" when they do not.
	Alone string
	// Late says in words which pods are made only once others have started, "" when all are made at once. No minimum that
	// somebody else sets may count them.
	Late string
	// Assisted says that kube-scheduler starts the pods together itself, and muster shows it the places.
	Assisted bool
	// Left says in words why the pods are left to kube-scheduler, which starts them together itself, "" when they are not.
	Left string
	// Parent is the group of groups that it is in, in its own namespace; the zero value for none.
	Parent GroupReference
	// Network has annotations about the network that count for all its pods, as if each had them; nil for none.
	Network map[string]string
	// Groups is how many of the groups in it start together, for a group of groups; 0 when each starts for itself.
	Groups int32
}

func (a *Asks) equal(other *Asks) bool {
	return a.Instances == other.Instances && a.Apart == other.Apart && a.Alone == other.Alone && a.Late == other.Late &&
		a.Left == other.Left && a.Assisted == other.Assisted && a.Parent == other.Parent && a.Groups == other.Groups &&
		slices.EqualFunc(a.Roles, other.Roles, Role.equal) && maps.Equal(a.Network, other.Network)
}

// GroupReference names a group that no owner reference leads to.
type GroupReference struct {
	schema.GroupKind
	Name string
}

// Silent reports whether nothing is asked, in either way.
func (a *Asks) Silent() bool { return len(a.Roles) == 0 && a.Alone == "" }

// Role is a part that pods of an owner play.
type Role struct {
	Name string
	Min  int32 // that must start together
	All  int32 // that the owner wants; more than Min if it is elastic
	// Network has what it asks for its own pods, as in [Asks], and Within has its demands that other roles share, the outermost first.
	Network map[string]string
	Within  []Common
}

// Near reports whether it asks something of the network.
func (r *Role) Near() bool { return len(r.Network)+len(r.Within) > 0 }

func (r Role) equal(other Role) bool {
	return r.Name == other.Name && r.Min == other.Min && r.All == other.All && maps.Equal(r.Network, other.Network) &&
		slices.EqualFunc(r.Within, other.Within, Common.equal)
}

// Affiliation says to what a pod belongs by its owners, or by words of others than muster, whatever marks of muster's
// it has.
type Affiliation struct {
	// Kind names what makes it a member or not, as in "JobSet"; "" when nothing does, or its group is left to kube-scheduler.
	Kind string
	// Gang is the name of its gang, "" for none, and MinMember how many members of it must start together.
	Gang      string
	MinMember int32
	// Assisted says that kube-scheduler starts its gang itself, see [Asks].
	Assisted bool
	// Together names all gangs that start together, with its own; nil when it starts for itself.
	Together []string
	// Above are the groups of groups that its gang is in, the uppermost first; nil when it is in none.
	Above []GroupOfGroups
	// Network has annotations about the network that count as its own where it lacks them; nil for none. Within are demands that its
	// gang shares with others, the outermost first; nil for none.
	Network map[string]string
	Within  []Common
	// Why says in words what makes it a member, or why it is none.
	Why string
	// Late says in words which pods of its owner are made only once others have started, "" for none.
	Late string
	// Ignored says that marks on the pod name a gang and have no effect; Why says why.
	Ignored bool
	// Owner is the reference to the object that makes it a member, nil when that is no object.
	Owner *metav1.OwnerReference
	// Unseen says that its gang is not known yet, as an object that names it is yet to be shown.
	Unseen bool
}

func (a *Affiliation) equal(other *Affiliation) bool {
	return a.Kind == other.Kind && a.Gang == other.Gang && a.Why == other.Why && a.Unseen == other.Unseen && a.Ignored == other.Ignored &&
		a.Late == other.Late && a.AsksAsMuchAs(other) &&
		a.owner() == other.owner()
}

// owner returns the UID of the owner, "" when there is none.
func (a *Affiliation) owner() types.UID {
	if a.Owner == nil {
		return ""
	}
	return a.Owner.UID
}

// AsksAsMuchAs reports whether the same is asked for two members of a gang.
func (a *Affiliation) AsksAsMuchAs(other *Affiliation) bool {
	return a.MinMember == other.MinMember && a.Assisted == other.Assisted && slices.Equal(a.Together, other.Together) &&
		slices.Equal(a.Above, other.Above) && maps.Equal(a.Network, other.Network) && slices.EqualFunc(a.Within, other.Within, Common.equal)
}

// Common is a demand of several gangs on the network: one domain has the pods of all.
type Common struct {
	Name    string            // of the group of groups or of the owner that has these gangs
	Network map[string]string // annotations that say which domain
}

func (c Common) equal(other Common) bool {
	return c.Name == other.Name && maps.Equal(c.Network, other.Network)
}

// GroupOfGroups has gangs, or groups of groups, that start together: enough of them.
type GroupOfGroups struct {
	Name    string
	AtLeast int32 // of those in it, from 1 on
}

// Affiliator says to what pods belong. Its functions are pure.
type Affiliator interface {
	// Follows reports whether owners of a kind say anything, or may have owners that do.
	Follows(kind schema.GroupKind) bool
	// Owner returns an object of a kind that is followed, in a few fields.
	Owner(object runtime.Object) *Owner
	// Names returns the object, in its own namespace, that a pod names as its group; false for none.
	Names(pod *corev1.Pod) (kind schema.GroupKind, name string, names bool)
	// Affiliate says to what a pod with these owners belongs.
	Affiliate(pod *corev1.Pod, chain *Chain) Affiliation
}

// ownerKey is the name of an owner.
type ownerKey struct {
	schema.GroupKind
	types.NamespacedName
}

func keyOf(o *Owner) ownerKey { return ownerKey{o.Kind(), key(o)} }

// Handler takes the objects of a custom resource whose pods belong together; see [Options].
func (o *Owners) Handler(kind schema.GroupKind) CustomHandler {
	locked := func(change func() []types.UID) {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.affiliate(change())
	}
	return CustomHandler{
		Trim: func(object any) (any, error) {
			whole, is := object.(*unstructured.Unstructured)
			if !is {
				return object, nil // reduced already, or a tombstone of what was
			}
			if owner := o.affiliator.Owner(whole); owner != nil {
				return owner, nil
			}
			// Somebody else has defined the resource. An error would have the watch begin again and again.
			return NewOwner(kind, whole, Asks{Alone: "is a " + whole.GetKind() + ", which muster does not know"}), nil
		},
		Watched: func(err error) { o.hear(kind, err) },
		Set:     func(object metav1.Object) { locked(func() []types.UID { return o.set(object.(*Owner)) }) },
		Delete: func(object metav1.Object) {
			locked(func() []types.UID { return o.remove(keyOf(object.(*Owner))) })
		},
		Drop: func() { locked(func() []types.UID { return o.drop(kind) }) },
	}
}

// Hearing returns the function to tell of trouble with the watch on objects like one, and of its end; nil for none.
func (o *Owners) Hearing(example runtime.Object) func(error) {
	if o.affiliator == nil {
		return nil
	}
	switch example.(type) {
	case *batchv1.Job:
		return func(err error) { o.hear(batchv1.SchemeGroupVersion.WithKind("Job").GroupKind(), err) }
	case *appsv1.StatefulSet:
		return func(err error) { o.hear(appsv1.SchemeGroupVersion.WithKind("StatefulSet").GroupKind(), err) }
	}
	return nil
}

// hear is told of trouble with the watch on a kind of owners, and of its end. Only trouble that does not pass by itself
// counts: muster may not read it. A kind that is not found may be served soon, or in no version that muster reads: of that
// nobody knows, and pods ask. It takes the lock.
func (o *Owners) hear(kind schema.GroupKind, err error) {
	if apierrors.IsNotFound(err) {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.affiliate(o.tell(kind, !apierrors.IsForbidden(err)))
}

// reduced returns an object as an Owner, nil for one of a kind that is not followed. It takes a while, and needs no
// lock.
func (o *Owners) reduced(object runtime.Object) *Owner {
	if o.affiliator == nil {
		return nil
	}
	switch object.(type) {
	case *batchv1.Job, *appsv1.StatefulSet:
		return o.affiliator.Owner(object)
	}
	return nil
}

// set takes an owner in. It returns the pods that may belong to something else now.
func (o *Owners) set(owner *Owner) []types.UID {
	name := keyOf(owner)
	if last := o.known[name]; last != nil && last.says(owner) {
		return nil
	}
	o.known[name] = owner
	return o.below(name)
}

// remove takes an owner out, as set takes one in.
func (o *Owners) remove(name ownerKey) []types.UID {
	if o.known[name] == nil {
		return nil
	}
	delete(o.known, name)
	return o.below(name)
}

// drop takes out all owners of a kind, as set takes one in.
func (o *Owners) drop(kind schema.GroupKind) []types.UID {
	maps.DeleteFunc(o.known, func(name ownerKey, _ *Owner) bool { return name.GroupKind == kind })
	delete(o.watched, kind)
	o.questions.outdate(kind)
	return o.belowKind(kind)
}

// tell notes whether objects of a kind can be watched. It returns the pods to which that makes a difference.
func (o *Owners) tell(kind schema.GroupKind, watched bool) []types.UID {
	if before, told := o.watched[kind]; told && before == watched {
		return nil
	}
	o.watched[kind] = watched
	o.questions.reopen(kind)
	return o.belowKind(kind)
}

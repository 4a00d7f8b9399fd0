package cluster

import (
	"maps"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

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

// hearing returns who is told of trouble with the watch on objects like one, nil for nobody.
func (o *Owners) hearing(example runtime.Object) func(error) {
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

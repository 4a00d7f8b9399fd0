package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"

	"muster.dev/muster/cluster"
)

const (
	// catchUpPage is how many pods are listed in one go.
	catchUpPage = 5000
	// catchUpRelist is how long CatchUp waits for what it has listed, before it lists again.
	catchUpRelist = time.Second
)

// reached has the versions of the objects of a resource, by UID, as they were taken in last. The version of one object says nothing of the
// others: what is listed again comes in the order of the list.
type reached struct {
	mu       sync.Mutex
	versions map[types.UID]string
}

func newReached() *reached { return &reached{versions: map[types.UID]string{}} }

// after takes note once a handler has taken an object in.
func (r *reached) after(h cache.ResourceEventHandler) cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(object any) { h.OnAdd(object, false); r.note(object.(apiObject)) },
		UpdateFunc: func(before, after any) {
			h.OnUpdate(before, after)
			from, to := before.(apiObject), after.(apiObject)
			if from.GetUID() != to.GetUID() {
				r.forget(from)
			}
			r.note(to)
		},
		DeleteFunc: func(object any) {
			h.OnDelete(object)
			if last := lastOf(object); last != nil {
				r.forget(last)
			}
		},
	}
}

func (r *reached) note(o apiObject) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.versions[o.GetUID()] = o.GetResourceVersion()
}

func (r *reached) forget(o apiObject) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.versions, o.GetUID())
}

// has reports whether an object was taken in as of a version, or later.
func (r *reached) has(uid types.UID, version string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	of, taken := r.versions[uid]
	if !taken {
		return false
	}
	after, err := resourceversion.CompareResourceVersion(version, of)
	return err != nil || after <= 0
}

// CatchUp waits until the view has every pod as it is now, or later. However late the watch was, the view then
// has everything that others did before the call. It lists the metadata of all pods, again and again, so it is
// for rare occasions. The error, when the context ends before, says what is missing.
func (w *Watcher) CatchUp(ctx context.Context) error {
	if w.metadata == nil {
		return errors.New("to catch up takes a metadata client")
	}
	missing := errors.New("the pods are not listed yet")
	err := wait.PollUntilContextCancel(ctx, syncPoll, true, func(ctx context.Context) (bool, error) {
		var lacking []*metav1.ObjectMeta
		if lacking, missing = w.lackingPods(ctx); missing != nil {
			return false, nil
		}
		// Soon, or a pod has gone since.
		short, cancel := context.WithTimeout(ctx, catchUpRelist)
		defer cancel()
		err := wait.PollUntilContextCancel(short, syncPoll, true, func(context.Context) (bool, error) {
			lacking = slices.DeleteFunc(lacking, w.hasPod)
			return len(lacking) == 0, nil
		})
		if err != nil {
			missing = fmt.Errorf("the watch has not shown the pod %s/%s of resource version %s yet, nor %d others",
				lacking[0].Namespace, lacking[0].Name, lacking[0].ResourceVersion, len(lacking)-1)
		}
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("catch up with the API server: %w", missing)
	}
	return nil
}

// feed returns the feed of a resource of the core API.
func (w *Watcher) feed(resource string) *feed {
	return w.feeds[slices.IndexFunc(w.feeds, func(f *feed) bool { return f.resource == resource })]
}

// hasPod reports whether the view has a pod as it is listed, or later.
func (w *Watcher) hasPod(pod *metav1.ObjectMeta) bool {
	return w.feed("pods").reached.has(pod.UID, pod.ResourceVersion)
}

// lackingPods lists the pods that the view does not have as they are.
func (w *Watcher) lackingPods(ctx context.Context) (lacking []*metav1.ObjectMeta, err error) {
	pods := w.metadata.Resource(corev1.SchemeGroupVersion.WithResource("pods"))
	for options := (metav1.ListOptions{FieldSelector: cluster.Unfinished().String(), Limit: catchUpPage}); ; {
		list, err := pods.List(ctx, options)
		if err != nil {
			return nil, fmt.Errorf("list pods: %w", err)
		}
		for i := range list.Items {
			if pod := &list.Items[i].ObjectMeta; !w.hasPod(pod) {
				lacking = append(lacking, pod)
			}
		}
		if options.Continue = list.Continue; options.Continue == "" {
			return lacking, nil
		}
	}
}

package watch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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

// reached is the version of the last object that was taken in of a resource. A watch tells of objects
// in the order of their versions, so all that happened until then is in the view as well. The zero value is
// before the first object.
type reached struct{ version atomic.Pointer[string] }

// after takes note once a handler has taken an object in.
func (r *reached) after(h cache.ResourceEventHandler) cache.ResourceEventHandler {
	note := func(object any) {
		if o, ok := object.(apiObject); ok { // else it is not known when it went
			r.note(o.GetResourceVersion())
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { h.OnAdd(object, false); note(object) },
		UpdateFunc: func(before, after any) { h.OnUpdate(before, after); note(after) },
		DeleteFunc: func(object any) { h.OnDelete(object); note(object) },
	}
}

// note takes note of a version. It is for one goroutine.
func (r *reached) note(version string) {
	if !r.has(version) {
		r.version.Store(&version)
	}
}

// has reports whether a version is not later than the last one, or is none.
func (r *reached) has(version string) bool {
	last := r.version.Load()
	if last == nil {
		return version == ""
	}
	after, err := resourceversion.CompareResourceVersion(version, *last)
	return err != nil || after <= 0
}

// CatchUp waits until the view has every pod as it is now, or later. However late the watch was, the view then
// has everything that others did before the call. It lists the metadata of all pods, again and again, so it is
// for rare occasions. The error, when the context ends before, says what is missing.
func (w *Watcher) CatchUp(ctx context.Context) error {
	if w.metadata == nil {
		return errors.New("to catch up takes a metadata client")
	}
	pods := w.feed("pods")
	missing := errors.New("the pods are not listed yet")
	err := wait.PollUntilContextCancel(ctx, syncPoll, true, func(ctx context.Context) (bool, error) {
		var version string
		if version, missing = w.latestPod(ctx); missing != nil {
			return false, nil
		}
		// Soon, or a pod that has gone since was the latest one.
		short, cancel := context.WithTimeout(ctx, catchUpRelist)
		defer cancel()
		err := wait.PollUntilContextCancel(short, syncPoll, true, func(context.Context) (bool, error) { return pods.reached.has(version), nil })
		if err != nil {
			missing = fmt.Errorf("the watch has not shown the pod of resource version %s yet", version)
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

// latestPod returns the highest version of the present pods, "" when there are none.
func (w *Watcher) latestPod(ctx context.Context) (latest string, err error) {
	pods := w.metadata.Resource(corev1.SchemeGroupVersion.WithResource("pods"))
	var last reached
	for options := (metav1.ListOptions{FieldSelector: cluster.Unfinished().String(), Limit: catchUpPage}); ; {
		list, err := pods.List(ctx, options)
		if err != nil {
			return "", fmt.Errorf("list pods: %w", err)
		}
		for i := range list.Items {
			last.note(list.Items[i].ResourceVersion)
		}
		if options.Continue = list.Continue; options.Continue == "" {
			break
		}
	}
	if version := last.version.Load(); version != nil {
		return *version, nil
	}
	return "", nil
}

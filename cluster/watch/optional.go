package watch

import (
	"context"
	"log/slog"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"

	"muster.dev/muster/cluster"
)

// optionalFeeds follows the wanted resources as far as the cluster has them. A watch on the metadata of
// CustomResourceDefinitions says which custom ones it has.
type optionalFeeds struct {
	log     *slog.Logger
	dynamic dynamic.Interface
	open    func(source) (*feed, error)
	wanted  map[string]optionalResource // custom ones, by the name of the definition
	builtIn map[string]optionalResource // others, by such a name
	crds    *feed
	start   func(*feed) (stop func()) // set by run

	mu      sync.Mutex
	running map[string]*optionalFeed // by the name of the definition
}

// optionalResource is a custom resource, and the function that takes its objects.
type optionalResource struct {
	schema.GroupVersionResource
	cluster.CustomHandler
}

type optionalFeed struct {
	*feed
	stop func() // returns when the feed has ended
}

func newOptionalFeeds(c *cluster.Cluster, o Options, open func(source) (*feed, error)) (*optionalFeeds, error) {
	w := &optionalFeeds{
		log:     o.Logger,
		dynamic: o.Dynamic,
		open:    open,
		wanted:  map[string]optionalResource{},
		builtIn: map[string]optionalResource{},
		running: map[string]*optionalFeed{},
	}
	for _, resource := range o.Optional {
		w.wanted[resource.GroupResource().String()] = optionalResource{resource, c.KeepCustom(resource)}
	}
	for resource, handler := range o.Handled {
		of := w.wanted
		if handler.BuiltIn {
			of = w.builtIn
		}
		of[resource.GroupResource().String()] = optionalResource{resource, handler}
	}
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	var err error
	w.crds, err = open(source{
		resource: definitions.Resource,
		example:  &metav1.PartialObjectMetadata{},
		client:   o.Metadata,
		calls:    listWatch(o.Metadata.Resource(definitions), ""),
		optional: true,
		set:      w.defined,
		remove:   w.undefined,
	})
	return w, err
}

// run follows the definitions and what they define until the context ends.
func (w *optionalFeeds) run(ctx context.Context) {
	var group sync.WaitGroup
	defer group.Wait()
	w.start = func(f *feed) func() {
		running, cancel := context.WithCancel(ctx)
		ended := make(chan struct{})
		group.Go(func() {
			defer close(ended)
			f.informer.RunWithContext(running)
		})
		return func() {
			cancel()
			<-ended
		}
	}
	for name, resource := range w.builtIn {
		w.follow(name, &resource)
	}
	w.crds.informer.RunWithContext(ctx)
}

// defined starts the feed of a resource when its definition appears. Until the
// definition is established its API answers NotFound, and the feed tries again.
func (w *optionalFeeds) defined(crd apiObject) {
	resource, wanted := w.wanted[crd.GetName()]
	if wanted && w.follow(crd.GetName(), &resource) {
		w.log.Info("custom resource found", slog.String("resource", crd.GetName()), slog.String("version", resource.Version))
	}
}

// follow starts the feed of a resource. It reports false if that runs already.
func (w *optionalFeeds) follow(name string, resource *optionalResource) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, running := w.running[name]; running {
		return false
	}
	f, err := w.open(source{
		resource: name,
		example:  &unstructured.Unstructured{},
		client:   w.dynamic,
		calls:    listWatch(w.served(resource), ""),
		optional: true,
		builtIn:  resource.BuiltIn,
		trim:     resource.Trim,
		watched:  resource.Watched,
		set:      func(object apiObject) { resource.Set(object) },
		remove:   func(object apiObject) { resource.Delete(object) },
	})
	if err != nil {
		w.log.Error("cannot follow a resource", slog.String("resource", name), slog.Any("err", err))
		return false
	}
	w.running[name] = &optionalFeed{feed: f, stop: w.start(f)}
	return true
}

// served returns a client of the first version of a resource that is served.
func (w *optionalFeeds) served(resource *optionalResource) resourceClient[*unstructured.UnstructuredList] {
	first := w.dynamic.Resource(resource.GroupVersionResource)
	if len(resource.Older) == 0 {
		return first
	}
	versions := &versions{clients: []resourceClient[*unstructured.UnstructuredList]{first}}
	for _, older := range resource.Older {
		versions.clients = append(versions.clients, w.dynamic.Resource(resource.GroupResource().WithVersion(older)))
	}
	return versions
}

// undefined ends the feed of a resource, and drops its objects, when its
// definition is gone.
func (w *optionalFeeds) undefined(crd apiObject) {
	resource, wanted := w.wanted[crd.GetName()]
	if !wanted {
		return // a namesake of a built-in one, or somebody else's
	}
	w.mu.Lock()
	f := w.running[crd.GetName()]
	delete(w.running, crd.GetName())
	w.mu.Unlock()
	if f == nil {
		return
	}
	f.stop()
	resource.Drop()
	w.log.Info("custom resource gone", slog.String("resource", crd.GetName()))
}

// outstanding names what has to be waited for: the definitions, and then the
// Resources that are defined.
func (w *optionalFeeds) outstanding() []string {
	if !w.crds.synced() {
		return []string{w.crds.resource}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var resources []string
	for name, f := range w.running {
		if !f.synced() {
			resources = append(resources, name)
		}
	}
	slices.Sort(resources)
	return resources
}

// versions is a client of the first version of a resource that is served. Projects have made definitions of one name with
// different versions, so that a cluster may serve one or the other.
type versions struct {
	clients []resourceClient[*unstructured.UnstructuredList]
}

// List implements resourceClient.
func (v *versions) List(ctx context.Context, options metav1.ListOptions) (*unstructured.UnstructuredList, error) {
	return ofServed(v, func(client resourceClient[*unstructured.UnstructuredList]) (*unstructured.UnstructuredList, error) {
		return client.List(ctx, options)
	})
}

// Watch implements resourceClient.
func (v *versions) Watch(ctx context.Context, options metav1.ListOptions) (apiwatch.Interface, error) {
	return ofServed(v, func(client resourceClient[*unstructured.UnstructuredList]) (apiwatch.Interface, error) {
		return client.Watch(ctx, options)
	})
}

// ofServed calls one version after the other until one is served.
func ofServed[T any](v *versions, call func(resourceClient[*unstructured.UnstructuredList]) (T, error)) (answer T, err error) {
	for _, client := range v.clients {
		if answer, err = call(client); !apierrors.IsNotFound(err) {
			break
		}
	}
	return answer, err
}

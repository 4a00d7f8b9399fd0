package operators

import (
	"fmt"
	"iter"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

// Set is kinds, switched on and off. It is a [cluster.Affiliator].
type Set struct {
	on     []*Kind
	off    []*Kind
	owners map[schema.GroupKind]*Kind // that are read, by the kind of the owner; nil for one that only leads to others
	groups map[schema.GroupKind]*Kind // that are read, by the kind of what pods name
	makers map[schema.GroupKind]*Kind // that say how pods are made, on or off, by the kind of the object
}

var _ cluster.Affiliator = (*Set)(nil)

// NewSet returns some kinds as a Set, in which the named ones are switched on. Steps only say why there is no gang, so
// nobody has to switch them on.
func NewSet(all []Kind, on []config.GangKind) *Set {
	s := &Set{owners: map[schema.GroupKind]*Kind{}, groups: map[schema.GroupKind]*Kind{}, makers: map[schema.GroupKind]*Kind{}}
	for i := range all {
		kind := &all[i]
		s.addMaker(kind)
		if !slices.Contains(on, kind.Name) && len(kind.Steps) == 0 {
			s.off = append(s.off, kind)
			continue
		}
		s.on = append(s.on, kind)
		for _, link := range kind.Through {
			if _, read := s.owners[link]; !read {
				s.owners[link] = nil
			}
		}
		for _, owner := range kind.Owners {
			s.owners[owner.GroupKind()] = kind
		}
		for _, group := range kind.Groups {
			s.groups[group.GroupKind()] = kind
		}
	}
	return s
}

// addMaker notes how pods of a kind are made.
func (s *Set) addMaker(kind *Kind) {
	if kind.Dress == nil {
		return
	}
	for _, owner := range kind.Owners {
		s.makers[owner.GroupKind()] = kind
	}
	for maker := range kind.Makers {
		s.makers[maker] = kind
	}
}

// Handled returns the custom resources to follow, and who takes their objects.
func (s *Set) Handled(c *cluster.Cluster) map[schema.GroupVersionResource]cluster.CustomHandler {
	handled := map[schema.GroupVersionResource]cluster.CustomHandler{}
	for _, resource := range s.Resources() {
		handler := c.Owners.Handler(resource.GroupKind())
		handler.Older, handler.BuiltIn = resource.Older, resource.BuiltIn
		handled[resource.GroupVersionResource] = handler
	}
	return handled
}

// ReadsJobs reports whether Jobs have to be followed.
func (s *Set) ReadsJobs() bool { return s.Follows(Job) }

// Labels returns labels that pods of kinds have whose pods may have finished before others start.
func (s *Set) Labels() (labels []string) {
	for _, kind := range s.on {
		if kind.Label != "" && !slices.Contains(labels, kind.Label) {
			labels = append(labels, kind.Label)
		}
	}
	return labels
}

// Dumped returns how these resources stand in dumps.
func (s *Set) Dumped(c *cluster.Cluster) (kinds []cluster.CustomKind) {
	for _, resource := range s.Resources() {
		for _, version := range append([]string{resource.Version}, resource.Older...) {
			read := resource.GroupResource().WithVersion(version)
			kinds = append(kinds, cluster.CustomKind{
				Kind: read.GroupVersion().WithKind(resource.Kind), Resource: read, Handler: c.Owners.Handler(resource.GroupKind()),
			})
		}
	}
	return kinds
}

// Resources yields what is read for kinds and is not of the core API, and whose it is.
func (s *Set) Resources() iter.Seq2[config.GangKind, Resource] {
	return func(yield func(config.GangKind, Resource) bool) {
		for _, kind := range s.on {
			for _, resource := range slices.Concat(kind.Owners, kind.Groups) {
				if !resource.Core && !yield(kind.Name, resource) {
					return
				}
			}
		}
	}
}

// Follows implements [cluster.Affiliator].
func (s *Set) Follows(kind schema.GroupKind) bool {
	_, follows := s.owners[kind]
	return follows
}

// Owner implements [cluster.Affiliator].
func (s *Set) Owner(object runtime.Object) *cluster.Owner {
	kind := kindOf(object)
	reader := s.owners[kind]
	if reader == nil {
		reader = s.groups[kind]
	}
	metadata, err := meta.Accessor(object)
	if err != nil || reader == nil && !s.Follows(kind) {
		return nil
	}
	var asks cluster.Asks
	if reader != nil && reader.Asks != nil {
		asks = s.asks(reader, object)
	}
	if pod, is := object.(*corev1.Pod); is {
		asks = s.said(pod)
	}
	return cluster.NewOwner(kind, metadata, asks)
}

// kindOf returns the kind of an object. Objects of the core API do not say it themselves.
func kindOf(object runtime.Object) schema.GroupKind {
	switch object.(type) {
	case *batchv1.Job:
		return Job
	case *appsv1.StatefulSet:
		return StatefulSet
	case *corev1.Pod:
		return Pod
	}
	return object.GetObjectKind().GroupVersionKind().GroupKind()
}

func (s *Set) asks(kind *Kind, object runtime.Object) cluster.Asks {
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return Alone("it cannot be read: " + err.Error())
	}
	o := Object(fields)
	if o.Scope() == v1alpha1.ScopeNone {
		return Alone("says " + v1alpha1.AnnotationGangScope + ": " + v1alpha1.ScopeNone)
	}
	asks := bounded(kind.Asks(o))
	asks.Network = network(o, asks.Network)
	return asks
}

const (
	// mostRoles is how many roles may start together: each pod names the gangs of all. Marks name no more groups, either.
	mostRoles = 100
	// mostRole is how long the name of a role may be: pods have it in a label.
	mostRole = validation.LabelValueMaxLength
	// mostName is how long the name of an object may be.
	mostName = validation.DNS1123SubdomainMaxLength
)

// bounded returns what an owner asks for, unless that is more than anybody may ask.
func bounded(asks cluster.Asks) cluster.Asks {
	waited := 0
	for _, one := range asks.Roles {
		if len(one.Name) > mostRole {
			return Alone("has a role with a name that is too long for a label")
		}
		if one.Min >= 1 {
			waited++
		}
	}
	if waited > mostRoles && !rigid(&asks) {
		return Alone(fmt.Sprintf("has more roles than may start together: %d, and %d may", waited, mostRoles))
	}
	return asks
}

// rigid reports whether all pods of all roles start together, as one gang. A role that asks something of the network is a gang of its
// own.
func rigid(asks *cluster.Asks) bool {
	least, all := sums(asks.Roles)
	near := slices.ContainsFunc(asks.Roles, func(role cluster.Role) bool { return role.Near() })
	return (least == all && !asks.Apart || len(asks.Roles) == 1) && !near
}

// said returns what a pod that owns others says, which counts for them as well.
func (s *Set) said(pod *corev1.Pod) cluster.Asks {
	for _, kind := range s.on {
		if kind.Says == nil {
			continue
		}
		if said, is := kind.Says(pod, nil); is {
			return said.Asks
		}
	}
	return cluster.Asks{}
}

// Names implements [cluster.Affiliator]. What cannot be the name of an object is none: nobody will ever make that.
func (s *Set) Names(pod *corev1.Pod) (of schema.GroupKind, name string, names bool) {
	for _, kind := range s.on {
		if kind.Names == nil || kind.Native != (pod.Spec.SchedulingGroup != nil) {
			continue
		}
		if name := kind.Names(pod); len(name) <= mostName && len(validation.IsDNS1123Subdomain(name)) == 0 {
			return kind.Groups[0].GroupKind(), name, true
		}
	}
	return schema.GroupKind{}, "", false
}

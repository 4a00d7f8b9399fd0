package nodemetric

import (
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"muster.dev/muster/api/slo/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/loadaware/source"
)

// ErrUndefined says that the cluster has no NodeMetrics.
var ErrUndefined = errors.New(
	"the custom resource " + schema.GroupResource{Group: v1alpha1.Group, Resource: v1alpha1.Resource}.String() + " is not defined",
)

// Store holds all NodeMetrics as the watch shows them. It is safe for concurrent use.
type Store struct {
	followers []func(node string, observed *Observed)

	mu     sync.Mutex
	byNode map[string]*Observed
}

// NewStore returns an empty Store.
func NewStore() *Store {
	return &Store{byNode: map[string]*Observed{}}
}

// Follow has a function told of every NodeMetric that comes or changes, and with nil of one
// that goes, one at a time. It must be called before the watch begins.
func (s *Store) Follow(follow func(node string, observed *Observed)) {
	s.followers = append(s.followers, follow)
}

// Get returns the NodeMetric of a node, nil when there is none.
func (s *Store) Get(node string) *Observed {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byNode[node]
}

// Durations returns the times that the NodeMetric of a node asks for statistics over.
func (s *Store) Durations(node string) (over []time.Duration) {
	if observed := s.Get(node); observed != nil {
		if policy := observed.Spec.CollectPolicy; policy != nil && policy.NodeAggregatePolicy != nil {
			for _, d := range policy.NodeAggregatePolicy.Durations {
				over = append(over, d.Duration)
			}
		}
	}
	return over
}

// Names returns the nodes that have a NodeMetric, in no order.
func (s *Store) Names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Keys(s.byNode))
}

// Handler takes in the events of the watch. watched is told how the watch goes: [ErrUndefined] from when the
// resource is gone.
func (s *Store) Handler(watched func(error)) cluster.CustomHandler {
	return cluster.CustomHandler{
		Trim:    Trim,
		Watched: watched,
		Set:     func(object metav1.Object) { s.put(object.GetName(), object.(*Observed)) },
		Delete:  func(object metav1.Object) { s.put(object.GetName(), nil) },
		Drop: func() {
			watched(ErrUndefined)
			for _, node := range s.Names() {
				s.put(node, nil)
			}
		},
	}
}

func (s *Store) put(node string, observed *Observed) {
	s.mu.Lock()
	if observed != nil {
		s.byNode[node] = observed
	} else {
		delete(s.byNode, node)
	}
	s.mu.Unlock()
	for _, follow := range s.followers {
		follow(node, observed)
	}
}

// ReportTo has a follower told what NodeMetrics say. While one makes no sense, or says of its node what
// nobody can believe, what was known of the node stays and gets older.
func (s *Store) ReportTo(follower source.Follower, log *slog.Logger, refusals *source.Refusals) {
	s.Follow(func(node string, observed *Observed) {
		if observed != nil && observed.Err != nil {
			log.Warn("cannot read a NodeMetric", slog.Any("err", observed.Err))
			refusals.Unreadable()
			return
		}
		if observed == nil {
			refusals.Node(node, nil)
			follower.Report(node, nil)
			return
		}
		refusals.Node(node, observed.Refused)
		if !observed.Unmeasured {
			follower.Report(node, observed.Usage)
		}
	})
}

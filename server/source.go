package server

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/utils/clock"

	reschedulingv1alpha1 "muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/loadaware/usage"
	"muster.dev/muster/rescheduler/holes"
)

// connect sets up where the view of the cluster comes from: an API server, or
// dumps, which are read at once.
func (s *Server) connect(o Options) error {
	if len(o.SnapshotFiles) > 0 {
		loaded, err := usage.Load(s.cluster, o.Logger, o.SnapshotFiles, o.Stdin)
		if err != nil {
			return err
		}
		o.Logger.Info("answering from a snapshot, not from an API server", "summary", loaded.String())
		s.readiness.synced = func() bool { return true }
		return nil
	}
	if o.RESTConfig == nil {
		return errors.New("neither an API server nor a snapshot to answer from")
	}
	if err := s.elect(o.RESTConfig); err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(cluster.ClientConfig(o.RESTConfig))
	if err != nil {
		return fmt.Errorf("clientConnection: %w", err)
	}
	s.client = client
	guarded := s.readiness.fence.Guard(o.RESTConfig)
	if s.leader.core, err = kubernetes.NewForConfig(cluster.ClientConfig(guarded)); err != nil {
		return fmt.Errorf("clientConnection: %w", err)
	}
	if s.leader.dynamic, err = dynamic.NewForConfig(guarded); err != nil {
		return fmt.Errorf("clientConnection: %w", err)
	}
	if s.metadata, err = metadata.NewForConfig(o.RESTConfig); err != nil {
		return fmt.Errorf("clientConnection: %w", err)
	}
	handled, err := s.readUsage(o)
	if err != nil {
		return err
	}
	s.holes = holes.New(holes.Options{Logger: o.Logger, Clock: clock.RealClock{}, Cluster: s.cluster, Profiles: s.stores.profiles})
	if handled == nil {
		handled = map[schema.GroupVersionResource]cluster.CustomHandler{}
	}
	handled[reschedulingv1alpha1.ReschedulingPlans()] = s.holes.Handler()
	s.watcher, err = cluster.NewWatcher(s.cluster, cluster.WatchOptions{
		Client: client, Optional: v1alpha1.Resources(), Handled: handled, Dynamic: s.leader.dynamic, Metadata: s.metadata,
	})
	if err != nil {
		return err
	}
	s.readiness.synced = s.watcher.Synced
	return nil
}

// watch keeps the view up to date until the context ends.
func (s *Server) watch(ctx context.Context) error {
	if s.watcher == nil {
		return nil
	}
	s.watcher.Run(ctx)
	return nil
}

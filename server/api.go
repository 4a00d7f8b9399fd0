package server

import (
	"context"
	"errors"
	"fmt"
	"os"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/metadata"

	"muster.dev/muster/cluster"
	"muster.dev/muster/server/app"
	"muster.dev/muster/server/leadership"
	"muster.dev/muster/server/schedulerlease"
)

// api is the way to the API server. When dumps stand in for one, all but the election is nil.
type api struct {
	election *app.Election
	// eligibility is nil where any replica may lead.
	eligibility *leadership.Eligibility
	client      kubernetes.Interface
	metadata    metadata.Interface
	// leader writes what only the leader may: it is behind the fence.
	leader clients
	// quick is for what is placed ahead of calls, so that bindings never wait for nominations. It is behind
	// the fence, too.
	quick quickClients
	// binds has pods be bound.
	binds kubernetes.Interface
}

type clients struct {
	core    kubernetes.Interface
	dynamic dynamic.Interface
}

type quickClients struct {
	core    *kubernetes.Clientset
	dynamic dynamic.Interface
}

// newAPI connects to the API server, unless there are dumps to answer from.
func newAPI(b *base) (*api, error) {
	if len(b.SnapshotFiles) == 0 {
		return connect(b)
	}
	a := &api{binds: b.around.binds}
	return a, a.elect(b, b.around.leases)
}

// elect has replicas elect the one that may act, unless there is no lease.
func (a *api) elect(b *base, leases coordinationv1client.LeasesGetter) (err error) {
	config := b.Config.LeaderElection
	if leases != nil && config.SchedulerLease != "" {
		a.eligibility = leadership.NewEligibility()
	}
	a.election, err = app.NewElection(app.ElectionOptions{
		Registerer: b.Registry, Leases: leases, Config: config, Name: config.ResourceName, Eligibility: a.eligibility,
	})
	return err
}

// components follow the kube-scheduler beside this process, which says whether it may lead.
func (a *api) components(b *base) []app.Component {
	if a.eligibility == nil {
		return nil
	}
	return []app.Component{{
		Name: "the kube-scheduler beside", When: app.Always,
		Run: func(ctx context.Context) error {
			host, err := os.Hostname() // as kube-scheduler does
			if err != nil {
				return fmt.Errorf("leaderElection.schedulerLease: %w", err)
			}
			schedulerlease.FollowOn(ctx, a.client, b.Config.LeaderElection.SchedulerLease, host, a.eligibility.Set, a.eligibility.Know)
			return nil
		},
	}}
}

func connect(b *base) (*api, error) {
	if b.RESTConfig == nil {
		return nil, errors.New("neither an API server nor a snapshot to answer from")
	}
	var leases coordinationv1client.LeasesGetter
	if b.Config.LeaderElection.LeaderElect {
		var err error
		if leases, err = leadership.NewLeaseClient(b.RESTConfig, b.Config.LeaderElection); err != nil {
			return nil, fmt.Errorf("clientConnection: %w", err)
		}
	}
	a := &api{}
	if err := a.elect(b, leases); err != nil {
		return nil, err
	}
	guarded, quick := a.election.Fence().Guard(b.RESTConfig), a.election.Fence().Guard(b.RESTConfig)
	quick.QPS = -1 // the Writer counts for itself, and of commits there is one for each gang
	var errs [6]error
	a.client, errs[0] = kubernetes.NewForConfig(cluster.ClientConfig(b.RESTConfig))
	a.leader.core, errs[1] = kubernetes.NewForConfig(cluster.ClientConfig(guarded))
	a.leader.dynamic, errs[2] = dynamic.NewForConfig(guarded)
	a.metadata, errs[3] = metadata.NewForConfig(b.RESTConfig)
	a.quick.core, errs[4] = kubernetes.NewForConfig(cluster.ClientConfig(quick))
	a.quick.dynamic, errs[5] = dynamic.NewForConfig(quick)
	for _, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("clientConnection: %w", err)
		}
	}
	a.binds = a.leader.core
	return a, nil
}

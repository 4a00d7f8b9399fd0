package server

import (
	"context"
	"errors"
	"fmt"
	"os"

	"k8s.io/client-go/kubernetes"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"muster.dev/muster/server/app"
	"muster.dev/muster/server/leadership"
	"muster.dev/muster/server/schedulerlease"
)

// api is the way to the API server. When dumps stand in for one, there is only the election.
type api struct {
	*app.API
	// eligibility is nil where any replica may lead.
	eligibility *leadership.Eligibility
	// quick is for what is placed ahead of calls, so that bindings never wait for nominations. It is behind
	// the fence, too.
	quick app.Clients
	// binds has pods be bound.
	binds kubernetes.Interface
}

// newAPI connects to the API server, unless there are dumps to answer from.
func newAPI(b *base) (*api, error) {
	if len(b.options.SnapshotFiles) > 0 {
		a := &api{API: &app.API{}, binds: b.around.binds}
		var err error
		a.Election, err = a.elect(b, b.around.leases, "")
		return a, err
	}
	connection, config := b.options.RESTConfig, b.Config.LeaderElection
	if connection == nil {
		return nil, errors.New("neither an API server nor a snapshot to answer from")
	}
	var leases coordinationv1client.LeasesGetter
	if config.LeaderElect {
		var err error
		if leases, err = leadership.NewLeaseClient(connection, config); err != nil {
			return nil, fmt.Errorf("clientConnection: %w", err)
		}
	}
	a := &api{}
	election, err := a.elect(b, leases, connection.Host)
	if err != nil {
		return nil, err
	}
	if a.API, err = app.Connect(connection, election); err != nil {
		return nil, err
	}
	quick := election.Fence().Guard(connection)
	quick.QPS = -1 // the Writer counts for itself, and of commits there is one for each gang
	a.quick, err = app.NewClients(quick)
	a.binds = a.Leader.Core
	return a, err
}

// live reports whether there is an API server.
func (a *api) live() bool { return a.Core != nil }

// elect has replicas elect the one that may act, unless there is no lease.
func (a *api) elect(b *base, leases coordinationv1client.LeasesGetter, server string) (*app.Election, error) {
	config := b.Config.LeaderElection
	if leases != nil && config.SchedulerLease != "" {
		a.eligibility = leadership.NewEligibility()
	}
	return app.NewElection(app.ElectionOptions{
		Registerer: b.Registry, Leases: leases, Config: config, Name: config.ResourceName, Server: server,
		Eligibility: a.eligibility,
	})
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
			schedulerlease.FollowOn(ctx, a.Core, b.Config.LeaderElection.SchedulerLease, host, a.eligibility.Set, a.eligibility.Know)
			return nil
		},
	}}
}

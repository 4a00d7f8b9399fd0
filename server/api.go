package server

import (
	"errors"
	"fmt"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/metadata"

	"muster.dev/muster/cluster"
	"muster.dev/muster/server/app"
	"muster.dev/muster/server/leadership"
)

// api is the way to the API server. When dumps stand in for one, all but the election is nil.
type api struct {
	election *app.Election
	client   kubernetes.Interface
	metadata metadata.Interface
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
	election, err := elect(b, b.around.leases)
	return &api{election: election, binds: b.around.binds}, err
}

// elect has replicas elect the one that may act, unless there is no lease.
func elect(b *base, leases coordinationv1client.LeasesGetter) (*app.Election, error) {
	config := b.Config.LeaderElection
	return app.NewElection(app.ElectionOptions{Registerer: b.Registry, Leases: leases, Config: config, Name: config.ResourceName})
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
	var err error
	if a.election, err = elect(b, leases); err != nil {
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

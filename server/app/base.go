package app

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/operators"
	"muster.dev/muster/gang/operators/kinds"
	"muster.dev/muster/inspect"
	"muster.dev/muster/loadaware"
)

// Options are what every process is made with. They are required unless they say otherwise.
type Options struct {
	// Config is decoded, defaulted and valid.
	Config *config.Configuration
	// File is where Config is from, and further ones come from. It may have no path.
	File   ConfigFile
	Logger *slog.Logger
	// Version and Flags of the command line appear on /statusz and /flagz. They may be empty.
	Version string
	Flags   map[string]string
	// Registry takes the metrics and shows them at /metrics.
	Registry inspect.Registry
}

// Base holds what all parts of a process are made with.
type Base struct {
	Options
	About   *inspect.Process
	Cluster *cluster.Cluster
	// Owners read to which gangs pods belong from the objects that own them.
	Owners *operators.Set
	// Load is how usage is read, by plugins and by who looks at it besides.
	Load loadaware.Options
}

// NewBase returns the Base of a process of a name, whose view of the cluster is empty. One that is live follows an API server.
func NewBase(name string, o Options, live bool) *Base {
	inspect.RegisterRuntime(o.Registry, o.Version)
	owners := kinds.Set(o.Config.Gangs.Kinds)
	return &Base{
		Options: o,
		About:   &inspect.Process{Name: name, Version: o.Version, Clock: clock.RealClock{}, Started: time.Now(), Flags: o.Flags},
		Cluster: cluster.New(cluster.Options{
			Logger: o.Logger, Registerer: o.Registry, AssumeTTL: o.Config.Timeouts.Assume(), Affiliator: owners, Live: live,
		}),
		Owners: owners,
		Load:   loadaware.Options{Logger: o.Logger, Metrics: loadaware.NewMetrics(o.Registry)},
	}
}

// Clients speak with the API server.
type Clients struct {
	Core     kubernetes.Interface
	Dynamic  dynamic.Interface
	Metadata metadata.Interface
}

// NewClients returns the clients of a connection.
func NewClients(connection *rest.Config) (c Clients, err error) {
	var errs [3]error
	c.Core, errs[0] = kubernetes.NewForConfig(cluster.ClientConfig(connection))
	c.Dynamic, errs[1] = dynamic.NewForConfig(connection)
	c.Metadata, errs[2] = metadata.NewForConfig(connection)
	if err := errors.Join(errs[:]...); err != nil {
		return c, fmt.Errorf("clientConnection: %w", err)
	}
	return c, nil
}

// API is the way to the API server.
type API struct {
	Connection *rest.Config
	// Clients read, and write what every replica may.
	Clients

	// Leader writes what only the leader may: it is behind the fence.
	Leader   Clients
	Election *Election
}

// Connect returns the API at the end of a connection, for a process that acts by an election.
func Connect(connection *rest.Config, election *Election) (*API, error) {
	a := &API{Connection: connection, Election: election}
	var err error
	if a.Clients, err = NewClients(connection); err != nil {
		return nil, err
	}
	a.Leader, err = NewClients(election.Fence().Guard(connection))
	return a, err
}

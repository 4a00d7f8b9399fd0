package app

import (
	"errors"
	"fmt"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"muster.dev/muster/cluster"
)

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

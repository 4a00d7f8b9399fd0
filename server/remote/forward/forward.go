package forward

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/streaming/pkg/httpstream"

	"muster.dev/muster/server/remote/kubeconfig"
)

// DialFunc dials as [net.Dialer.DialContext] does.
type DialFunc func(ctx context.Context, network, address string) (net.Conn, error)

// Options of a Forward. Cluster and Process are required.
type Options struct {
	Cluster *kubeconfig.Cluster
	Process Process
	// Namespace of the pods, "" for any.
	Namespace string
	// Leads tells whether the pod that a function dials is the leader among several ready pods. Leads is nil for processes
	// that may be asked through any pod.
	Leads func(context.Context, DialFunc) bool
}

// Forward dials a process that runs in a cluster. Its methods are safe for concurrent use.
type Forward struct {
	options Options
	client  kubernetes.Interface

	mu         sync.Mutex
	connection httpstream.Connection // nil before the first is made, and once it is lost
	at         candidate             // where it ends
	number     int                   // of requests for streams
}

// New returns a Forward. Nothing is asked before it dials.
func New(o Options) (*Forward, error) {
	client, err := kubernetes.NewForConfig(o.Cluster.Config)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.Cluster, err)
	}
	return &Forward{options: o, client: client}, nil
}

// String says whom it dials.
func (f *Forward) String() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.at.name == "" {
		return fmt.Sprintf("the %s of %s", f.options.Process.name, f.options.Cluster)
	}
	return fmt.Sprintf("%s, %s", f.at, f.options.Cluster)
}

// Dial implements what [http.Transport.DialContext] is for. Where it leads to is not up to the address.
func (f *Forward) Dial(ctx context.Context, _, _ string) (net.Conn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.connection != nil {
		if opened, err := f.open(ctx, f.connection, f.at); err == nil {
			return opened, nil
		}
		f.drop()
	}
	if err := f.connect(ctx); err != nil {
		return nil, err
	}
	return f.open(ctx, f.connection, f.at)
}

// Close ends all connections. A later dial looks for a pod again.
func (f *Forward) Close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.drop()
}

// openTime bounds how long it takes to open a stream. A connection that is being closed by the other side never answers.
const openTime = 5 * time.Second

// open opens a stream. The lock is held.
func (f *Forward) open(ctx context.Context, connection httpstream.Connection, at candidate) (net.Conn, error) {
	select {
	case <-connection.CloseChan():
		return nil, fmt.Errorf("%s: the connection is lost", at)
	default:
	}
	f.number++
	number := f.number
	ctx, cancel := context.WithTimeout(ctx, openTime)
	defer cancel()
	opened, err := until(ctx, func() (net.Conn, error) { return newStream(connection, at, number) }, func(late net.Conn) { _ = late.Close() })
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at, err)
	}
	return opened, nil
}

// drop forgets the connection. The lock is held.
func (f *Forward) drop() {
	if f.connection != nil {
		_ = f.connection.Close()
		f.connection = nil
	}
}

// connect makes a connection to the pod to ask. The lock is held.
func (f *Forward) connect(ctx context.Context) error {
	found, err := find(ctx, f.client, f.options.Process, f.options.Namespace)
	if err != nil {
		return err
	}
	ready := 0
	for ready < len(found) && found[ready].ready {
		ready++
	}
	if f.options.Leads != nil && ready > 1 {
		for _, at := range found[:ready] {
			connection, err := upgrade(ctx, f.options.Cluster.Config, at)
			if err != nil {
				continue // the others may be reached
			}
			if f.options.Leads(ctx, func(context.Context, string, string) (net.Conn, error) { return f.open(ctx, connection, at) }) {
				f.connection, f.at = connection, at
				return nil
			}
			_ = connection.Close()
		}
	}
	connection, err := upgrade(ctx, f.options.Cluster.Config, found[0])
	if err != nil {
		return err
	}
	f.connection, f.at = connection, found[0]
	return nil
}

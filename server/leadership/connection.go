package leadership

import (
	"context"
	"net"
	"time"

	coordinationv1client "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/connrotation"

	"muster.dev/muster/api/config"
)

// dialer opens connections that end with the leadership. Their end is no ordinary one: what was written, and
// has not arrived, is thrown away. Else the kernel goes on to deliver it, and a request that a
// leader wrote into a network that was cut arrives when that is whole again, and somebody else leads. The same holds for a
// process that is killed: the kernel closes its connections then.
func (f *Fence) dialer(dial connrotation.DialFunc) connrotation.DialFunc {
	if dial == nil {
		dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext // as client-go does
	}
	all := connrotation.NewDialer(func(ctx context.Context, network, address string) (net.Conn, error) {
		opened, err := dial(ctx, network, address)
		if tcp, ok := opened.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
			return &connection{tcp, f}, err
		}
		return opened, err
	})
	context.AfterFunc(f.over, all.CloseAll)
	return all.DialContext
}

// connection is one of the leader's.
type connection struct {
	*net.TCPConn
	fence *Fence
}

// Close implements [net.Conn].
func (c *connection) Close() error {
	if c.fence.over.Err() == nil {
		_ = c.SetLinger(-1) // an ordinary end; it may be closed already
	}
	return c.TCPConn.Close()
}

// attempts is how many requests about the lease may fail for want of an answer before a renewal is good
// no more.
const attempts = 3

// NewLeaseClient is a client for the lease and nothing else. It shares no connection and no rate limit
// with other clients, so that nothing they do keeps a renewal waiting. A request without an answer ends
// in time for others to be tried, and so does its connection, as it is HTTP/1.1.
func NewLeaseClient(cfg *rest.Config, election config.LeaderElection) (coordinationv1client.LeasesGetter, error) {
	own := rest.AddUserAgent(rest.CopyConfig(cfg), "leader-election")
	own.Timeout = election.RenewDeadline() / attempts
	own.QPS = -1 // the elector counts for itself, by its retry period
	own.NextProtos = []string{"http/1.1"}
	own.Dial = (&net.Dialer{Timeout: own.Timeout, KeepAlive: 30 * time.Second}).DialContext // transports are shared by equal configurations
	return coordinationv1client.NewForConfig(own)
}

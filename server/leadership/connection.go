package leadership

import (
	"context"
	"net"
	"time"

	"k8s.io/client-go/util/connrotation"
)

// dialer opens connections that end with the leadership. Their end is no ordinary one: what was written, and
// has not arrived, is thrown away. Else the kernel goes on to deliver it, and a request that a
// leader wrote into a network that was cut arrives when that is whole again, and somebody else leads.
func (f *Fence) dialer(dial connrotation.DialFunc) connrotation.DialFunc {
	if dial == nil {
		dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext // as client-go does
	}
	all := connrotation.NewDialer(func(ctx context.Context, network, address string) (net.Conn, error) {
		opened, err := dial(ctx, network, address)
		if tcp, ok := opened.(*net.TCPConn); ok {
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
	if c.fence.over.Err() != nil {
		_ = c.SetLinger(0) // it may be closed already
	}
	return c.TCPConn.Close()
}

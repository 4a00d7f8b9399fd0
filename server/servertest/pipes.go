package servertest

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
)

// Pipes is a listener whose connections are pipes in memory: testing/synctest lets
// time pass while they are waited for, as it does not for sockets.
type Pipes struct {
	connections chan net.Conn
	closed      chan struct{}
	close       func()
}

// NewPipes returns a listener that is open.
func NewPipes() *Pipes {
	p := &Pipes{connections: make(chan net.Conn), closed: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.closed) })
	return p
}

// Accept implements [net.Listener].
func (p *Pipes) Accept() (net.Conn, error) {
	select {
	case connection := <-p.connections:
		return connection, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (p *Pipes) Close() error {
	p.close()
	return nil
}

// Addr implements [net.Listener].
func (p *Pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }

func (p *Pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.connections <- far:
		return near, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Client sends every request to the listener, whatever its URL says.
func (p *Pipes) Client(t testing.TB) *http.Client {
	t.Helper()
	transport := &http.Transport{DialContext: p.dial}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

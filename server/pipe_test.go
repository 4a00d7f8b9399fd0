package server

import (
	"context"
	"net"
	"net/http"
	"sync"
	"testing"
)

// pipes is a listener whose connections are pipes in memory: testing/synctest lets
// time pass while they are waited for, as it does not for sockets.
type pipes struct {
	connections chan net.Conn
	closed      chan struct{}
	close       func()
}

func newPipes() *pipes {
	p := &pipes{connections: make(chan net.Conn), closed: make(chan struct{})}
	p.close = sync.OnceFunc(func() { close(p.closed) })
	return p
}

// Accept implements [net.Listener].
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case connection := <-p.connections:
		return connection, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

// Close implements [net.Listener].
func (p *pipes) Close() error {
	p.close()
	return nil
}

// Addr implements [net.Listener].
func (p *pipes) Addr() net.Addr { return &net.TCPAddr{} }

func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
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

// client sends every request to the listener, whatever its URL says.
func (p *pipes) client(t *testing.T) *http.Client {
	t.Helper()
	transport := &http.Transport{DialContext: p.dial}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

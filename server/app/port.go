package app

import (
	"crypto/tls"
	"net"
	"net/http"

	"muster.dev/muster/inspect"
	"muster.dev/muster/server/access"
)

// Address is where a process is to listen.
type Address struct {
	Field, Address string // the field that asks for it, and what it says: "" for no address
	Connections    int    // that may be open at a time
}

// Listen opens an address for a limited number of connections at a time, as [access.Listen] does.
type Listen func(field, address string, connections int) (net.Listener, error)

// Open opens all addresses, and returns the listeners by field. After an error none is open.
func Open(listen Listen, addresses ...Address) (map[string]net.Listener, error) {
	open := map[string]net.Listener{}
	for _, a := range addresses {
		if a.Address == "" {
			continue
		}
		listener, err := listen(a.Field, a.Address, a.Connections)
		if err != nil {
			for _, before := range open {
				_ = before.Close() // what matters is why
			}
			return nil, err
		}
		open[a.Field] = listener
	}
	return open, nil
}

// Port serves a handler at an address, to certain clients.
type Port struct {
	Field     string // that asked for the address
	Listener  net.Listener
	Guard     access.Guard
	Endpoints []inspect.Endpoint
	// Elsewhere is told to those who ask for what is not served here. With "" there is an index.
	Elsewhere string
	TLS       *tls.Config // nil for plain http
}

// Handler answers there.
func (p *Port) Handler(metrics *access.Metrics) http.Handler {
	guard := p.Guard
	guard.Field, guard.Metrics = p.Field, metrics
	if p.Elsewhere == "" {
		return guard.Handler(inspect.Router(p.Endpoints...))
	}
	return guard.Handler(inspect.RouterWithoutIndex(p.Elsewhere, p.Endpoints...))
}

// Secured is the listener, which speaks TLS if it is asked to.
func (p *Port) Secured() net.Listener {
	if p.TLS == nil {
		return p.Listener
	}
	return tls.NewListener(p.Listener, p.TLS)
}

package access

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// Hosts are the names by which a server may be called. An address is no name: nobody can have it
// mean another machine, as one can have a name. So only a listener on loopback, where all callers
// are on this machine or come through a forwarded port, refuses the addresses of others.
type Hosts struct {
	field    string   // that lists the names besides the following ones
	listed   []string // in lower case
	loopback bool     // only this machine is listened to
}

// NewHosts returns the names of a listener: localhost and the loopback addresses, the host of the address as it
// was configured, and the names that a field lists.
func NewHosts(configured string, listener net.Listener, field string, listed []string) *Hosts {
	h := &Hosts{field: field, loopback: IsLoopback(listener.Addr())}
	for _, name := range append(slices.Clone(listed), configured) {
		if name = hostname(name); name != "" {
			h.listed = append(h.listed, name)
		}
	}
	return h
}

// IsLoopback reports whether only this machine reaches an address.
func IsLoopback(address net.Addr) bool {
	parsed, err := netip.ParseAddrPort(address.String())
	return err == nil && parsed.Addr().Unmap().IsLoopback()
}

// IsLocal reports whether a request comes from this host, as through kubectl port-forward.
func IsLocal(r *http.Request) bool {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	return err == nil && from.Addr().Unmap().IsLoopback()
}

// check returns why a Host header is refused, nil for one that is not.
func (h *Hosts) check(host string) error {
	if host == "" || h.names(hostname(host)) { // no browser leaves it out
		return nil
	}
	if h.field == "" {
		return fmt.Errorf("%q is no name of this server: call it by the address that it listens at", host)
	}
	return fmt.Errorf("%q is no name of this server: call it by its address, or add the name to %s", host, h.field)
}

// names reports whether a name, in lower case and without a port, is among them.
func (h *Hosts) names(name string) bool {
	if h == nil {
		return false
	}
	if name == "localhost" || strings.HasSuffix(name, ".localhost") || slices.Contains(h.listed, name) {
		return true
	}
	address, err := netip.ParseAddr(name)
	return err == nil && (!h.loopback || address.Unmap().IsLoopback())
}

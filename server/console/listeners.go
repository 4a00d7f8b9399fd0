package console

import (
	"cmp"
	"net/http"
	"strings"

	"muster.dev/muster/inspect"
)

// listenersPage is where the process listens, and what is served there.
type listenersPage struct {
	Listeners []listenerRow `json:"listeners"`
}

type listenerRow struct {
	Listener string `json:"listener"` // the field that asked for it
	Address  string `json:"address"`
	TLS      bool   `json:"tls"`
	// Clients are names. A client's certificate must have one of them.
	Clients   []string      `json:"clients,omitempty"`
	Endpoints []endpointRow `json:"endpoints"`
}

type endpointRow struct {
	Method string `json:"method"`
	Path   string `json:"path"`
	About  string `json:"about"`
}

func (s *Console) debugListeners(*http.Request) (inspect.Answer, error) {
	page := listenersPage{Listeners: []listenerRow{}}
	for _, p := range s.options.Ports() {
		row := listenerRow{Listener: p.Field, Address: p.Listener.Addr().String(), TLS: p.TLS != nil, Clients: p.Guard.ClientNames}
		for _, e := range p.Endpoints {
			row.Endpoints = append(row.Endpoints, endpointRow{e.Method, e.Pattern, e.About})
		}
		page.Listeners = append(page.Listeners, row)
	}
	return page, nil
}

// Text implements [inspect.Answer].
func (p listenersPage) Text(t *inspect.Table) {
	t.Title("where the process listens, and for whom; what is at debug.listen is listed at /debug/")
	t.Row("LISTENER", "ADDRESS", "TLS", "CLIENTS")
	for _, row := range p.Listeners {
		t.Row(row.Listener, row.Address, row.TLS, cmp.Or(strings.Join(row.Clients, ","), "-"))
	}
	t.Gap()
	t.Row("LISTENER", "METHOD", "PATH", "ABOUT")
	for _, row := range p.Listeners {
		if row.Listener == FieldDebug {
			continue
		}
		for _, e := range row.Endpoints {
			t.Row(row.Listener, e.Method, e.Path, e.About)
		}
	}
}

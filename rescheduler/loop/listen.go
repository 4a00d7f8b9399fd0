package loop

import (
	"muster.dev/muster/inspect"
	"muster.dev/muster/server/access"
	"muster.dev/muster/server/app"
)

// The fields that ask for addresses.
const (
	fieldListen   = "rescheduler.listen"
	fieldSeparate = "rescheduler.separate.listen"
)

// listen opens the ports: that of what there is to see, and that of requests. After an error none is open.
func (d *desk) listen(registry inspect.Registry) ([]*access.Server, error) {
	settings, metrics := &d.config.Rescheduler, access.NewMetrics(registry)
	listeners, err := app.Open(d.open,
		app.Address{Field: fieldListen, Address: settings.Listen, Connections: access.Connections},
		app.Address{Field: fieldSeparate, Address: settings.Separate.Listen, Connections: access.Connections},
	)
	if err != nil {
		return nil, err
	}
	looks := listeners[fieldListen]
	ports := []*app.Port{{
		Field: fieldListen, Listener: looks, Endpoints: d.looks(registry), Elsewhere: d.elsewhere(),
		Guard: access.Guard{
			Pages: access.OwnPages, Hosts: access.NewHosts(settings.Listen, looks, "debug.allowedHosts", d.config.Debug.AllowedHosts),
			AnyHost: []string{"/livez", "/readyz", "/metrics"}, // kubelets and Prometheus may know it by any name
		},
	}}
	if listener := listeners[fieldSeparate]; listener != nil {
		ports = append(ports, &app.Port{
			Field: fieldSeparate, Listener: listener, Endpoints: d.requests(), Elsewhere: "this is rescheduler.separate.listen",
			Guard: access.Guard{Pages: access.NoPages, Hosts: access.NewHosts(settings.Separate.Listen, listener, "", nil)},
		})
	}
	var servers []*access.Server
	for _, p := range ports {
		servers = append(servers, access.NewServer(p.Field, p.Listener, p.Handler(metrics), d.log))
		d.log.Info("serving", "listener", p.Field, "address", p.Listener.Addr().String())
	}
	return servers, nil
}

// elsewhere returns the answer to requests that are not served here.
func (d *desk) elsewhere() string {
	if d.config.Debug.Enabled() {
		return ""
	}
	return "debug.listen is empty"
}

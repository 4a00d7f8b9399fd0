package loop

import (
	"muster.dev/muster/inspect"
	"muster.dev/muster/server/access"
)

// The fields that ask for addresses.
const (
	fieldListen   = "rescheduler.listen"
	fieldSeparate = "rescheduler.separate.listen"
)

// listen opens the ports: that of what there is to see, and that of requests. After an error none is open.
func (p *process) listen(registry inspect.Registry) error {
	settings, metrics := &p.config.Rescheduler, access.NewMetrics(registry)
	// Kubelets and Prometheus may know it by any name.
	looks := access.Guard{Field: fieldListen, Metrics: metrics, Pages: access.OwnPages, AnyHost: []string{"/livez", "/readyz", "/metrics"}}
	listener, err := access.Listen(fieldListen, settings.Listen, access.Connections)
	if err != nil {
		return err
	}
	looks.Hosts = access.NewHosts(settings.Listen, listener, "debug.allowedHosts", p.config.Debug.AllowedHosts)
	p.servers = []*access.Server{access.NewServer(fieldListen, listener, looks.Handler(p.router(registry)), p.log)}

	if settings.Separate.Listen != "" {
		requests := access.Guard{Field: fieldSeparate, Metrics: metrics, Pages: access.NoPages}
		if listener, err = access.Listen(fieldSeparate, settings.Separate.Listen, access.Connections); err != nil {
			_ = p.servers[0].Listener.Close() // what matters is why
			return err
		}
		requests.Hosts = access.NewHosts(settings.Separate.Listen, listener, "", nil)
		p.servers = append(p.servers, access.NewServer(fieldSeparate, listener, requests.Handler(p.separation()), p.log))
	}
	for _, s := range p.servers {
		p.log.Info("serving", "listener", s.Field, "address", s.Listener.Addr().String())
	}
	return nil
}

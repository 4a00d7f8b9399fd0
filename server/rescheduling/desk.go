package rescheduling

import (
	"log/slog"
	"net/http"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/inspect"
	"muster.dev/muster/server/access"
	"muster.dev/muster/server/app"
	"muster.dev/muster/server/console"
	"muster.dev/muster/server/separation"
)

// The fields that ask for addresses.
const (
	fieldListen   = "rescheduler.listen"
	fieldSeparate = "rescheduler.separate.listen"
)

// desk is where the process is asked: about plans, and to separate pods.
type desk struct {
	log     *slog.Logger
	config  *config.Configuration
	about   *inspect.Process
	cluster *cluster.Cluster
	pages   []inspect.Endpoint // about plans
	client  kubernetes.Interface
	synced  func() bool
	open    app.Listen
}

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

// looks returns the endpoints of the rescheduler's pages.
func (d *desk) looks(registry prometheus.Gatherer) []inspect.Endpoint {
	endpoints := console.NewHealth(console.HealthOptions{
		Stuck: func() error { return nil }, Ready: d.ready, Metrics: registry, Version: d.about.Version,
	}).Endpoints()
	if !d.config.Debug.Enabled() {
		return endpoints
	}
	return slices.Concat(endpoints, d.about.Endpoints("/readyz", "/metrics", "/debug/"), d.pages)
}

// requests are taken once the view of the cluster is complete.
func (d *desk) requests() []inspect.Endpoint {
	handler := separation.New(separation.Options{
		Logger: d.log, Snapshot: d.cluster.Snapshot, Client: d.client, DryRun: d.config.Rescheduler.Mode == v1alpha1.DryRun,
	})
	return []inspect.Endpoint{{
		Method: http.MethodPost, Pattern: "/separate", About: "asks for a pod to be separated from another one, or from its node",
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if err := d.ready(); err != nil {
				http.Error(w, err.Error(), http.StatusServiceUnavailable)
				return
			}
			handler.ServeHTTP(w, r)
		}),
	}}
}

// ready returns why requests are not taken, nil when they are.
func (d *desk) ready() error {
	if !d.synced() {
		return app.ErrNotSynced
	}
	return nil
}

// elsewhere returns the answer to requests that are not served here.
func (d *desk) elsewhere() string {
	if d.config.Debug.Enabled() {
		return ""
	}
	return "debug.listen is empty"
}

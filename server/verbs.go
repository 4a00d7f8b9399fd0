package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/loadaware"
	"muster.dev/muster/server/app"
	"muster.dev/muster/server/body"
	"muster.dev/muster/server/extender"
)

// VerbsOptions are what the verbs alone need. All are required.
type VerbsOptions struct {
	// Config is decoded, defaulted and valid. Its profiles count, and the bounds of calls.
	Config *config.Configuration
	// Cluster is the view of the cluster, which somebody else keeps.
	Cluster *cluster.Cluster
	// Client binds pods.
	Client     kubernetes.Interface
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	// Pick breaks ties: it returns a number from 0 to n-1.
	Pick func(n int) int
}

// NewVerbs serves the verbs over any view of the cluster, as of one that is simulated. There
// is nothing that runs beside the calls: gangs are not known, and no pod is nominated.
func NewVerbs(o VerbsOptions) (http.Handler, error) {
	for i := range o.Config.Profiles {
		if gates := o.Config.Profiles[i].Gates; gates != config.GatesNever {
			return nil, fmt.Errorf("profiles[%d].gates: %s %w", i, gates, errNoGates)
		}
	}
	registration := newRegistration(o.Logger, o.Registerer)
	profiles, err := app.NewProfiles(app.ProfileOptions{
		Registerer: o.Registerer, Cluster: o.Cluster, Config: o.Config, Follow: registration.follow,
		Load: loadaware.Options{Logger: o.Logger, Metrics: loadaware.NewMetrics(o.Registerer)},
	})
	if err != nil {
		return nil, err
	}
	verbs := extender.New(extender.Options{
		Logger:     o.Logger,
		Registerer: o.Registerer,
		Cluster:    o.Cluster,
		Profiles:   profiles.InForce(),
		Client:     o.Client,
		BindTime: extender.BindTime(
			o.Config.Timeouts,
		),
		Bodies: newBodies(o.Registerer, o.Config),
		Ready:  func() error { return nil },
		Pick:   o.Pick,
	})
	router := chi.NewRouter()
	for _, verb := range registration.endpoints(verbs.Endpoints()) {
		router.Method(verb.Method, verb.Pattern, verb.Handler)
	}
	return router, nil
}

var errNoGates = errors.New("needs a server, which lifts gates")

// newBodies reads the bodies of requests within the bounds of a configuration.
func newBodies(r prometheus.Registerer, cfg *config.Configuration) *body.Readers {
	return body.NewReaders(r, body.DefaultLimits(cfg.Timeouts.Filter.Duration))
}

package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"github.com/go-chi/chi/v5"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/api/config/v1alpha2"
	"muster.dev/muster/cluster"
)

// VerbsOptions are what the verbs alone need. All are required.
type VerbsOptions struct {
	// Config is decoded, defaulted and valid. Its profiles count, and the bounds of calls.
	Config *v1alpha2.MusterConfiguration
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
// is nothing that runs beside the calls: gangs are not known, and no pod is placed ahead.
func NewVerbs(o VerbsOptions) (http.Handler, error) {
	for i := range o.Config.Profiles {
		if profile := &o.Config.Profiles[i]; profile.NodeSelection == v1alpha2.NodeSelectionNominate {
			return nil, fmt.Errorf("profiles[%d].nodeSelection: %w", i, errNothingAhead)
		}
	}
	stores, err := newStores(o.Logger, o.Cluster, o.Registerer, o.Config)
	if err != nil {
		return nil, err
	}
	extender := newExtender(o.Logger, o.Cluster, o.Client, bindTime(o.Config.Timeouts), stores.profiles)
	extender.pick = o.Pick
	verbs := newVerbs(
		o.Logger, o.Registerer, nil, newBodies(o.Registerer, o.Config.Serving, o.Config.Timeouts.Filter.Duration), func() error { return nil },
	)
	router := chi.NewRouter()
	for _, verb := range extender.verbs() {
		router.Post("/"+verb.name, verbs.handler(verb))
	}
	return router, nil
}

var errNothingAhead = errors.New("Nominate needs a server, which places pods ahead of calls")

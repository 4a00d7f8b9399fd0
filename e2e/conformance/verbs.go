package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/inspect"
	"muster.dev/muster/predicates"
	"muster.dev/muster/server/body"
	"muster.dev/muster/server/extender"
)

// serve has muster serve its verbs about a scenario, with a profile and a way to break ties, nil for a random one.
func serve(s *Scenario, cfg *config.Profile, pick func(n int) int) (*cluster.Cluster, *predicates.VerdictStore, http.Handler, error) {
	registry := prometheus.NewRegistry()
	c := newCluster(registry, math.MaxInt64)
	if err := set(c, slices.Concat(
		plainly(s.Nodes), s.Objects.all(), plainly(s.Placed), plainly(s.Nominated), plainly(s.Pending),
	)...); err != nil {
		return nil, nil, nil, err
	}
	store, err := newStore(cfg, c, math.MaxInt64, registry)
	if err != nil {
		return nil, nil, nil, err
	}
	options := verbOptions(registry, c, predicates.NewProfiles(store))
	options.Pick = pick
	return c, store, inspect.Router(extender.New(options).Endpoints()...), nil
}

func verbOptions(registry *prometheus.Registry, c *cluster.Cluster, profiles *predicates.Profiles) extender.Options {
	return extender.Options{
		Logger: slog.New(slog.DiscardHandler), Registerer: registry, Cluster: c, Profiles: profiles,
		Bodies: body.NewReaders(registry, body.Limits{Body: 1 << 20, InFlight: 1 << 30, Timeout: time.Minute}),
		Ready:  func() error { return nil },
	}
}

// call calls a verb of muster as kube-scheduler does.
func call(verbs http.Handler, verb string, request, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	post, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "/"+verb, bytes.NewReader(body))
	if err != nil {
		return err
	}
	reply := httptest.NewRecorder()
	verbs.ServeHTTP(reply, post)
	if reply.Code != http.StatusOK {
		return fmt.Errorf("%s answers %d: %s", verb, reply.Code, reply.Body)
	}
	return json.Unmarshal(reply.Body.Bytes(), answer)
}

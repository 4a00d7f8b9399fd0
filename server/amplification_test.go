package server

import (
	"bytes"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/bounded/boundedtest"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/operators/kinds"
	"muster.dev/muster/inspect"
	"muster.dev/muster/server/admission"
	"muster.dev/muster/server/app"
	"muster.dev/muster/server/body"
	"muster.dev/muster/server/console"
	"muster.dev/muster/server/extender"
	"muster.dev/muster/server/servertest"
)

// newHostileBench answers at all paths that take a body, in a cluster of a hundred nodes.
func newHostileBench(t testing.TB) http.Handler {
	t.Helper()
	registry, config := prometheus.NewRegistry(), servertest.Config(t, "", "")
	log := slog.New(slog.DiscardHandler)
	b := servertest.Bench{TB: t, Cluster: cluster.New(cluster.Options{Logger: log, Registerer: registry, AssumeTTL: time.Hour})}
	for i := range 100 {
		b.Node(fmt.Sprintf("node-%d", i), "8", func(n *corev1.Node) {
			n.Labels = map[string]string{"zone": fmt.Sprint(i % 3), "kubernetes.io/hostname": n.Name}
		})
	}
	profiles, err := app.NewProfiles(app.ProfileOptions{Registerer: registry, Cluster: b.Cluster, Config: config})
	if err != nil {
		t.Fatal(err)
	}
	election, err := app.NewElection(app.ElectionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	bodies := body.NewReaders(registry, body.DefaultLimits(time.Minute))
	verbs := extender.New(extender.Options{
		Logger: log, Registerer: registry, Cluster: b.Cluster, Profiles: profiles.InForce(), BindTime: time.Minute, Bodies: bodies,
		Ready: func() error { return nil },
	})
	pages := console.New(console.Options{
		Process: &inspect.Process{Name: "muster", Clock: clock.RealClock{}}, Cluster: b.Cluster, Profiles: profiles.InForce(),
		Readiness: app.NewReadiness(app.ReadinessOptions{Synced: func() bool { return true }, Election: election}), Bodies: bodies,
	})
	s := &served{webhooks: admission.NewWebhooks(profiles.InForce(), kinds.Set(config.Gangs.Kinds).Signs(), registry, bodies)}
	return inspect.Router(slices.Concat(verbs.Endpoints(), s.webhook(), pages.Endpoints())...)
}

// What a call takes follows from the length of its body, whatever the body says.
func TestNoBodyTakesManyTimesItsSize(t *testing.T) {
	boundedtest.SkipWithRaceDetector(t)
	handler := newHostileBench(t)
	sizes := []int{64 << 10}
	if os.Getenv("LARGE_BODIES") != "" { // as "make fuzz" has it: they take a while
		sizes = []int{1 << 20, 4 << 20}
	}
	worst := 0.0
	for _, size := range sizes {
		for path, bodies := range servertest.HostileBodies(size) {
			for _, name := range slices.Sorted(maps.Keys(bodies)) {
				body := append([]byte(bodies[name]), bytes.Repeat([]byte(" "), max(0, size-len(bodies[name])))...)
				status, taken := servertest.Footprint(handler, path, body)
				times := float64(taken) / float64(len(body))
				if times > worst {
					worst = times
					t.Logf("the most so far, %.1f times as much, for %s of %s in %d bytes", times, path, name, len(body))
				}
				if times > servertest.MostTimes {
					t.Errorf("%s of %s in %d bytes, answered %d: takes %d, %.1f times as much", path, name, len(body), status, taken, times)
				}
			}
		}
	}
	t.Logf("figure body_amplification=%.1f", worst)
}

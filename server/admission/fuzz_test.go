package admission

import (
	"bytes"
	stdjson "encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	k8sjson "sigs.k8s.io/json"

	"muster.dev/muster/api/bounded"
	"muster.dev/muster/api/bounded/boundedtest"
	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/operators/kinds"
	"muster.dev/muster/inspect"
	"muster.dev/muster/server/app"
	"muster.dev/muster/server/body"
	"muster.dev/muster/server/servertest"
)

// FuzzWebhook posts reviews. The rule of gates reads of them what a decoder of everything does.
func FuzzWebhook(f *testing.F) {
	registry, cfg := prometheus.NewRegistry(), servertest.Config(f, "", "")
	cfg.Profiles[0].Gates = config.GatesUntilMembers
	c := cluster.New(cluster.Options{Logger: slog.New(slog.DiscardHandler), Registerer: registry, AssumeTTL: time.Hour})
	profiles, err := app.NewProfiles(app.ProfileOptions{Registerer: registry, Cluster: c, Config: cfg})
	if err != nil {
		f.Fatal(err)
	}
	bodies := body.NewReaders(registry, body.Limits{Body: 1 << 20, InFlight: 256 << 20, Timeout: time.Minute})
	signs := kinds.Set(config.GangKinds()).Signs()
	gates := NewWebhooks(profiles.InForce(), signs, registry, bodies)
	ahead := servertest.Config(f, "", "")
	ahead.Profiles[0].NodeSelection, ahead.Profiles[0].Gates = config.NodeSelectionMuster, config.GatesUntilPlace
	profilesAhead, err := app.NewProfiles(app.ProfileOptions{Registerer: prometheus.NewRegistry(), Cluster: c, Config: ahead})
	if err != nil {
		f.Fatal(err)
	}
	cfg.Profiles = append(cfg.Profiles, cfg.Profiles[0])
	cfg.Profiles[1].SchedulerName = "batch"
	if err := profiles.Put(cfg.Profiles); err != nil {
		f.Fatal(err)
	}
	both := []*Gate{gates.Members, NewWebhooks(profilesAhead.InForce(), signs, prometheus.NewRegistry(), bodies).Ahead}
	for i, text := range boundedtest.Texts() {
		f.Add([]byte([]string{text, servertest.ReviewOf("CREATE", text)}[i%2]))
	}
	for _, pod := range []string{
		`{"metadata":{"namespace":"d","labels":{"muster.dev/pod-group":"g"}},"spec":{"schedulerName":"default-scheduler"}}`,
		`{"metadata":{"labels":{"muster.dev/pod-group":"g"}},"spec":{"schedulerName":"default-scheduler","schedulingGates":[{"name":"x"},` +
			`{"name":"muster.dev/gang"}]}}`,
		`{"metadata":{"labels":{"scheduling.x-k8s.io/pod-group":"g"}},"spec":{"schedulerName":"default-scheduler","nodeName":"n",` +
			`"schedulingGroup":{}}}`,
		`{"metadata":{"labels":{"muster.dev/ahead":"true"},"ownerReferences":[{"kind":"ReplicaSet"},{"kind":"DaemonSet"}]},"spec":{}}`,
		`{"metadata":{"labels":{"muster.dev/ahead":"true"}},"spec":{"priorityClassName":"b","schedulingGates":[{"name":"muster.dev/ahead"}]}}`,
		`{"metadata":{"labels":{"app.kubernetes.io/name":"muster"}},"spec":{"schedulerName":"default-scheduler"}}`,
		`{"metadata":{"annotations":{"gang.scheduling.koordinator.sh/name":"g"}},"spec":{}}`,
		`{"metadata":{"annotations":{"scheduling.k8s.io/group-name":"g"},"labels":{"grove.io/podgang":""}},"spec":{}}`,
		`{"metadata":{"ownerReferences":[{"kind":"RayCluster","apiVersion":"ray.io/v1","controller":false},{"kind":"DaemonSet"},` +
			`{"kind":"RayCluster","apiVersion":"ray.io/v1","controller":true}]},"spec":{}}`,
	} {
		f.Add([]byte(servertest.ReviewOf("CREATE", pod)))
		f.Add([]byte(servertest.ReviewOf("UPDATE", pod)))
		f.Add([]byte(strings.Replace(servertest.ReviewOf("CREATE", pod), `"operation"`, `"subResource": "status", "operation"`, 1)))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for _, gate := range both {
			answersAsADecoderWould(t, gate, gate.gates, bodies, text)
		}
		sets := inspect.Router(inspect.Endpoint{Method: http.MethodPost, Pattern: "/w/{" + ParameterScheduler + "}", Handler: gates.Assigner})
		takes := func(pod *corev1.Pod) bool { return gates.Assigner.takes(pod, "batch") }
		answersAsADecoderWould(t, sets, takes, bodies, text)
	})
}

func answersAsADecoderWould(t *testing.T, webhook http.Handler, changes func(*corev1.Pod) bool, bodies *body.Readers, text []byte) {
	t.Helper()
	answer := httptest.NewRecorder()
	boundedtest.Bound{Times: servertest.MostTimes, Beside: 64 << 10}.Check(t, len(text), func() {
		answer = httptest.NewRecorder()
		webhook.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/w/batch", bytes.NewReader(text)))
	})
	if held := bodies.Held(); held != 0 {
		t.Errorf("%d bytes are held", held)
	}
	if answer.Code != http.StatusOK {
		if answer.Code != http.StatusBadRequest || answer.Body.Len() > 16<<10 {
			t.Errorf("answered %d with %d bytes", answer.Code, answer.Body.Len())
		}
		return
	}
	var told, review admissionv1.AdmissionReview
	if err := stdjson.Unmarshal(answer.Body.Bytes(), &told); err != nil || told.Response == nil || !told.Response.Allowed {
		t.Fatalf("answered %s, %v", answer.Body, err)
	}
	if !decodes(text, &review) || review.Request == nil {
		return
	}
	var pod corev1.Pod
	if raw := review.Request.Object.Raw; len(raw) > 0 && !decodes(raw, &pod) {
		return
	}
	wants := review.Request.Operation == admissionv1.Create && review.Request.SubResource == "" && changes(&pod)
	if got := told.Response.Patch != nil; got != wants || told.Response.UID != review.Request.UID {
		t.Errorf("the answer is for %q, with a change: %t; want %q, %t", told.Response.UID, got, review.Request.UID, wants)
	}
}

// decodes says that a text can be decoded, which it is, and has no field twice, which decoders merge in
// ways of their own.
func decodes(text []byte, into any) bool {
	if _, err := bounded.Check(text, into); err != nil {
		return false
	}
	wrong, err := k8sjson.UnmarshalStrict(text, into)
	return err == nil && !slices.ContainsFunc(wrong, func(err error) bool { return strings.Contains(err.Error(), "duplicate field") })
}

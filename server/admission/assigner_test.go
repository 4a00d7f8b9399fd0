package admission

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	admissionv1 "k8s.io/api/admission/v1"

	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/operators"
	"muster.dev/muster/inspect"
	"muster.dev/muster/server/app"
	"muster.dev/muster/server/body"
	"muster.dev/muster/server/servertest"
)

func TestPodsThatNameNoSchedulerGetTheOneThatTheWebhookIsAskedFor(t *testing.T) {
	registry, cfg := prometheus.NewRegistry(), servertest.Config(t, "", "")
	cfg.Profiles = append(cfg.Profiles, cfg.Profiles[0])
	cfg.Profiles[1].SchedulerName = "batch"
	c := cluster.New(cluster.Options{Logger: slog.New(slog.DiscardHandler), Registerer: registry, AssumeTTL: time.Hour})
	profiles, err := app.NewProfiles(app.ProfileOptions{Registerer: registry, Cluster: c, Config: cfg})
	if err != nil {
		t.Fatal(err)
	}
	bodies := body.NewReaders(registry, body.Limits{Body: 1 << 20, InFlight: 1 << 20, Timeout: time.Minute})
	webhooks := NewWebhooks(profiles.InForce(), operators.Signs{}, registry, bodies)
	router := inspect.Router(inspect.Endpoint{Method: http.MethodPost, Pattern: "/{" + ParameterScheduler + "}", Handler: webhooks.Assigner})
	const set = `[{"op":"add","path":"/spec/schedulerName","value":"batch"}]`
	for name, test := range map[string]struct{ scheduler, operation, pod, want string }{
		"a pod":                                 {"batch", "CREATE", `{}`, set},
		"one that the API server has defaulted": {"batch", "CREATE", `{"spec": {"schedulerName": "default-scheduler"}}`, set},
		"one of another scheduler":              {"batch", "CREATE", `{"spec": {"schedulerName": "mine"}}`, ""},
		"one that is of it already":             {"batch", "CREATE", `{"spec": {"schedulerName": "batch"}}`, ""},
		"one with a node, as a static one has":  {"batch", "CREATE", `{"spec": {"nodeName": "n"}}`, ""},
		"one of a DaemonSet":                    {"batch", "CREATE", `{"metadata": {"ownerReferences": [{"kind": "DaemonSet"}]}}`, ""},
		"one of the system":                     {"batch", "CREATE", `{"spec": {"priorityClassName": "system-node-critical"}}`, ""},
		"muster's own":                          {"batch", "CREATE", `{"metadata": {"labels": {"app.kubernetes.io/name": "muster"}}}`, ""},
		"one that changes":                      {"batch", "UPDATE", `{}`, ""},
		"a profile that is gone":                {"former", "CREATE", `{}`, ""},
		"the scheduler that it has":             {"default-scheduler", "CREATE", `{}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			answer := httptest.NewRecorder()
			review := servertest.ReviewOf(test.operation, test.pod)
			router.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/"+test.scheduler, strings.NewReader(review)))
			var told admissionv1.AdmissionReview
			if err := json.Unmarshal(answer.Body.Bytes(), &told); err != nil || answer.Code != http.StatusOK || !told.Response.Allowed {
				t.Fatalf("answered %d: %s (%v)", answer.Code, answer.Body, err)
			}
			if got := string(told.Response.Patch); got != test.want {
				t.Errorf("patch %s, want %s", got, test.want)
			}
		})
	}
}

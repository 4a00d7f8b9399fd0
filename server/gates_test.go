package server

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"muster.dev/muster/api/config"
	"muster.dev/muster/server/servertest"
)

// review posts a review to a webhook of a server with a profile that gates pods, or not.
func review(t *testing.T, path string, gates config.Gates, body string) *httptest.ResponseRecorder {
	t.Helper()
	files := newIdentity(t)
	files.write(newAuthority(t).issue("muster"))
	// It neither is ready nor leads.
	p := newProcess(t, func(cfg *config.Configuration) {
		cfg.Profiles[0].NodeSelection, cfg.Profiles[0].Gates = config.NodeSelectionMuster, gates
		cfg.Serving.TLS, cfg.Serving.WebhookListen = files.TLS, "127.0.0.1:0"
	})
	request := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	request.Header.Set("Content-Type", "application/json")
	return p.asks(fieldWebhook, request)
}

// What the webhook adds, to a pod without gates and to one that has some.
const (
	addGate    = `[{"op":"add","path":"/spec/schedulingGates","value":[{"name":"muster.dev/gang"}]}]`
	addGateToo = `[{"op":"add","path":"/spec/schedulingGates/-","value":{"name":"muster.dev/gang"}}]`
)

// patchOf returns the webhook's patch of a pod that the webhook allows, "" for none.
func patchOf(t *testing.T, gates config.Gates, body string) string {
	t.Helper()
	return patchAt(t, "/webhook/gates", gates, body)
}

// patchAt is patchOf for a webhook.
func patchAt(t *testing.T, path string, gates config.Gates, body string) string {
	t.Helper()
	answer := review(t, path, gates, body)
	var got admissionv1.AdmissionReview
	if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil || answer.Code != http.StatusOK {
		t.Fatalf("answered %d: %s (%v)", answer.Code, answer.Body, err)
	}
	want := admissionv1.AdmissionReview{Response: &admissionv1.AdmissionResponse{UID: "u", Allowed: true}}
	want.APIVersion, want.Kind = "admission.k8s.io/v1", "AdmissionReview"
	if want.Response.Patch = got.Response.Patch; want.Response.Patch != nil {
		want.Response.PatchType = new(admissionv1.PatchTypeJSONPatch)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	return string(got.Response.Patch)
}

// readTable reads the cases of a test, which are held against the policies of the API server as well.
func readTable(t *testing.T, name string, tests any) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(text, tests); err != nil {
		t.Fatal(err)
	}
}

func TestMembersOfGangsAreGatedWhenTheyAreCreated(t *testing.T) {
	var tests []struct {
		Name  string
		Pod   json.RawMessage
		Gates []string
	}
	readTable(t, "gates.yaml", &tests)
	for _, test := range tests {
		t.Run(test.Name, func(t *testing.T) {
			var pod struct {
				Spec struct{ SchedulingGates []struct{ Name string } }
			}
			if err := json.Unmarshal(test.Pod, &pod); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, gate := range pod.Spec.SchedulingGates {
				got = append(got, gate.Name)
			}
			switch patch := patchOf(t, config.GatesUntilPlace, servertest.ReviewOf("CREATE", string(test.Pod))); {
			case patch == "":
			case patch == addGate:
				got = []string{"muster.dev/gang"} // whatever the list was
			case patch == addGateToo && len(got) > 0: // else there is nothing to add to
				got = append(got, "muster.dev/gang")
			default:
				t.Errorf("patch %s", patch)
			}
			if diff := cmp.Diff(test.Gates, got); diff != "" {
				t.Errorf("gates (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPodsAreGatedThatArePlacedAhead(t *testing.T) {
	var tests []struct {
		Name    string
		OptedIn bool
		Pod     json.RawMessage
		Gates   []string
	}
	readTable(t, "ahead.yaml", &tests)
	for _, test := range tests {
		t.Run(test.Name, func(t *testing.T) {
			var pod corev1.Pod
			if err := json.Unmarshal(test.Pod, &pod); err != nil {
				t.Fatal(err)
			}
			// As the selectors of the webhooks have it.
			asked := []string{"/webhook/gates"}
			if label, labelled := pod.Labels["muster.dev/ahead"]; label == "true" || !labelled && test.OptedIn {
				asked = append(asked, "/webhook/ahead")
			}
			got := gateNames(&pod)
			for _, path := range asked {
				patch := patchAt(t, path, config.GatesUntilPlace, servertest.ReviewOf("CREATE", string(test.Pod)))
				for _, gate := range []string{"muster.dev/gang", "muster.dev/ahead"} {
					if strings.Contains(patch, gate) {
						got = append(got, gate)
					}
				}
			}
			if diff := cmp.Diff(test.Gates, got); diff != "" {
				t.Errorf("gates (-want +got):\n%s", diff)
			}
		})
	}
}

func gateNames(pod *corev1.Pod) (names []string) {
	for _, gate := range pod.Spec.SchedulingGates {
		names = append(names, gate.Name)
	}
	return names
}

func TestNobodyIsGatedForAProfileThatPlacesNobodyAhead(t *testing.T) {
	pod := servertest.ReviewOf("CREATE", `{"metadata": {"labels": {"muster.dev/ahead": "true"}}}`)
	if patch := patchAt(t, "/webhook/ahead", config.GatesUntilMembers, pod); patch != "" {
		t.Errorf("patch %s", patch)
	}
}

func TestNobodyIsGatedWhoMustNotBe(t *testing.T) {
	const member = `{"metadata": {"labels": {"muster.dev/pod-group": "g"}}}`
	for name, test := range map[string]struct {
		gates          config.Gates
		operation, pod string
		want           string
	}{
		"a member is, until there are enough":           {config.GatesUntilMembers, "CREATE", member, addGate},
		"and none when gates are not wanted":            {config.GatesNever, "CREATE", member, ""},
		"nor one that changes":                          {config.GatesUntilPlace, "UPDATE", member, ""},
		"nor one that is deleted, with an empty object": {config.GatesUntilPlace, "DELETE", `{}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := patchOf(t, test.gates, servertest.ReviewOf(test.operation, test.pod)); got != test.want {
				t.Errorf("patch %s, want %s", got, test.want)
			}
		})
	}
}

func TestWhatIsNoReviewOfAPodIsABadRequest(t *testing.T) {
	good := servertest.ReviewOf("CREATE", "{}")
	for name, test := range map[string]struct {
		body string
		code int
		want string
	}{
		"no JSON": {"{", http.StatusBadRequest, "not an AdmissionReview: "},
		"another version": {
			strings.Replace(good, "io/v1", "io/v1beta1", 1), http.StatusBadRequest,
			`apiVersion: "admission.k8s.io/v1beta1", want "admission.k8s.io/v1"`,
		},
		"no request": {`{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}`, http.StatusBadRequest, "request: missing"},
		"another resource": {
			strings.Replace(good, `"pods"`, `"nodes"`, 1), http.StatusBadRequest,
			`request.resource: "nodes" of group "", want pods of the core group`,
		},
		"no object": {strings.Replace(good, `"object"`, `"old"`, 1), http.StatusBadRequest, "request.object: missing"},
		"a field that is no map": {
			servertest.ReviewOf("CREATE", `{"metadata": {"labels": "g"}}`), http.StatusBadRequest,
			"not an AdmissionReview: request: object: metadata: labels: ",
		},
		"something behind it": {good + "{}", http.StatusBadRequest, "not an AdmissionReview: unexpected data after the object"},
		"a long name": {
			servertest.ReviewOf("CREATE", `{"spec": {"nodeName": "`+strings.Repeat("n", 318)+`"}}`), http.StatusBadRequest,
			"not an AdmissionReview: request: object: spec: nodeName: it has 318 bytes; it may have 317",
		},
		"lists in lists": {
			servertest.ReviewOf("CREATE", strings.Repeat("[", 200)), http.StatusBadRequest,
			"not an AdmissionReview: objects and lists are nested more than 100 levels deep",
		},
		"too much": {
			strings.Repeat(" ", 64<<20+1), http.StatusRequestEntityTooLarge, "the body is larger than 67108864 bytes (which is enough for any call)",
		},
	} {
		t.Run(name, func(t *testing.T) {
			answer := review(t, "/webhook/gates", config.GatesUntilPlace, test.body)
			if got := answer.Body.String(); answer.Code != test.code || !strings.HasPrefix(got, test.want) {
				t.Errorf("answered %d: %s\nwant %d: %s", answer.Code, got, test.code, test.want)
			}
		})
	}
}

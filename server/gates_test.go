package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admission/v1"

	"muster.dev/muster/api/config/v1alpha2"
)

// review posts a review to the webhook of a server that gates members, or not.
func review(t *testing.T, gates v1alpha2.GangGates, body string) *httptest.ResponseRecorder {
	t.Helper()
	p := newProcess(t, func(config *v1alpha2.MusterConfiguration) {
		config.Gangs.Gates, config.Serving.MaxBodyBytes = gates, 1<<12
	})
	p.listensOnPipes() // and neither is it ready nor does it lead
	answer := httptest.NewRecorder()
	p.http.Handler.ServeHTTP(answer, httptest.NewRequest(http.MethodPost, "/webhook/gates", strings.NewReader(body)))
	return answer
}

// reviewOf is what the API server sends about a pod, of which the fields are given in JSON.
func reviewOf(operation, metadata, spec string) string {
	return fmt.Sprintf(`{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
		"uid": "u", "operation": %q, "resource": {"group": "", "version": "v1", "resource": "pods"},
		"object": {"apiVersion": "v1", "kind": "Pod", "metadata": {%s}, "spec": {%s}}}}`, operation, metadata, spec)
}

func TestMembersOfGangsAreGatedWhenTheyAreCreated(t *testing.T) {
	const (
		create    = "CREATE"
		member    = `"labels": {"scheduling.x-k8s.io/pod-group": "g"}`
		ours      = `"schedulerName": "default-scheduler"`
		gate      = `[{"op":"add","path":"/spec/schedulingGates","value":[{"name":"muster.dev/gang"}]}]`
		gateToo   = `[{"op":"add","path":"/spec/schedulingGates/-","value":{"name":"muster.dev/gang"}}]`
		untouched = ""
	)
	for name, test := range map[string]struct {
		gates                     v1alpha2.GangGates
		operation, metadata, spec string
		want                      string
	}{
		"a member":                             {v1alpha2.GatesUntilMembers, create, member, ours, gate},
		"a member, until it has a place":       {v1alpha2.GatesUntilPlace, create, member, ours, gate},
		"by the label of the older API group":  {v1alpha2.GatesUntilPlace, create, `"labels": {"pod-group.scheduling.sigs.k8s.io": "g"}`, ours, gate},
		"by the label for no object":           {v1alpha2.GatesUntilPlace, create, `"labels": {"muster.dev/pod-group": "g"}`, ours, gate},
		"before the scheduler's name is given": {v1alpha2.GatesUntilPlace, create, member, ``, gate},
		"beside the gates of others":           {v1alpha2.GatesUntilPlace, create, member, ours + `, "schedulingGates": [{"name": "later"}]`, gateToo},
		"in the place of an empty list":        {v1alpha2.GatesUntilPlace, create, member, ours + `, "schedulingGates": []`, gate},
		"one that is gated already":            {v1alpha2.GatesUntilPlace, create, member, ours + `, "schedulingGates": [{"name": "muster.dev/gang"}]`, untouched},
		"when gates are not wanted":            {v1alpha2.GatesNever, create, member, ours, untouched},
		"a pod of no gang":                     {v1alpha2.GatesUntilPlace, create, ``, ours, untouched},
		"one whose label is empty":             {v1alpha2.GatesUntilPlace, create, `"labels": {"muster.dev/pod-group": ""}`, ours, untouched},
		"one of another scheduler":             {v1alpha2.GatesUntilPlace, create, member, `"schedulerName": "another"`, untouched},
		"one that has a node":                  {v1alpha2.GatesUntilPlace, create, member, ours + `, "nodeName": "a"`, untouched},
		"one of a group of Kubernetes":         {v1alpha2.GatesUntilPlace, create, member, ours + `, "schedulingGroup": {"podGroupName": "g"}`, untouched},
		"one that changes":                     {v1alpha2.GatesUntilPlace, "UPDATE", member, ours, untouched},
		"one that is deleted, which is empty":  {v1alpha2.GatesUntilPlace, "DELETE", ``, ``, untouched},
	} {
		t.Run(name, func(t *testing.T) {
			answer := review(t, test.gates, reviewOf(test.operation, test.metadata, test.spec))
			var got admissionv1.AdmissionReview
			if err := json.Unmarshal(answer.Body.Bytes(), &got); err != nil || answer.Code != http.StatusOK {
				t.Fatalf("answered %d: %s (%v)", answer.Code, answer.Body, err)
			}
			want := admissionv1.AdmissionReview{Response: &admissionv1.AdmissionResponse{UID: "u", Allowed: true}}
			want.APIVersion, want.Kind = "admission.k8s.io/v1", "AdmissionReview"
			if test.want != untouched {
				want.Response.Patch, want.Response.PatchType = []byte(test.want), new(admissionv1.PatchTypeJSONPatch)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("answer (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatIsNoReviewOfAPodIsABadRequest(t *testing.T) {
	good := reviewOf("CREATE", "", "")
	for name, test := range map[string]struct {
		body string
		code int
		want string
	}{
		"no JSON":                {"{", http.StatusBadRequest, "not an AdmissionReview: unexpected end of JSON input"},
		"another version":        {strings.Replace(good, "io/v1", "io/v1beta1", 1), http.StatusBadRequest, `apiVersion: "admission.k8s.io/v1beta1", want "admission.k8s.io/v1"`},
		"no request":             {`{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}`, http.StatusBadRequest, "request: missing"},
		"another resource":       {strings.Replace(good, `"pods"`, `"nodes"`, 1), http.StatusBadRequest, `request.resource: "nodes" of group "", want pods of the core group`},
		"no object":              {strings.Replace(good, `"object"`, `"old"`, 1), http.StatusBadRequest, "request.object: not a Pod: unexpected end of JSON input"},
		"a field that is no map": {reviewOf("CREATE", `"labels": "g"`, ""), http.StatusBadRequest, "request.object: not a Pod: json: cannot unmarshal"},
		"too much":               {strings.Repeat(" ", 1<<12+1), http.StatusRequestEntityTooLarge, "the body has more than 4096 bytes (serving.maxBodyBytes)"},
	} {
		t.Run(name, func(t *testing.T) {
			answer := review(t, v1alpha2.GatesUntilPlace, test.body)
			if got := answer.Body.String(); answer.Code != test.code || !strings.HasPrefix(got, test.want) {
				t.Errorf("answered %d: %s\nwant %d: %s", answer.Code, got, test.code, test.want)
			}
		})
	}
}

package reschedulerfaults

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"muster.dev/muster/e2e/faultcampaign"
)

func TestCallsAreKnownByTheirPath(t *testing.T) {
	for name, test := range map[string]struct {
		method, path string
		verb         faultcampaign.Verb
		about        string
	}{
		"an eviction":    {http.MethodPost, "/api/v1/namespaces/default/pods/p/eviction", evictionCall, "p"},
		"a binding":      {http.MethodPost, "/api/v1/namespaces/default/pods/p/binding", binding, "p"},
		"a deletion":     {http.MethodDelete, "/api/v1/namespaces/default/pods/p", deletion, "p"},
		"a plan is made": {http.MethodPost, "/apis/rescheduling.muster.dev/v1alpha1/reschedulingplans", planCreated, ""},
		"the status of a plan": {
			http.MethodPut, "/apis/rescheduling.muster.dev/v1alpha1/reschedulingplans/makeroom-x/status", planStatus, "makeroom-x",
		},
		"a lease is renewed": {http.MethodPut, "/apis/coordination.k8s.io/v1/namespaces/default/leases/muster", lease, "muster"},
		"an eviction is written down": {
			http.MethodPut, "/api/v1/namespaces/kube-system/configmaps/" + evictionsName, evictionRecord, evictionsName,
		},
		"a watch is left alone": {http.MethodGet, "/api/v1/pods", "", ""},
		"what is not known":     {http.MethodGet, "/healthz", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if v, about := callOf(httptest.NewRequest(test.method, test.path, nil)); v != test.verb || about != test.about {
				t.Errorf("%q about %q, want %q about %q", v, about, test.verb, test.about)
			}
		})
	}
}

func TestAnEvictionSaysWhichPodItIsAbout(t *testing.T) {
	eviction := &policyv1.Eviction{DeleteOptions: &metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions("the-pod")}}
	for _, mediaType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeProtobuf} {
		info, known := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), mediaType)
		if !known {
			t.Fatalf("no serializer for %s", mediaType)
		}
		body, err := runtime.Encode(scheme.Codecs.EncoderForVersion(info.Serializer, policyv1.SchemeGroupVersion), eviction)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff("the-pod", string(preconditionOf(body))); diff != "" {
			t.Errorf("%s (-want +got):\n%s", mediaType, diff)
		}
	}
	if uid := preconditionOf([]byte(`{"kind":"Eviction","apiVersion":"policy/v1"}`)); uid != "" {
		t.Errorf("%q, want none", uid)
	}
}

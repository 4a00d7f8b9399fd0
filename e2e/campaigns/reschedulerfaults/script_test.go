package reschedulerfaults

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/kubernetes/scheme"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/campaigns/faultcampaign/faulttest"
)

func TestPodsMoveToTheirPlacesOrStayWhateverGoesWrong(t *testing.T) {
	faulttest.FindsNothing(t, Campaign(), 137, 5)
}

func TestAScriptIsAFunctionOfItsSeed(t *testing.T) {
	for seed := range uint64(50) {
		all := cmp.AllowUnexported(script{}, settings{}, budgets{}, rate{}, event{}, replicas{})
		if diff := cmp.Diff(write(seed), write(seed), all, cmpopts.IgnoreFields(event{}, "do")); diff != "" {
			t.Fatalf("seed %d:\n%s", seed, diff)
		}
	}
}

func TestEveryFaultIsDrawn(t *testing.T) {
	drawn, verbs, inPlans := map[faultcampaign.Fault]bool{}, map[faultcampaign.Verb]bool{}, 0
	for seed := range uint64(400) {
		s := write(seed)
		for _, e := range s.events {
			drawn[e.fault] = true
			if e.moment != anyTime {
				inPlans++
			}
		}
		for v, odds := range s.trouble.Odds {
			verbs[v] = true
			for f := range odds {
				drawn[f] = true
			}
		}
	}
	faulttest.AllAreDrawn(t, drawn)
	faulttest.APIFaultsAreDrawn(t, drawn)
	if len(verbs) != 7 || inPlans < 400 {
		t.Errorf("calls of %d verbs are spoiled, and %d events come in the middle of a plan: too few", len(verbs), inPlans)
	}
}

func TestEveryShapeIsDrawn(t *testing.T) {
	policies, modes := sets.New[v1alpha1.Policy](), sets.New[v1alpha1.Mode]()
	kinds, stay, claims := sets.New[kind](), sets.New[guard](), map[bool]bool{}
	for seed := range uint64(200) {
		s := write(seed)
		policies, modes = policies.Union(s.settings.policies), modes.Insert(s.settings.mode)
		if s.settings.gathers() && s.settings.spreads() {
			t.Errorf("seed %d: policies that undo each other's moves are on: %v", seed, sets.List(s.settings.policies))
		}
		for _, w := range s.workloads {
			kinds, stay = kinds.Insert(w.kind), stay.Insert(w.stays)
			if w.claims {
				claims[s.settings.allowClaims] = true
			}
		}
	}
	if !policies.HasAll(v1alpha1.Policies()...) || !modes.HasAll(v1alpha1.Auto, v1alpha1.Approve) || len(claims) < 2 ||
		!kinds.HasAll(replicaSet, statefulSet, deployment, batch) || !stay.HasAll(append(guards(), "", failsByIt)...) {
		t.Errorf("policies %v, modes %v, kinds %v, guards %v, pods with claims that may be moved or not %v: some are missing",
			sets.List(policies), sets.List(modes), sets.List(kinds), sets.List(stay), claims)
	}
}

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

func staying(p *corev1.Pod) { p.Labels[staysLabel] = string(notSafe) }

func withClaim(p *corev1.Pod) {
	p.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
	}}}
}

// alone is a tale in which the only pods that are ready stay.
func alone(others ...func(*corev1.Pod)) *tale {
	t := newTale()
	t.allowSingle = false
	if len(others) > 0 {
		t.pod("other", others...)
	}
	return t
}

// about has the plan be about to evict.
func about(t *tale) *tale { return t.plan(v1alpha1.Executing, v1alpha1.StepEvicting, "") }

// robbed has a stranger be bound to where the pod is to go.
func robbed(t *tale) *tale {
	return t.pod("thief", stranger, large).pod("thief", stranger, large, on("to"))
}

// asking has plans ask for a yes.
func (t *tale) asking(yes string) *tale {
	for _, e := range t.entries {
		if e.plan != nil {
			e.plan.Spec.Mode, e.plan.Annotations = v1alpha1.Approve, map[string]string{v1alpha1.AnnotationApprove: yes}
		}
	}
	return t
}

// givenUp has muster give up the room of the plan.
func (t *tale) givenUp() *tale {
	t.plan(v1alpha1.Executing, v1alpha1.StepEvicted, "")
	t.entries[len(t.entries)-1].plan.Status.Conditions = []metav1.Condition{{
		Type: v1alpha1.ConditionReserved, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonReplacementDiffers,
	}}
	return t
}

func (t *tale) allowingClaims() *tale {
	t.allowClaims = true
	return t
}

func TestWhoMustStayIsFound(t *testing.T) {
	const message = "why"
	failed := func() *tale { return moving().pod("new").plan(v1alpha1.Failed, "", message) }
	for name, test := range map[string]struct {
		tale *tale
		want string // kinds, "" for nothing
	}{
		"one that must stay":                        {newTale().pod("old", on("from"), ready, staying).moves(), protected},
		"one with a claim":                          {newTale().pod("old", on("from"), ready, withClaim).moves(), protected},
		"one with a claim, which may":               {tale: newTale().pod("old", on("from"), ready, withClaim).allowingClaims().moves()},
		"the only one":                              {alone().moves(), protected},
		"the only one, which has just become ready": {tale: about(alone()).pod("old", on("from")).pod("old", on("from"), ready).evict("old", 0)},
		"the only one that is ready":                {alone(on("to")).pass(time.Minute).moves(), protected},
		"one of two that are ready":                 {tale: alone(on("to"), ready).moves()},
		"another one has been ready until lately":   {tale: about(alone(on("to"), ready)).pod("other", on("to")).evict("old", 0)},
		"nobody has approved":                       {moving().asking(""), unapproved},
		"somebody has approved":                     {tale: moving().asking("true")},

		"a stranger takes room that was given up for a pod that differs": {
			tale: moving().pod("new", large).pod("thief", stranger, large).pod("thief", stranger, large, on("to")).givenUp(),
		},
		"a stranger takes room long before it was given up": {
			moving().pod("thief", stranger, large).pod("thief", stranger, large, on("to")).pass(time.Minute).pod("new", large).givenUp(), stolen,
		},

		"nothing has replaced it":                          {failed(), unreplaced},
		"it has been replaced elsewhere":                   {tale: failed().pod("new", on("from"), ready)},
		"what replaced it was evicted by others":           {tale: failed().pod("new", on("from"), ready).gone("new").pod("newer")},
		"its plan has not ended":                           {tale: moving().pod("new")},
		"what replaces it asks for more":                   {tale: moving().pod("new", large).plan(v1alpha1.Failed, "", message)},
		"others took the room when the plan had failed":    {tale: robbed(failed().pass(slack))},
		"others took the room when the plan had succeeded": {robbed(moving().pod("new").plan(v1alpha1.Succeeded, "", message)), unreplaced},
	} {
		t.Run(name, func(t *testing.T) { test.tale.expect(t, test.want) })
	}
}

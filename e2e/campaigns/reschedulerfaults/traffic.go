package reschedulerfaults

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/relay"
)

// silence is how long a call to the API server has no answer at most.
const silence = 4 * time.Second

// eviction is one that a rescheduler asked the API server for, and that came there.
type eviction struct {
	replica         int // of the rescheduler
	pod             string
	uid             types.UID
	asked, answered time.Time
	granted         bool
}

// traffic carries the calls of muster and reschedulers to the API server during a run. It makes the
// trouble of a script until that is over. Its methods are safe for concurrent use.
type traffic struct {
	*faultcampaign.Calls

	mu        sync.Mutex
	evictions []eviction
	deletions []string // of pods, which no rescheduler is to ask for
}

func newTraffic(calm context.Context, s *script) *traffic {
	return &traffic{Calls: faultcampaign.NewCalls(calm, s.trouble)}
}

// history are all evictions so far, and the pods that were deleted otherwise.
func (t *traffic) history() (evictions []eviction, deletions []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.evictions), slices.Clone(t.deletions)
}

// toAPI decides about a call to the API server, of a replica of the rescheduler, or of muster
// if that is negative.
func (t *traffic) toAPI(replica int, w http.ResponseWriter, r *http.Request, pass http.Handler) {
	v, about := callOf(r)
	if v == "" {
		pass.ServeHTTP(w, r)
		return
	}
	if v == deletion && replica >= 0 { // muster deletes pods that a gang preempts
		t.mu.Lock()
		t.deletions = append(t.deletions, about)
		t.mu.Unlock()
	}
	if v == evictionCall {
		pass = t.recorded(replica, about, pass)
	}
	t.Answer(t.Next(v, about).Fault, silence, w, r, pass)
}

// recorded passes evictions on and takes them down.
func (t *traffic) recorded(replica int, pod string, pass http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := relay.Body(r)
		if err != nil {
			relay.Cut()
		}
		e := eviction{replica: replica, pod: pod, uid: preconditionOf(body), asked: time.Now()}
		status := &statusWriter{ResponseWriter: w}
		defer func() {
			e.answered, e.granted = time.Now(), status.code/100 == 2
			t.mu.Lock()
			t.evictions = append(t.evictions, e)
			t.mu.Unlock()
		}()
		pass.ServeHTTP(status, r)
	})
}

// preconditionOf is the UID of the pod that an eviction is about, "" if it does not say.
func preconditionOf(body []byte) types.UID {
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, nil, nil)
	if err != nil {
		return ""
	}
	asked, is := object.(*policyv1.Eviction)
	if !is || asked.DeleteOptions == nil || asked.DeleteOptions.Preconditions == nil || asked.DeleteOptions.Preconditions.UID == nil {
		return ""
	}
	return *asked.DeleteOptions.Preconditions.UID
}

// statusWriter remembers the status that is answered.
type statusWriter struct {
	http.ResponseWriter
	code int
}

func (w *statusWriter) WriteHeader(code int) {
	w.code = code
	w.ResponseWriter.WriteHeader(code)
}

// deletion is a call that nothing happens to.
const deletion faultcampaign.Verb = "deletion of a pod"

// callOf says what a request is, and what it is about; "" if it is of no interest.
func callOf(r *http.Request) (v faultcampaign.Verb, about string) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	for i, part := range parts {
		if part != "pods" && part != "reschedulingplans" && part != "leases" && part != "configmaps" {
			continue
		}
		rest := parts[i+1:]
		if len(rest) > 0 {
			about, rest = rest[0], rest[1:]
		}
		key := strings.Join(append([]string{r.Method, part}, rest...), " ")
		return map[string]faultcampaign.Verb{
			"POST pods eviction": evictionCall, "DELETE pods": deletion, "POST pods binding": binding, "PATCH pods status": nomination,
			"POST reschedulingplans": planCreated, "PUT reschedulingplans status": planStatus, "PUT leases": lease,
			"POST configmaps": evictionRecord, "PUT configmaps": evictionRecord,
		}[key], about
	}
	return "", ""
}

// Calls to the API server that something may happen to: the last one is muster's alone, and the first three are the
// rescheduler's alone.
const (
	evictionCall   faultcampaign.Verb = "eviction"
	evictionRecord faultcampaign.Verb = "record of evictions"
	planCreated    faultcampaign.Verb = "creation of a plan"
	planStatus     faultcampaign.Verb = "status of a plan"
	lease          faultcampaign.Verb = "lease"
	nomination     faultcampaign.Verb = "nomination"
	binding        faultcampaign.Verb = "binding"
)

// addCallFaults puts in the faults of calls.
func (w *writer) addCallFaults(to *faultcampaign.Urn) {
	verbs := []faultcampaign.Verb{
		evictionCall, evictionCall, evictionCall, evictionRecord, evictionRecord,
		planStatus, planStatus, planStatus, planCreated, lease, nomination, binding,
	}
	w.trouble.AddAPIFaults(to, w.rand, verbs, 0.7)
	// An answer of 500 does not tell whether the pod goes: in some runs it does, and in some it does not.
	for _, f := range []faultcampaign.Fault{faultcampaign.APIDone, faultcampaign.APIError} {
		to.Add(8, func() { w.trouble.Add(evictionCall, f, 0.4+0.4*w.rand.Float64()) })
	}
}

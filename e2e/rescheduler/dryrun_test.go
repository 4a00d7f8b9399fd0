package rescheduler

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/rest"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/relay"
)

// writes are the kinds of writes that an API server was asked for, as in "PUT reschedulingplans/status".
type writes struct {
	mu  sync.Mutex
	all []string
}

func (w *writes) decide(answer http.ResponseWriter, r *http.Request, pass http.Handler) {
	if r.Method != http.MethodGet {
		w.mu.Lock()
		if kind := r.Method + " " + resourceOf(r.URL.Path); !slices.Contains(w.all, kind) {
			w.all = append(w.all, kind)
			slices.Sort(w.all)
		}
		w.mu.Unlock()
	}
	pass.ServeHTTP(answer, r)
}

func (w *writes) have(kind string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Contains(w.all, kind)
}

// resourceOf is the resource of a path, with its subresource.
func resourceOf(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/") // api/v1/… or apis/group/version/…
	parts = parts[min(len(parts), map[bool]int{true: 2, false: 3}[parts[0] == "api"]):]
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	if len(parts) > 2 {
		return parts[0] + "/" + parts[2]
	}
	return strings.Join(parts[:min(len(parts), 1)], "")
}

// recorded has reschedulers that are started from now on reach the API server through a relay that takes down what they write.
func (l *cluster) recorded() *writes {
	l.Helper()
	transport, err := rest.TransportFor(l.RESTConfig())
	l.Must(err)
	api, err := url.Parse(l.RESTConfig().Host)
	l.Must(err)
	w := &writes{}
	between, err := relay.New(transport, func() *url.URL { return api }, w.decide)
	l.Must(err)
	l.Cleanup(between.Close)
	l.options.Kubeconfig = filepath.Join(l.Dir(), "recorded.kubeconfig")
	l.Must(between.WriteKubeconfig(l.options.Kubeconfig))
	return w
}

// shows says whether a page of the rescheduler has a text.
func (l *cluster) shows(page, text string) error {
	says, err := l.rescheduler.Page(l.Context(), page)
	if err == nil && !strings.Contains(says, text) {
		err = fmt.Errorf("%s does not have %s", page, text)
	}
	return err
}

// everything turns on all that writes in another mode.
func everything() map[string]any {
	return map[string]any{
		"scaleUp":   map[string]any{"provisioningRequest": map[string]any{"className": scaleUpClass}},
		"scaleDown": map[string]any{"annotate": true},
		"coalesce":  map[string]any{"mark": "Cordon"},
		"repair":    map[string]any{"checks": config.UsualRepairs()},
	}
}

func TestADryRunWritesPlansAndNothingElse(t *testing.T) {
	l := newCluster(t, v1alpha1.DryRun, muster.Options{})
	l.defineProvisioningRequests()
	l.configure(everything())
	l.takeRequests()
	before := l.small()
	written := l.recorded()
	l.createPod("big", "4")  // fits once small has moved
	l.createPod("huge", "8") // fits nowhere
	l.reschedule()
	plan := l.awaitPlan(v1alpha1.Pending, "is never carried out: its mode is DryRun")
	if step := plan.Spec.Steps[0]; len(plan.Spec.Steps) != 1 || step.Pod.UID != before.UID || step.From != "n1" || step.To != "n2" {
		t.Errorf("the plan is %+v", plan.Spec)
	}
	l.Eventually("it has counted huge among the pods that need nodes", func() error {
		return l.shows("/metrics", `muster_rescheduling_pods_needing_nodes{reason="NoNodeFits"} 1`)
	})
	l.Must(l.separate(before.Name, "", "", http.StatusForbidden, `{"errors":[{"error":"rescheduler.mode is DryRun, in which nothing is `+
		`written on pods: annotate the pod with rescheduling.muster.dev/separate-from=n1 yourself, and a plan will show what would be done"}]}`))
	l.neverBound("big", "huge")
	if small := l.small(); small == nil || small.UID != before.UID {
		t.Fatalf("the pod was evicted in a dry run: %v", small)
	}
	l.rescheduler.Stop() // and gives its Lease back
	want := []string{"POST leases", "POST reschedulingplans", "PUT leases", "PUT reschedulingplans/status"}
	if diff := cmp.Diff(want, written.all); diff != "" {
		t.Errorf("what a dry run writes (-want +got):\n%s", diff)
	}
}

// The same cluster in another mode: so the test above would see what a dry run wrote.
func TestAnotherModeWritesWhatADryRunDoesNot(t *testing.T) {
	lab.Long(t)
	l := newCluster(t, v1alpha1.Approve, muster.Options{})
	l.defineProvisioningRequests()
	l.configure(everything())
	written := l.recorded()
	l.createPod("big", "4")
	l.createPod("huge", "8")
	l.reschedule()
	for _, kind := range []string{"PATCH pods/status", "PATCH nodes", "POST events", "POST provisioningrequests", "POST podtemplates"} {
		l.EventuallyTrue(kind, func() bool { return written.have(kind) })
	}
}

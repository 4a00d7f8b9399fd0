package gangfaults

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/faultcampaign"
	"muster.dev/muster/e2e/history"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/relay"
	"muster.dev/muster/e2e/workload"
)

const (
	// bindTimeout is how long the scheduler waits for a bind call, gangTimeout how long a gang
	// without a PodGroup may take from its plan to quorum.
	bindTimeout, gangTimeout = 8 * time.Second, 4 * time.Second
	// deniedTTL is for how long a denied gang is refused: less than by default, so that runs are
	// short.
	deniedTTL = time.Second
)

// lane is one with relays between the scheduler, muster and the API server.
type lane struct {
	*faultcampaign.Lane

	traffic atomic.Pointer[traffic]
	options muster.Options
	policy  string // for gates
}

// open starts everything.
func open(ctx context.Context, dir, binary string, progress io.Writer) (_ faultcampaign.Performer, err error) {
	l := &lane{}
	l.Lane, err = faultcampaign.OpenLane(
		ctx, controlplane.Options{Dir: dir, Controllers: controlplane.PodCreation(), Progress: progress},
		map[string]int32{raised: 1000, urgent: 100_000},
	)
	defer func() {
		if err != nil {
			l.Close()
		}
	}()
	if err != nil {
		return nil, err
	}
	kubeconfig, err := l.RelayToAPI("relay", l.decide((*traffic).toAPI))
	if err != nil {
		return nil, err
	}
	l.options = muster.Options{ControlPlane: l.ControlPlane, Binary: binary, Kubeconfig: kubeconfig}
	if err := l.keepGates(ctx, "Never"); err != nil {
		return nil, err
	}
	return l, l.StartScheduler(ctx, l.decide((*traffic).toMuster))
}

// decide makes the trouble of the run that there is.
func (l *lane) decide(in func(*traffic, http.ResponseWriter, *http.Request, http.Handler)) relay.Decide {
	return func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		if t := l.traffic.Load(); t != nil {
			in(t, w, r, pass)
			return
		}
		pass.ServeHTTP(w, r)
	}
}

// keepGates runs a muster that keeps gates in a way, a value of gangs.gates.
func (l *lane) keepGates(ctx context.Context, policy string) error {
	if l.policy == policy {
		return nil
	}
	if l.Muster != nil {
		l.Muster.Stop()
	}
	o := l.options
	if policy != "Never" {
		o.Gates, o.GatedBy = policy, muster.Webhook // which is away when muster is
	}
	o.Config = map[string]any{
		"timeouts": map[string]any{"bind": bindTimeout.String()},
		"gangs": map[string]any{
			"scheduleTimeout": gangTimeout.String(),
			"deniedTTL":       deniedTTL.String(),
			"gates":           policy,
			"gatedBy":         muster.Webhook,
		},
	}
	if err := l.StartMuster(ctx, o); err != nil {
		return err
	}
	l.policy = policy
	return nil
}

// findings are what the scheduler and muster have logged since this was last asked that they must
// not.
func (l *lane) findings() (findings []finding, err error) {
	complaints, panics, err := l.Words()
	for _, line := range complaints {
		findings = append(findings, finding{complained, line})
	}
	for _, line := range panics {
		findings = append(findings, finding{panicked, line})
	}
	return findings, err
}

// sources are what a record follows.
func (l *lane) sources(ctx context.Context) ([]history.Source, error) {
	sources, err := history.Core(ctx, l.Client)
	if err != nil {
		return nil, err
	}
	for _, resource := range v1alpha1.Resources() {
		source, err := history.Custom(ctx, l.Dynamic, resource)
		if err != nil {
			return nil, err
		}
		sources = append(sources, source)
	}
	events := l.Client.CoreV1().Events(workload.Namespace)
	list, err := events.List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return nil, fmt.Errorf("list events: %w", err)
	}
	return append(
		sources,
		history.Source{Version: list.ResourceVersion, Watch: func(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
			return events.Watch(ctx, o)
		}},
	), nil
}

// page is what muster says of gangs.
func (l *lane) page(ctx context.Context) string {
	text, err := l.Muster.Page(ctx, "/debug/gangs")
	if err != nil {
		return err.Error()
	}
	return text
}

// clear deletes everything of a run and returns when it is gone.
func (l *lane) clear(ctx context.Context, r *record) error {
	var groups []func(context.Context, metav1.DeleteOptions, metav1.ListOptions) error
	for _, resource := range v1alpha1.Resources() {
		groups = append(groups, l.Dynamic.Resource(resource).Namespace(workload.Namespace).DeleteCollection)
	}
	return l.Clear(ctx, r.empty, groups...)
}

// Close ends everything.
func (l *lane) Close() {
	if l.Muster != nil {
		l.ControlPlane.StopScheduler()
		l.Muster.Stop()
	}
	l.Lane.Close()
}

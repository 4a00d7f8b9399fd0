package gangfaults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/binaries"
	"muster.dev/muster/e2e/campaigns/faultcampaign"
	"muster.dev/muster/e2e/controlplane"
	"muster.dev/muster/e2e/devices"
	"muster.dev/muster/e2e/history"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/relay"
	"muster.dev/muster/e2e/workload"
)

const (
	// bindTimeout is how long the scheduler waits for a bind call, gangTimeout how long a gang
	// without a PodGroup may take from its plan to quorum.
	bindTimeout, gangTimeout = 8 * time.Second, 4 * time.Second
	// deniedTTL is for how long a denied gang is refused.
	deniedTTL = 3 * time.Second
	// The election, quicker than by default, and so that a busy machine renews in time.
	leaseDuration = 10 * time.Second
)

// lane is one with relays between the scheduler, muster and the API server.
type lane struct {
	*faultcampaign.Lane

	write   func(seed uint64) *script
	tally   *tally // nil for none
	left    *claimsLeft
	books   *books
	traffic atomic.Pointer[traffic]
	program faultcampaign.Program
	setup   setup
	seats   [2]*seat

	overtaking sync.Mutex // one muster overtakes another at a time
	seat       int        // of the muster that there is
}

// seat is where a muster runs: with a way of its own to the API server, so that one can overtake the other.
type seat struct {
	name       string
	kubeconfig string
	unleased   atomic.Bool // what runs here does not get at its lease
}

// open starts everything for the scripts that are written.
func (l *lane) open(ctx context.Context, dir string, progress io.Writer) (_ faultcampaign.Performer, err error) {
	to := l.write(0).setup
	options := controlplane.Options{Dir: dir, Controllers: controllers(to), Progress: progress}
	if to.native {
		release, err := binaries.Chosen()
		if err != nil {
			return nil, err
		}
		if release == binaries.Release136 {
			return nil, errors.New("KIND=native needs groups of groups, which Kubernetes 1.36 has not")
		}
		options.APIServerFlags = controlplane.NativeGangsOf(release).WithTrees().APIServerFlags()
	}
	l.Lane, err = faultcampaign.OpenLane(
		ctx, options,
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
	if err := errors.Join(l.createClaim(ctx), devices.Define(ctx, l.Client, mostClaimed)); err != nil {
		return nil, err
	}
	for i := range l.seats {
		s := &seat{name: fmt.Sprintf("muster-%d", i)}
		if s.kubeconfig, err = l.RelayToAPI(s.name, l.fromSeat(s)); err != nil {
			return nil, err
		}
		l.seats[i] = s
	}
	return l, l.configure(ctx, to)
}

// controllers returns the controllers of kube-controller-manager that a run needs, if any.
func controllers(to setup) []string {
	if to.devices {
		return []string{"resourceclaim-controller", "garbage-collector-controller"}
	}
	return nil
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

// fromSeat decides about calls of the muster at a seat to the API server.
func (l *lane) fromSeat(s *seat) relay.Decide {
	calls := l.decide((*traffic).toAPI)
	return func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		switch kind := watched(r); {
		case kind != "":
			pass.ServeHTTP(&faultcampaign.Stream{ResponseWriter: w, Before: func() {
				if t := l.traffic.Load(); t != nil {
					t.shown(r.Context(), kind) // stands still while its kind is held back
				}
			}}, r)
		case s.unleased.Load() && strings.Contains(r.URL.Path, "/leases/"):
			_, _ = relay.Body(r) // else it is not noticed when the caller leaves
			relay.Cut()
		default:
			calls(w, r, pass)
		}
	}
}

// options returns how the muster at a seat is started.
func (l *lane) options(s *seat) muster.Options {
	o := muster.Options{
		ControlPlane: l.ControlPlane, Name: s.name, Binary: l.program.Path, Kubeconfig: s.kubeconfig, ClockSkew: l.skewAt(s),
		Config: map[string]any{
			"timeouts": map[string]any{"bind": bindTimeout.String()},
			"gangs": map[string]any{
				"scheduleTimeout": gangTimeout.String(),
			},
			"leaderElection": map[string]any{
				"leaderElect": l.setup.elects, "leaseDuration": leaseDuration.String(),
			},
		},
	}
	if l.setup.booking {
		o.Config["gangs"].(map[string]any)["reserveAfter"] = reserveAfter.String()
	}
	if o.Gates = l.setup.gates; o.Gates != "" {
		o.GatedBy = l.gatekeeper()
	}
	if o.Gates == muster.UntilPlace {
		o.Selection = muster.Muster
	}
	return o
}

// skewAt is by how much the clock at a seat is ahead: those at the two are wrong in opposite directions.
func (l *lane) skewAt(s *seat) time.Duration {
	if s == l.seats[1] {
		return -l.setup.skew
	}
	return l.setup.skew
}

// gatekeeper is who gates members.
func (l *lane) gatekeeper() muster.Gatekeeper {
	if l.setup.plain > 0 {
		return muster.Policy
	}
	return muster.Webhook
}

// configure runs a muster as it is to be for a run, and the schedulers.
func (l *lane) configure(ctx context.Context, to setup) error {
	if l.Muster != nil && l.setup == to && l.Muster.ClockSkew() == l.skewAt(l.seats[l.seat]) {
		return nil
	}
	if l.Muster != nil {
		l.Muster.Stop()
	}
	l.setup = to
	if err := l.StartMuster(ctx, l.options(l.seats[l.seat])); err != nil {
		return err
	}
	if to.plain > 0 {
		return l.StartPlainSchedulers(ctx, to.plain)
	}
	return l.StartScheduler(ctx, l.decide((*traffic).toMuster))
}

// overtake has another muster take over, and the old leader act after that: it was frozen, or did not get at its
// lease.
func (l *lane) overtake(ctx context.Context, frozen bool, alone time.Duration) error {
	l.overtaking.Lock()
	defer l.overtaking.Unlock()
	old, next := l.seats[l.seat], l.seats[1-l.seat]
	silence, end := (*muster.Server).Pause, (*muster.Server).Resume
	if !frozen {
		silence = func(*muster.Server) error { old.unleased.Store(true); return nil }
		end = func(*muster.Server) error { old.unleased.Store(false); return nil }
	}
	defer old.unleased.Store(false)
	if err := l.OvertakeMuster(ctx, l.options(next), silence, end, alone); err != nil {
		return err
	}
	l.seat = 1 - l.seat
	return nil
}

// findings are what the scheduler and muster have logged since this was last asked that they must
// not.
func (l *lane) findings() ([]finding, error) {
	var others []string
	for _, s := range l.seats {
		if log := filepath.Join(l.ControlPlane.Dir(), s.name+".log"); muster.LogSize(log) > 0 {
			others = append(others, log)
		}
	}
	return l.Logged(others...)
}

// sources are what a record follows.
func (l *lane) sources(ctx context.Context) ([]history.Source, error) {
	sources, err := history.Core(ctx, l.Client)
	if err != nil {
		return nil, err
	}
	for _, resource := range l.groupResources() {
		source, err := history.Custom(ctx, l.Dynamic, resource)
		if err != nil {
			return nil, err
		}
		sources = append(sources, source)
	}
	if l.setup.devices {
		claims, err := faultcampaign.Followed(ctx, l.Client.ResourceV1().ResourceClaims(workload.Namespace))
		if err != nil {
			return nil, err
		}
		sources = append(sources, claims)
	}
	events, err := faultcampaign.Followed(ctx, l.Client.CoreV1().Events(workload.Namespace))
	return append(sources, events), err
}

// groupResources are the resources of groups that a run may have.
func (l *lane) groupResources() []schema.GroupVersionResource {
	if l.setup.native {
		return append(v1alpha1.Resources(), resources()...)
	}
	return v1alpha1.Resources()
}

// page returns muster's page about gangs.
func (l *lane) page(ctx context.Context) string {
	text, err := l.Muster.Page(ctx, "/debug/gangs")
	if err != nil {
		return err.Error()
	}
	return text
}

// clear deletes everything of a run and returns when it is gone.
func (l *lane) clear(ctx context.Context, gone func() bool) error {
	var groups []func(context.Context, metav1.DeleteOptions, metav1.ListOptions) error
	for _, resource := range l.groupResources() {
		groups = append(groups, l.Dynamic.Resource(resource).Namespace(workload.Namespace).DeleteCollection)
	}
	if l.setup.devices {
		groups = append(groups, l.clearClaims, l.Client.ResourceV1().ResourceSlices().DeleteCollection)
	}
	return l.Clear(ctx, gone, groups...)
}

// Close ends everything.
func (l *lane) Close() {
	if l.Muster != nil {
		l.ControlPlane.StopScheduler()
		l.Muster.Stop()
	}
	l.Lane.Close()
}

// What scripts do to PodGroups.

func (r *run) podGroups(like *unstructured.Unstructured) dynamic.ResourceInterface {
	of := v1alpha1.ResourceOf(like.GroupVersionKind().Group)
	for i, resource := range resources() {
		if like.GroupVersionKind().Group == resource.Group && isTree(like) == (i == 1) {
			of = resource
		}
	}
	return r.lane.Dynamic.Resource(of).Namespace(workload.Namespace)
}

// createGroup returns what has a group come.
func createGroup(object *unstructured.Unstructured) func(context.Context, *run) error {
	return func(ctx context.Context, r *run) error { return r.createPodGroup(ctx, object) }
}

func (r *run) createPodGroup(ctx context.Context, group *unstructured.Unstructured) error {
	_, err := r.podGroups(group).Create(ctx, group, metav1.CreateOptions{})
	return faultcampaign.UnlessDone(err, "create PodGroup", group.GetName())
}

func (r *run) deletePodGroup(ctx context.Context, group *unstructured.Unstructured) error {
	err := r.podGroups(group).Delete(ctx, group.GetName(), metav1.DeleteOptions{})
	return faultcampaign.UnlessDone(err, "delete PodGroup", group.GetName())
}

func (r *run) editMinMember(ctx context.Context, group *unstructured.Unstructured, to int) error {
	patch := fmt.Appendf(nil, `{"spec": {"minMember": %d}}`, to)
	if labelOf(group) == native {
		patch = fmt.Appendf(nil, `{"spec": {"schedulingPolicy": {"gang": {"minCount": %d}}}}`, to)
	}
	_, err := r.podGroups(group).Patch(ctx, group.GetName(), types.MergePatchType, patch, metav1.PatchOptions{})
	return faultcampaign.UnlessDone(err, "edit PodGroup", group.GetName())
}

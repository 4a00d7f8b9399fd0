// Package console shows a muster that runs: pages under /debug/, the page that draws them, and its health.
//
// The pages answer people in text and programs in JSON.
//
// Pages read. They ask what they were made with, and change nothing: neither the view of the cluster nor
// what is remembered of pods. What they tell has no secrets of the objects that it is about.
package console

import (
	"net/http"

	"k8s.io/apimachinery/pkg/types"

	"muster.dev/muster/api/rescheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/inspect"
	"muster.dev/muster/loadaware/usage"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/reservation"
	"muster.dev/muster/server/app"
	"muster.dev/muster/server/backfill"
	"muster.dev/muster/server/body"
	"muster.dev/muster/server/explanation"
	"muster.dev/muster/server/history"
	"muster.dev/muster/server/page"
)

// Gangs tells of groups of pods that start together, as a [gang.Observer] does.
type Gangs interface {
	explanation.Members
	// Report is on all gangs, in the order in which they are planned.
	Report() []core.Summary
}

// Forecasts says when gangs start, and for whom room is booked, as a [backfill.Booker] does.
type Forecasts interface {
	When(name types.NamespacedName) (*backfill.Forecasts, bool)
	// Room is the room that is booked, nil for none.
	Room() *backfill.RoomBooked
}

// Nominations tells of pods that are placed before kube-scheduler asks, as a [nomination.Nominator] does.
type Nominations interface {
	explanation.Nominations
	// Report is on all of them.
	Report() nomination.Report
}

// Reservations tells of plans of the rescheduler, as a [reservation.Keeper] does.
type Reservations interface {
	// Plans are all there are, the oldest first.
	Plans() []*v1alpha1.ReschedulingPlan
	// Report is on the room that they keep.
	Report() []reservation.About
}

// Configuration tells of the configuration in force, as an [app.Reloader] does.
type Configuration interface {
	// Show is the configuration in force, and what of its file is refused.
	Show() app.Configz
	// File is the path of its file.
	File() string
}

// Readiness tells whether calls can be answered, as an [app.Readiness] does.
type Readiness interface {
	// Synced reports whether the view of the cluster is complete.
	Synced() bool
	// Serving is why calls cannot be answered, and Ready why no new ones should be sent here.
	Serving() error
	Ready() error
}

// Options of a Console. Options are required unless they say otherwise.
type Options struct {
	Process  *inspect.Process
	Cluster  *cluster.Cluster
	Profiles *predicates.Profiles
	// Gangs and Forecasts are nil if they are not known. Nominations and Reservations are nil where there is no API server.
	Gangs         Gangs
	Forecasts     Forecasts
	Nominations   Nominations
	Reservations  Reservations
	Usage         *usage.Feed
	Configuration Configuration
	Readiness     Readiness
	// Snapshot are the files of dumps that stand in for an API server, none where there is one.
	Snapshot []string
	// Elected reports whether this process leads by an election.
	Elected func() bool
	// History is of the last hour.
	History *history.Keeper
	// Ports are those at which the process listens.
	Ports func() []*app.Port
	// Bodies read the pods that are posted.
	Bodies *body.Readers
}

// Console shows a process. It is safe for concurrent use.
type Console struct {
	options   Options
	explainer *explanation.Explainer
}

// New returns a Console of what there is to show.
func New(o Options) *Console {
	if o.Gangs != nil && len(o.Snapshot) > 0 {
		o.Gangs = dumpedGangs{o.Gangs}
	}
	x := &explanation.Explainer{Cluster: o.Cluster, Profiles: o.Profiles, Serving: o.Readiness.Serving}
	if o.Gangs != nil {
		x.Members = o.Gangs
	}
	if o.Nominations != nil {
		x.Nominations = o.Nominations
	}
	return &Console{options: o, explainer: x}
}

// FieldDebug is the field that asks for the address of the pages.
const FieldDebug = "debug.listen"

// Endpoints are what there is to look at.
func (s *Console) Endpoints() []inspect.Endpoint {
	explain := inspect.Page("/debug/explain", "the same for a pod that is posted as YAML", s.debugExplain)
	explain.Method, explain.Handler = http.MethodPost, s.options.Bodies.Timely(explain.Handler)
	pages := append(page.Endpoints(), s.options.Process.Endpoints("/readyz", "/metrics", "/configz", "/version", "/debug/")...)
	return append(pages,
		inspect.Get("/configz", "the configuration in force, and what of its file is refused", http.HandlerFunc(s.configz)),
		inspect.Page("/debug/status", "how muster fares, in short: what 'muster status' asks for", s.debugStatus),
		inspect.Page("/debug/history", "the last hour, minute by minute: what waited, and what was bound, asked and failed", s.debugHistory),
		inspect.Page("/debug/listeners", "where the process listens, for whom, and what is served there", s.debugListeners),
		inspect.Page("/debug/pending", "pods that have no node", s.debugPending),
		inspect.Page("/debug/nodes", "every node: what it offers, what is requested, what is used", s.debugNodes),
		inspect.Page("/debug/nodes/{node}", "one node: its taints, and what each pod that counts there requests", s.debugNode),
		inspect.Page("/debug/topology", "?levels=KEY,KEY: racks and the like by labels of nodes, or by the levels that gangs and Topologies name",
			s.debugTopology),
		inspect.Page("/debug/explain", "?pod=namespace/name: what the profile says of the pod on every node", s.debugExplain),
		explain,
		inspect.Page("/debug/equivalence", "equivalence classes whose verdicts are remembered", s.debugEquivalence),
		inspect.Page("/debug/equivalence/{class}", "what is remembered of one class on each node that was asked about", s.debugClass),
		inspect.Page("/debug/equivalence/{class}/nodes/{node}", "what each predicate is remembered to say of it on one node", s.debugClassNode),
		inspect.Page("/debug/placement", "pods that are placed before kube-scheduler asks, and what became of others", s.debugPlacement),
		inspect.Page("/debug/gangs", "groups of pods that start together, and why they wait", s.debugGangs),
		inspect.Page("/debug/gangs/{namespace}/{name}", "the members of one group and their places", s.debugGang),
		inspect.Page("/debug/when/{namespace}/{name}", "when a group starts, by when pods that run are expected to end", s.debugWhen),
		inspect.Page("/debug/plans", "ReschedulingPlans: which pods move, and how far that is", s.debugPlans),
		inspect.Page("/debug/reservations", "room that plans of the rescheduler keep, and for whom", s.debugReservations),
		inspect.Page("/debug/load", "how busy nodes are by LoadAware; ?pod=namespace/name for a pod", s.debugLoad),
		inspect.Page("/debug/load/{node}", "the whole sum of one node: what was measured, and what each pod adds", s.debugLoadNode),
		inspect.Page("/debug/predicates", "what each predicate and score reads: the invalidation matrix", s.debugPredicates),
	)
}

func (s *Console) configz(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, s.options.Configuration.Show())
}

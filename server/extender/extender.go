// Package extender answers the verbs of a stock kube-scheduler from the view of the cluster: filter,
// prioritize, preempt and bind.
//
// A call is answered on one snapshot. Its body is bounded and read, the verb judges, and the answer is
// written at once. Nothing on that path waits for the API server but bind.
//
// A caller posts the name of a pod and a question. Everything that outlives the answer is decided by the state
// in which the watch shows the pod of that UID. A pod that the watch does not show is a stranger: it is judged
// alone, and nothing is kept of it.
//
// A call is a request, which is read once; answers, which steps return; and memory, which the next call uses again.
// Metrics, traces and the log are made of the request and of the report that the verb returns.
//
// Several claim a pod before it is placed for itself, and are asked in this order: a binding that may
// still be made, its gang, a reservation of the rescheduler, and its nomination. The first that decides
// answers, and one that does not may advise the next. Who is absent is not in the list.
//
// bind believes nobody. It binds a pod that waits, of a profile, on a node that filter has offered for it
// and that it still fits. The pod is judged and counted there in one step, so no two calls take the same
// room.
package extender

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/config"
	"muster.dev/muster/cluster"
	"muster.dev/muster/inspect"
	"muster.dev/muster/placement/runtimes"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/reservation"
	"muster.dev/muster/server/body"
	"muster.dev/muster/server/canary"
)

// Options of an Extender. Options that do not say otherwise are required.
type Options struct {
	Logger     *slog.Logger
	Registerer prometheus.Registerer
	Cluster    *cluster.Cluster
	// Profiles are the profiles in force.
	Profiles *predicates.Profiles
	// Client binds pods. It is nil where there is no API server: then no pod is bound.
	Client kubernetes.Interface
	// BindTime is how long the API server may take to bind a pod.
	BindTime time.Duration
	// Gangs and Nominations claim pods before they are placed for themselves. Each may be nil: then nobody does.
	Gangs       Gangs
	Nominations Nominations
	// Reservations claim pods as well. With nil there is no plan.
	Reservations Reservations
	// Refusals is told of pods that fit no node. It may be nil.
	Refusals Refusals
	// Bodies read the bodies of calls.
	Bodies *body.Readers
	// Traces takes a trace of each attempt to schedule a pod; nil takes none.
	Traces trace.TracerProvider
	// Clock tells for how long pods have run; nil is the clock of this process.
	Clock clock.PassiveClock
	// Ready is why calls cannot be answered, nil when they can. It is asked before and after each call.
	Ready func() error
	// Await is Ready, but has a call wait where it is about to be nil. It may be nil: no call waits.
	Await func(context.Context) error
	// Pick breaks ties: it returns a number from 0 to n-1. With nil it is a random one.
	Pick func(n int) int
}

// Refusals look again at pods that filter has refused, as a [muster.dev/muster/placement/requeue.Requeuer] does.
type Refusals interface {
	// Refused says that a pod fitted none of the nodes that kube-scheduler asked about, as the cluster was at a
	// generation or later. The watch may not show it yet, and there may be no such pod.
	Refused(uid types.UID, generation uint64)
	// Postponed says that a pod may evict nobody on a node, as the cluster was at a generation or later, but will when
	// something is freed, after a time if that is not 0, or when the watch shows it.
	Postponed(uid types.UID, node string, generation uint64, after time.Duration)
}

// BindTime returns the time that the API server may take to bind a pod: far less than the time that the pod counts
// on its node by assumption, so that its room is not given away meanwhile.
func BindTime(timeouts config.Timeouts) time.Duration {
	return min(timeouts.Bind.Duration, timeouts.Assume()/2)
}

// Extender answers the verbs of kube-scheduler. It is safe for concurrent use.
type Extender struct {
	watch    watch
	profiles *predicates.Profiles
	picker   *picker
	// reservations say which pods are spared.
	reservations Reservations
	stamps       *runtimes.Clock
	gangs        bool // are placed
	// Each of these is asked in its order, unless an answer ends that. Who is absent is not among them.
	claimants  []claimant
	preempters []preempter
	planners   []planner
	yielders   []yielder
	sparers    []sparer
	refusals   []Refusals
	binds      *pods
	bind       func(*request) (report, error) // by binds, where there is an API server
	calls      *calls
	locks      []canary.Lock
	// orders are the orders learned by requests that were read at the same time.
	orders chan *order
}

// New returns an Extender that is ready to be called.
func New(o Options) *Extender {
	if o.Pick == nil {
		o.Pick = rand.IntN
	}
	if o.Clock == nil {
		o.Clock = clock.RealClock{}
	}
	if o.Reservations == nil {
		o.Reservations = reservation.New(reservation.Options{
			Logger: o.Logger, Clock: clock.RealClock{}, Cluster: o.Cluster, Profiles: o.Profiles,
		})
	}
	p := &picker{cluster: o.Cluster, offers: newOffers(), pick: o.Pick}
	flights, calls := newFlights(), newCalls(o.Logger, o.Registerer, o.Traces, o.Bodies, o.Ready)
	if o.Await != nil {
		calls.await = o.Await
	}
	e := &Extender{
		watch:        newWatch(&o),
		profiles:     o.Profiles,
		picker:       p,
		reservations: o.Reservations,
		stamps:       runtimes.NewClock(o.Clock),
		claimants:    []claimant{&inFlight{picker: p}},
		calls:        calls,
		locks:        locksOf(&o, calls.attempts, flights),
		orders:       make(chan *order, 4),
	}
	e.binds = newPods(&o, e.watch, p.offers, flights)
	if e.bind = e.binds.bind; o.Client == nil {
		e.bind = bindNowhere
	}
	e.join(&o)
	return e
}

// join adds who is there to the lists of who is asked.
func (e *Extender) join(o *Options) {
	p := e.picker
	if o.Nominations != nil {
		e.claimants = append(e.claimants, &takes{o.Nominations})
	}
	if o.Gangs != nil {
		m := &members{picker: p, manager: o.Gangs, reservations: o.Reservations}
		e.gangs, e.claimants = true, append(e.claimants, m)
		e.preempters, e.sparers = append(e.preempters, m), append(e.sparers, m)
		e.planners, e.yielders = append(e.planners, m), append(e.yielders, m)
		e.binds.send = m.permitted(e.binds.send)
	}
	r := &reserved{picker: p, reservations: o.Reservations}
	e.claimants, e.preempters = append(e.claimants, r), append(e.preempters, r)
	if o.Nominations != nil {
		n := &nominated{picker: p, nominations: o.Nominations}
		e.claimants, e.planners, e.yielders = append(e.claimants, n), append(e.planners, n), append(e.yielders, n)
	}
	e.yielders = append(e.yielders, r)
	if o.Refusals != nil {
		e.refusals = append(e.refusals, o.Refusals)
	}
}

// Endpoints returns the verbs over HTTP.
func (e *Extender) Endpoints() []inspect.Endpoint {
	var endpoints []inspect.Endpoint
	for _, v := range e.verbs() {
		endpoints = append(
			endpoints,
			inspect.Endpoint{Method: http.MethodPost, Pattern: "/" + v.name, About: v.about, Handler: e.calls.handler(v)},
		)
	}
	return endpoints
}

func (e *Extender) verbs() []verb {
	return []verb{
		{name: "filter", about: "kube-scheduler asks which nodes a pod fits", read: e.read, answer: e.filter},
		{name: "prioritize", about: "kube-scheduler asks how well nodes suit a pod", read: e.read, answer: e.prioritize},
		{name: "preempt", about: "kube-scheduler asks where evicting its victims would help", read: e.readPreempt, answer: e.preempt},
		{
			name: "bind", about: "kube-scheduler asks to bind a pod to a node", small: true,
			read: readBind, answer: answerBind(e.calls.log, e.bind),
		},
	}
}

// Locks returns the locks that verbs take now.
func (e *Extender) Locks() []canary.Lock {
	locks := slices.Clone(e.locks)
	for _, store := range e.profiles.Stores() {
		locks = append(locks, canary.Lock{Name: "verdicts of " + store.Profile.Name, Verbs: "filter, prioritize and preempt", Pass: store.Pass})
	}
	return locks
}

// locksOf returns the locks that calls take whatever profiles there are.
func locksOf(o *Options, attempts *attempts, flights *flights) []canary.Lock {
	const all = "filter, prioritize, preempt and bind"
	locks := []canary.Lock{
		{Name: "the cluster", Verbs: all, Pass: func() { o.Cluster.PendingPod("") }},
		{Name: "attempts", Verbs: all, Pass: attempts.pass},
		{Name: "bind calls", Verbs: "bind", Pass: flights.pass},
		{Name: "ReschedulingPlans", Verbs: "filter, preempt and bind", Pass: o.Reservations.Pass},
	}
	if o.Gangs != nil {
		locks = append(locks, canary.Lock{Name: "gangs", Verbs: "filter, preempt and bind", Pass: o.Gangs.Pass})
	}
	if o.Nominations != nil {
		locks = append(locks, canary.Lock{Name: "nominations", Verbs: "filter and preempt", Pass: o.Nominations.Pass})
	}
	return locks
}

package server

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/go-faster/jx"
	"k8s.io/client-go/kubernetes"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/api/config/v1alpha2"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang"
	"muster.dev/muster/placement/nomination"
	"muster.dev/muster/predicates"
	"muster.dev/muster/rescheduler/holes"
	"muster.dev/muster/server/wire"
)

// Extender answers the verbs of kube-scheduler. It is safe for concurrent use.
type Extender struct {
	log      *slog.Logger
	cluster  *cluster.Cluster
	profiles *predicates.Profiles
	// client binds pods. It is nil when the cluster was loaded from a dump.
	client kubernetes.Interface
	// bindTime is how long the API server may take to bind a pod.
	bindTime time.Duration
	// nominator places pods ahead of calls. It is nil without an API server.
	nominator *nomination.Nominator
	// gangs holds the members of gangs together. It is nil without an API server.
	gangs *gang.Manager
	// holes is the room that plans of the rescheduler count on. It is nil without an API server.
	holes *holes.Keeper
	// flights are the bind calls that are being answered.
	flights flights
	// offers are what filter has answered about pods that are not bound yet.
	offers *offers
	// orders are what was learned by requests that were read at the same time.
	orders chan *order
	// pick breaks ties: it returns a number from 0 to n-1.
	pick func(n int) int
}

func newExtender(
	log *slog.Logger, c *cluster.Cluster, client kubernetes.Interface, bindTime time.Duration, profiles *predicates.Profiles,
) *Extender {
	return &Extender{
		log:      log,
		cluster:  c,
		client:   client,
		bindTime: bindTime,
		profiles: profiles,
		offers:   newOffers(),
		orders:   make(chan *order, 4),
		pick:     rand.IntN,
	}
}

func (e *Extender) verbs() []verb {
	return []verb{
		{name: "filter", serve: e.filter},
		{name: "prioritize", serve: e.prioritize},
		{name: "preempt", serve: e.preempt},
		{name: "bind", serve: e.bind, small: true},
	}
}

// profile finds the verdicts of a scheduler name and notes it for metrics and logs.
func (e *Extender) profile(c *call, schedulerName string) (*predicates.VerdictStore, error) {
	store, err := e.store(schedulerName)
	if err == nil {
		c.profile, c.store = store.Profile.Name, store
	}
	return store, err
}

func (e *Extender) store(schedulerName string) (*predicates.VerdictStore, error) {
	if store := e.profiles.Of(schedulerName); store != nil {
		return store, nil
	}
	var known []string
	for _, store := range e.profiles.Stores() {
		known = append(known, store.Profile.Name)
	}
	return nil, fmt.Errorf("no profile for spec.schedulerName %q; the profiles are: %s", schedulerName, strings.Join(known, ", "))
}

// read decodes the arguments of filter and prioritize.
func (e *Extender) read(c *call) error {
	var o *order
	select {
	case o = <-e.orders:
	default:
		o = new(order)
	}
	defer func() {
		select {
		case e.orders <- o:
		default: // enough are kept
		}
	}()
	c.candidates.reset(e.cluster.Snapshot().NodeNames, o)
	if err := c.args.Read(&c.decoder, c.body, &c.candidates); err != nil {
		return badRequest(err)
	}
	return nil
}

// rejection is a candidate on which the pod cannot run, and why.
type rejection struct {
	index   int32
	verdict predicates.Verdict
}

// filter answers which of the nodes the pod fits: all that do, or with
// nodeSelection Extender or Nominate the one that muster picks.
func (e *Extender) filter(c *call) error {
	if err := e.read(c); err != nil {
		return err
	}
	about, err := e.subject(c, &c.args.Pod)
	if err != nil {
		return err
	}
	c.subject = about.pod
	profile, err := e.profile(c, about.pod.Spec.SchedulerName)
	if err != nil {
		c.outcome = outcomeError
		wire.FilterError(&c.reply, err.Error())
		return nil
	}
	if !about.known {
		e.filterStranger(c, profile, about.pod)
		return nil
	}
	return e.filterKnown(c, profile, about.pod)
}

// filterKnown answers about a pod that waits for a node. What was offered before is void.
func (e *Extender) filterKnown(c *call, profile *predicates.VerdictStore, pod *cluster.Pod) error {
	e.offers.end(pod.UID)
	if node := e.cluster.Binding(pod.UID); node != "" {
		e.stay(c, pod, node)
		return nil
	}
	planned := ""
	if e.nominator != nil {
		planned = e.nominator.Take(pod.UID)
	}
	var decision gang.Decision
	if e.gangs != nil {
		decision = e.gangs.Filter(pod, len(c.candidates.indexes))
	}
	switch {
	case decision.Reason != "":
		if !decision.Waits {
			e.cluster.Release(pod.UID)
		}
		e.refuse(c, decision.Reason)
		return nil
	case decision.Member:
		return e.filterMember(c, profile, pod, decision.Node)
	}
	if places := e.claim(c, profile, pod); len(places) > 0 {
		if done, err := e.fill(c, profile, pod, places); done || err != nil {
			return err
		}
	}
	return e.filterSingle(c, profile, pod, planned)
}

// filterSingle answers about a pod that is placed for itself. If it fits nowhere, what is
// planned for others may give way to it.
func (e *Extender) filterSingle(c *call, profile *predicates.VerdictStore, pod *cluster.Pod, planned string) error {
	if err := e.filterOne(c, profile, pod, planned); err != nil || c.outcome != outcomeUnschedulable {
		return err
	}
	if e.makeWay(c, profile, pod) {
		c.outcome = outcomeOK
		c.reply.Reset()
		return e.filterOne(c, profile, pod, "")
	}
	return nil
}

// filterOne answers about a pod for itself. The scheduler asks anew, so whatever was decided
// about the pod is void, but as advice. Where it counts it counts on until it is decided.
func (e *Extender) filterOne(c *call, profile *predicates.VerdictStore, pod *cluster.Pod, planned string) error {
	if profile.Profile.NodeSelection == v1alpha2.NodeSelectionScheduler {
		e.cluster.Release(pod.UID)
		view := profile.View(pod)
		defer view.Close()
		if fitting := e.sift(c, &view); fitting >= 0 { // kube-scheduler does not call prioritize
			e.expect(profile, pod, view.Snapshot.Node(fitting))
		}
		e.offers.put(pod.UID, view.Snapshot.Generation, c.fitting)
		return nil
	}
	node, err := e.settle(c, profile, pod, planned)
	if node == "" {
		e.cluster.Release(pod.UID)
	}
	return err
}

// settle answers with one node, the planned one if it will do, and says which; "" when
// there is none. The pod counts there, and on its former place until then: nobody can take its
// room in between.
func (e *Extender) settle(c *call, profile *predicates.VerdictStore, pod *cluster.Pod, planned string) (node string, err error) {
	if done, err := e.confirm(c, profile, pod, planned); done {
		return planned, err
	}
	return e.choose(c, profile, pod)
}

// judge is what a profile says of a pod as if it counted nowhere yet, while it counts on.
func (e *Extender) judge(profile *predicates.VerdictStore, pod *cluster.Pod) predicates.View {
	return profile.ViewWithout(pod, e.cluster.Assumed(pod.UID))
}

// sift answers with every candidate that fits, and notes them in c.fitting. If there is just one, it
// says which; else -1.
func (e *Extender) sift(c *call, view *predicates.View) (only int32) {
	reply := newFilterReply(c)
	c.rejected, c.fitting = c.rejected[:0], c.fitting[:0]
	for i, index := range c.candidates.in(view.Snapshot) {
		if verdict := c.verdict(view, index); verdict != predicates.Fits {
			c.rejected = append(c.rejected, rejection{index, verdict})
			continue
		}
		reply.Accept(accepted(c, i, index))
		c.fitting = append(c.fitting, index)
	}
	e.reject(c, &reply, view)
	if len(c.fitting) == 1 {
		return c.fitting[0]
	}
	return -1
}

func newFilterReply(c *call) wire.FilterReply {
	if c.args.WholeNodes {
		return wire.NewFilterReplyOfObjects(&c.reply)
	}
	return wire.NewFilterReply(&c.reply)
}

// accepted is the candidate at a place of the request as it stands in the answer.
func accepted(c *call, at int, index int32) []byte {
	if c.args.WholeNodes {
		return c.args.Nodes[at]
	}
	return c.candidates.names.Quoted(index)
}

// reject ends an answer with the candidates that do not fit.
func (e *Extender) reject(c *call, reply *wire.FilterReply, view *predicates.View) {
	var unknown jx.Writer
	last, reason := predicates.Fits, ""
	for i, r := range c.rejected {
		name := c.candidates.quoted(r.index, &unknown)
		if r.verdict != last {
			last, reason = r.verdict, view.Reason(r.verdict)
		}
		if i == 0 { // most are as long, and for the same reason
			c.reply.Buf = slices.Grow(c.reply.Buf, len(c.rejected)*(len(name)+len(reason)+len(`:"",`)))
		}
		reply.Reject(name, reason)
	}
	reply.End()
	if len(c.rejected) == len(c.candidates.indexes) {
		c.outcome = outcomeUnschedulable
	}
}

// prioritize scores the nodes that survived every filter, 0 to 10. Where it matters to the
// profile, the best one stands out, and the pod is expected there; see expect.
//
// Only differences between nodes count, and a node that is left out counts 0. So
// scores are told as what they are above the lowest, and nodes of the lowest score
// are left out: for each entry the scheduler decodes an object, takes a lock and
// fills a map, which at thousands of nodes is dearer than all that happens here.
func (e *Extender) prioritize(c *call) error {
	if err := e.read(c); err != nil {
		return err
	}
	about, err := e.subject(c, &c.args.Pod)
	if err != nil {
		return err
	}
	pod := about.pod
	c.subject = pod
	profile, err := e.profile(c, pod.Spec.SchedulerName)
	if err != nil {
		return &statusError{status: http.StatusUnprocessableEntity, outcome: outcomeError, err: err}
	}
	expects := about.known && e.expects(profile)
	if expects {
		e.cluster.Unexpect(pod.UID) // it is not in its own way
	}
	view := about.view(profile)
	defer view.Close()
	c.fitting = c.fitting[:0]
	for _, index := range c.candidates.in(view.Snapshot) {
		if index >= 0 {
			c.fitting = append(c.fitting, index)
		}
	}
	totals := c.rank(&view, c.fitting)
	best := -1
	if expects && len(totals) > 0 {
		best = e.first(totals)
	}
	for i, total := range totals {
		totals[i] = view.Scale(total, extenderv1.MaxExtenderPriority)
	}
	if best >= 0 {
		standOut(totals, best)
		e.expect(profile, pod, view.Snapshot.Node(c.fitting[best]))
	}
	lowest := extenderv1.MaxExtenderPriority
	for _, total := range totals {
		lowest = min(lowest, total)
	}
	reply := wire.NewPriorityReply(&c.reply)
	for i, index := range c.fitting {
		if above := totals[i] - lowest; above > 0 {
			reply.Add(view.Snapshot.NodeNames.Quoted(index), above)
		}
	}
	reply.End()
	return nil
}

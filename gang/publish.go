package gang

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/status"
	"muster.dev/muster/predicates"
)

// Publisher keeps the status of PodGroups true, and tells people by events why groups wait: on their PodGroups, on the
// owners of their pods, or on the pods.
type Publisher struct {
	machine *machine
	log     *slog.Logger
	clock   clock.WithTicker
	cluster *cluster.Cluster
	news    *news
	marks   *marks
	tables  map[string]cluster.CustomTable // of PodGroups by label, as Changed last saw them under the lock

	bookings bookings
}

// Clients are the clients that a Publisher reads and writes through. All are required.
type Clients struct {
	Core    kubernetes.Interface
	Dynamic dynamic.Interface
}

const (
	// publishEvery is the period of looking for something to publish: with what a status waits for more changes it is less
	// than a second.
	publishEvery = 250 * time.Millisecond
	// mostTold is how many members of a group there are events about.
	mostTold = 10
)

// Run publishes until the context ends. As Run of the Manager it is for one process at a time.
func (p *Publisher) Run(ctx context.Context, clients Clients) error {
	recorders, err := status.NewRecorders(ctx, clients.Core)
	if err != nil {
		return fmt.Errorf("record events: %w", err)
	}
	events := status.NewEvents(recorders, p.clock)
	writer := status.NewWriter(status.Options[membership.Key]{
		Logger: p.log, Clock: p.clock, Client: clients.Dynamic, Events: events, Observe: p.Observe,
	})
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { writer.Run(ctx) })
	tick := p.clock.NewTicker(publishEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C():
			for _, key := range p.Changed() {
				writer.Enqueue(key)
				for _, event := range p.toOwners(key) {
					events.Tell(event)
				}
			}
			for _, told := range slices.Concat(p.unknown(), p.news.untold()) {
				events.Tell(status.Event{SchedulerName: told.schedulerName, About: told.pod, Reason: told.reason, Words: told.why})
			}
			for _, event := range p.marks.look() {
				events.Tell(event)
			}
			events.Due()
		}
	}
}

// Observe returns what the status of a group's PodGroup is to say. It reports false when there is none,
// or it makes no sense.
func (p *Publisher) Observe(key membership.Key) (status.Observation, bool) {
	p.machine.mu.Lock()
	defer p.machine.mu.Unlock()
	p.machine.receive()
	object := p.machine.view.PodGroup(key)
	if object == nil || object.PodGroup == nil {
		return status.Observation{}, false
	}
	o, known := p.machine.state.Observe(key)
	if known {
		o.SchedulerName = p.news.reporter(o.SchedulerName)
	}
	o.PodGroup, o.Booking = object.PodGroup, p.bookings.of(key)
	return o, true
}

// Changed returns the groups that may have changed since the last call: their pods, why they wait, or their
// PodGroups.
func (p *Publisher) Changed() []membership.Key {
	p.machine.mu.Lock()
	defer p.machine.mu.Unlock()
	p.machine.receive()
	changed := sets.New(p.machine.apply(core.ChangesDue{}).changed...)
	snap := p.cluster.Snapshot()
	booked, all := p.bookings.changed()
	changed.Insert(booked...)
	if all { // a former leader may have told something of any
		clear(p.tables)
		changed.Insert(slices.Collect(maps.Keys(p.bookings.shown))...)
	}
	for _, label := range v1alpha1.GroupLabels() {
		if apiGroup := v1alpha1.APIGroupOf(label); apiGroup != "" {
			p.compare(label, snap.Custom(v1alpha1.ResourceOf(apiGroup)), changed)
		}
	}
	return changed.UnsortedList()
}

// compare notes which PodGroups are other ones than when it last looked.
func (p *Publisher) compare(label string, now cluster.CustomTable, changed sets.Set[membership.Key]) {
	before := p.tables[label]
	if now == before {
		return
	}
	for name, object := range now.All() {
		if was, known := before.Get(name); !known || was != object {
			changed.Insert(membership.Key{Label: label, NamespacedName: name})
		}
	}
	for name := range before.All() {
		if _, known := now.Get(name); !known {
			changed.Insert(membership.Key{Label: label, NamespacedName: name})
		}
	}
	p.tables[label] = now
}

// toOwners returns what the owners of a group's members are told of it, and who is told that they disagree: nothing of one
// that another scheduler is to place.
func (p *Publisher) toOwners(key membership.Key) (all []status.Event) {
	p.machine.mu.Lock()
	defer p.machine.mu.Unlock()
	o, known := p.machine.state.Observe(key)
	if o.SchedulerName = p.news.reporter(o.SchedulerName); !known || o.SchedulerName == "" {
		return nil
	}
	if object := p.machine.view.PodGroup(key); object != nil {
		o.PodGroup = object.PodGroup
	}
	reason, words := o.Say()
	for _, owner := range o.Owners {
		all = append(all, status.Event{About: owner, Reason: reason, Words: words, Ends: true})
	}
	if o.Dissent != "" {
		all = append(all, dissent(&o))
	}
	o.Booking = p.bookings.of(key)
	all = append(all, roomInTime(&o)...)
	for i := range all {
		event := &all[i]
		event.SchedulerName, event.Group = o.SchedulerName, key.Label+" "+key.String()
		if key.Name != event.About.GetName() {
			event.Words = fmt.Sprintf("gang %s: %s", key, event.Words)
		}
		if o.Member != nil && o.Member.GetUID() != event.About.GetUID() { // the API server tells events about several groups apart by it
			event.Related = o.Member
		}
	}
	return all
}

// dissent returns what is told of members that disagree: to one of those who may set it right.
func dissent(o *status.Observation) status.Event {
	event := status.Event{About: o.Member, Reason: status.MembersDisagree, Words: o.Dissent}
	switch {
	case o.PodGroup != nil:
		event.About = o.PodGroup
	case len(o.Owners) > 0:
		event.About = o.Owners[0]
	}
	return event
}

// unknown are members to tell about, since there is no PodGroup that could say why they
// wait, and nobody owns them. A PodGroup may be on its way: a second is enough for most.
func (p *Publisher) unknown() (all []told) {
	p.machine.mu.Lock()
	defer p.machine.mu.Unlock()
	ownerless := func(pod *cluster.Pod) bool {
		key, _ := membership.Of(pod)
		return p.machine.view.PodGroup(key) == nil && len(membership.Owners(slices.Values([]*cluster.Pod{pod}))) == 0
	}
	for _, w := range p.machine.state.Waits(p.clock.Now(), mostTold, time.Second, ownerless) {
		for _, pod := range w.Members {
			all = append(all, told{pod.Pod, p.news.reporter(pod.Spec.SchedulerName), w.Reason, w.Why})
		}
	}
	return all
}

// told is an event about a member.
type told struct {
	pod           *corev1.Pod
	schedulerName string // of its profile, "" when it has none
	reason        status.Reason
	why           string
}

// mostUntold bounds what waits to be told, should nobody publish.
const mostUntold = 1000

// news has what was done to pods until it is told.
type news struct {
	profiles *predicates.Profiles
	told     chan told
}

// tell has something published, unless too much waits for that.
func (n *news) tell(what told) {
	what.schedulerName = n.reporter(what.schedulerName)
	select {
	case n.told <- what:
	default:
	}
}

// untold returns what came to be published since the last call.
func (n *news) untold() (all []told) {
	for {
		select {
		case what := <-n.told:
			all = append(all, what)
		default:
			return all
		}
	}
}

// reporter returns the scheduler name under which there are events, "" when no profile has it:
// muster does not speak for other schedulers.
func (n *news) reporter(schedulerName string) string {
	if n.profiles.Of(schedulerName) == nil {
		return ""
	}
	return schedulerName
}

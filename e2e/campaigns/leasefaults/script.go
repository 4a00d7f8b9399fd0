package leasefaults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/e2e/campaigns/faultcampaign"
)

const (
	// window is how long things happen in a run.
	window = 9 * time.Second
	// longest is how long one of them lasts: longer than a lease.
	longest = leaseDuration + 2*time.Second
)

// What is done to processes. What is done to calls is named by what it is.
const (
	frozen    faultcampaign.Fault = "process frozen"
	killed    faultcampaign.Fault = "process killed"
	stopped   faultcampaign.Fault = "process stopped"
	midway    faultcampaign.Fault = "process stopped while bindings are under way"
	deleted   faultcampaign.Fault = "lease deleted"
	unwatched faultcampaign.Fault = "watches of a standby late"
)

// script is done in a run, whatever comes of it.
type script struct {
	replicas int
	events   []event
}

// event is something that is done.
type event struct {
	at    time.Duration
	what  string
	fault faultcampaign.Fault
	do    func(context.Context, *run) error
}

// writer writes a script.
type writer struct {
	script
	rand *rand.Rand
}

// write draws the script of a seed.
func write(seed uint64) *script {
	w := &writer{rand: rand.New(rand.NewPCG(seed, 0))}
	w.replicas = 2 + w.rand.IntN(most-1)
	var all faultcampaign.Urn
	all.Add(8, w.troubleLease)
	all.Add(5, w.cutAll)
	all.Add(5, w.slowAll)
	all.Add(3, w.slowBindings)
	all.Add(8, w.freeze)
	all.Add(3, w.kill)
	all.Add(3, w.stop)
	all.Add(3, w.stopMidway)
	all.Add(4, w.stopWhileStandbyIsBehind)
	all.Add(1, w.deleteLease)
	for range 1 + w.rand.IntN(3) {
		all.Draw(w.rand)
	}
	slices.SortStableFunc(w.events, func(a, b event) int { return int(a.at - b.at) })
	return &w.script
}

func (w *writer) add(fault faultcampaign.Fault, what string, do func(context.Context, *run) error) {
	w.events = append(w.events, event{w.between(300*time.Millisecond, window/3), what, fault, do})
}

func (w *writer) between(least, most time.Duration) time.Duration {
	return (least + time.Duration(w.rand.Int64N(int64(most-least)))).Round(time.Millisecond)
}

// of draws who something is done to, mostly the leader of that moment.
func (w *writer) of() (who string, find func(*run) *replica) {
	if w.rand.IntN(4) > 0 {
		return "the leader", (*run).leader
	}
	number := w.rand.IntN(w.replicas)
	return fmt.Sprintf("muster-%d", number), func(r *run) *replica { return r.lane.replicas[number] }
}

// spoil has something happen to requests of somebody for a time.
func (w *writer) spoil(name string, s spell, length time.Duration) {
	who, find := w.of()
	text := fmt.Sprintf("%s: %s of %s for %s", s.happens, name, who, length)
	if s.delay > 0 {
		text += fmt.Sprintf(", by %s", s.delay)
	}
	w.add(faultcampaign.Fault(fmt.Sprintf("%s: %s", name, s.happens)), text, func(ctx context.Context, r *run) error {
		find(r).way.spoil(ctx, s, length)
		return nil
	})
}

// spoil has something happen to requests for a time.
func (y *way) spoil(ctx context.Context, s spell, length time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	y.trouble(ctx, s)
}

func (w *writer) troubleLease() {
	all := []happens{silence, silence, silence, slow, late, lost, lost, busy, away, stale}
	s := spell{what: []what{leases}, happens: all[w.rand.IntN(len(all))]}
	if s.happens == slow || s.happens == late {
		s.delay = w.between(100*time.Millisecond, renewDeadline)
	}
	w.spoil(string(leases), s, w.between(renewDeadline/2, longest))
}

func (w *writer) cutAll() {
	w.spoil("everything", spell{what: everything(), happens: silence}, w.between(renewDeadline/2, longest))
}

func (w *writer) slowAll() {
	how := []happens{slow, late}[w.rand.IntN(2)]
	w.spoil(
		"everything", spell{what: everything(), happens: how, delay: w.between(50*time.Millisecond, renewDeadline*2/3)},
		w.between(renewDeadline, longest),
	)
}

func (w *writer) slowBindings() {
	how := []happens{slow, late}[w.rand.IntN(2)]
	w.spoil(
		string(bindings), spell{what: []what{bindings}, happens: how, delay: w.between(200*time.Millisecond, longest)},
		w.between(renewDeadline, longest),
	)
}

func (w *writer) freeze() {
	who, find := w.of()
	length := w.between(renewDeadline/4, longest)
	w.add(frozen, fmt.Sprintf("freeze %s for %s", who, length), func(ctx context.Context, r *run) error {
		find(r).freeze(ctx, length)
		return nil
	})
}

func (w *writer) kill() {
	who, find := w.of()
	after := w.between(0, leaseDuration)
	w.add(
		killed, fmt.Sprintf("kill %s, for %s", who, after), func(ctx context.Context, r *run) error { return find(r).down(ctx, kill, after) },
	)
}

func (w *writer) stop() {
	who, find := w.of()
	after := w.between(0, leaseDuration)
	w.add(
		stopped, fmt.Sprintf("stop %s, for %s", who, after), func(ctx context.Context, r *run) error { return find(r).down(ctx, stop, after) },
	)
}

// stopMidway stops the leader while the API server takes its time to bind, and perhaps to take the lease back.
func (w *writer) stopMidway() {
	delay, later := w.between(300*time.Millisecond, 4*time.Second), w.between(100*time.Millisecond, 500*time.Millisecond)
	kinds := []what{bindings}
	if w.rand.IntN(2) == 0 {
		kinds = []what{bindings, leases}
	}
	how := []happens{slow, late}[w.rand.IntN(2)]
	w.add(midway, fmt.Sprintf("stop the leader, with %v %s by %s", kinds, how, delay), func(ctx context.Context, r *run) error {
		leader := r.leader()
		over, cancel := context.WithCancel(ctx)
		defer cancel()
		go leader.way.trouble(over, spell{what: kinds, happens: how, delay: delay})
		faultcampaign.Pause(ctx, later)
		return leader.down(ctx, stop, 0)
	})
}

// stopWhileStandbyIsBehind stops the leader while the others see what it bound late: their watches are,
// or they are frozen until then.
func (w *writer) stopWhileStandbyIsBehind() {
	delay, later := w.between(2*time.Second, 4*time.Second), w.between(200*time.Millisecond, time.Second)
	asleep := w.rand.IntN(2) == 0
	how := "watches are late"
	if asleep {
		how = "processes are frozen"
	}
	w.add(
		unwatched,
		fmt.Sprintf("stop the leader after %s, with standbys whose %s by %s", later, how, delay),
		func(ctx context.Context, r *run) error {
			leader := r.leader()
			over, cancel := context.WithTimeout(ctx, later+delay)
			defer cancel()
			for _, other := range r.prober.replicas {
				switch {
				case other == leader:
				case asleep:
					go other.freeze(over, later+delay)
				default:
					go other.way.trouble(over, spell{what: []what{watches}, happens: silence})
				}
			}
			faultcampaign.Pause(ctx, later)
			return leader.down(ctx, stop, delay) // a new process would have seen everything
		},
	)
}

func (w *writer) deleteLease() {
	if slices.ContainsFunc(w.events, func(e event) bool { return strings.Contains(string(e.fault), "process") }) {
		return // one that has not seen the lease takes it at once
	}
	w.add(deleted, "delete the lease", func(ctx context.Context, r *run) error {
		err := r.lane.Client.CoordinationV1().Leases(metav1.NamespaceSystem).Delete(ctx, "muster", metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}

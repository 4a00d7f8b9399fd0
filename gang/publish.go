package gang

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"muster.dev/muster/gang/membership"
	"muster.dev/muster/gang/status"
)

// Clients are the clients that Publish reads and writes through. All are required.
type Clients struct {
	Core    kubernetes.Interface
	Dynamic dynamic.Interface
}

const (
	// publishEvery is the period of looking for something to publish.
	publishEvery = 500 * time.Millisecond
	// mostTold is how many members of a group there are events about.
	mostTold = 10
)

// Publish keeps the status of PodGroups true and tells people why groups wait, by events,
// until the context ends. As Run it is for one process at a time.
func (m *Manager) Publish(ctx context.Context, clients Clients) error {
	recorders, err := status.NewRecorders(ctx, clients.Core)
	if err != nil {
		return fmt.Errorf("record events: %w", err)
	}
	events := status.NewEvents(recorders)
	writer := status.NewWriter(status.Options[membership.Key]{
		Logger: m.log, Clock: m.clock, Client: clients.Dynamic, Events: events, Observe: m.Observe,
	})
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { writer.Run(ctx) })
	tick := m.clock.NewTicker(publishEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C():
			for _, key := range m.Changed() {
				writer.Enqueue(key)
			}
			for _, told := range slices.Concat(m.unknown(), m.untold()) {
				events.Tell(told.schedulerName, told.pod, nil, told.reason, told.why)
			}
		}
	}
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

// tell has something published.
func (m *machine) tell(what told) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.news.told) < mostUntold {
		what.schedulerName = m.reporter(what.schedulerName)
		m.news.told = append(m.news.told, what)
	}
}

// untold returns what came to be published since the last call.
func (m *Manager) untold() []told {
	m.mu.Lock()
	defer m.mu.Unlock()
	events := m.news.told
	m.news.told = nil
	return events
}

// unknown are members to tell about, since there is no PodGroup that could say why they
// wait. It may be on its way: a second is enough for most.
func (m *Manager) unknown() (all []told) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, w := range m.state.Waits(m.clock.Now(), mostTold, time.Second) {
		if m.ports.PodGroup(w.Group) != nil {
			continue
		}
		for _, pod := range w.Members {
			all = append(all, told{pod, m.reporter(pod.Spec.SchedulerName), w.Reason, w.Why})
		}
	}
	return all
}

// reporter returns the scheduler name under which there are events, "" when no profile has it:
// muster does not speak for other schedulers.
func (m *machine) reporter(schedulerName string) string {
	if m.ports.Profile(schedulerName) == nil {
		return ""
	}
	return schedulerName
}

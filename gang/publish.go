package gang

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"

	"muster.dev/muster/gang/status"
)

// Clients are what Publish reads and writes through. All are required.
type Clients struct {
	Core     kubernetes.Interface
	Dynamic  dynamic.Interface
	Metadata metadata.Interface
}

const (
	// publishEvery is how often it is looked what there is to publish.
	publishEvery = 500 * time.Millisecond
	// mostTold is how many members of a group there are events about.
	mostTold = 10
)

// Publish keeps the status of PodGroups true and tells people why groups wait, by events,
// until the context ends. As Run it is for one process at a time.
func (m *Manager) Publish(ctx context.Context, clients Clients) error {
	recorder, err := status.NewRecorder(ctx, clients.Core)
	if err != nil {
		return fmt.Errorf("record events: %w", err)
	}
	events := status.NewEvents(recorder, m.clock)
	var finished *status.Finished
	writer := status.NewWriter(status.Options[Key]{
		Logger: m.log, Clock: m.clock, Client: clients.Dynamic, Events: events,
		Observe: func(key Key) (status.Observation, bool) {
			o, exists := m.Observe(key)
			if exists {
				o.Counts.Succeeded, o.Counts.Failed = finished.Count(key.Label, key.NamespacedName)
			}
			return o, exists
		},
	})
	finished, err = status.NewFinished(clients.Metadata, func(label string, name types.NamespacedName) { writer.Enqueue(Key{label, name}) })
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { finished.Run(ctx) })
	running.Go(func() {
		m.whenSynced(ctx, finished)
		writer.Run(ctx)
	})
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
			for _, told := range m.unknown() {
				events.Tell(told.pod, nil, told.reason, told.why)
			}
		}
	}
}

func (m *Manager) whenSynced(ctx context.Context, finished *status.Finished) {
	tick := m.clock.NewTicker(publishEvery)
	defer tick.Stop()
	for !finished.HasSynced() && ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tick.C():
		}
	}
}

// told is an event about a member.
type told struct {
	pod    *corev1.Pod
	reason status.Reason
	why    string
}

// unknown are members to tell about, since there is no PodGroup that could say why they
// wait. It may be on its way: a second is enough for most.
func (m *Manager) unknown() (all []told) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock.Now()
	for _, g := range m.groups {
		if m.podGroup(g.key) != nil || g.reason == "" || g.reason == status.Waiting {
			continue
		}
		waiting := g.in(pending)
		for _, p := range waiting[:min(len(waiting), mostTold)] {
			if now.Sub(p.since) >= time.Second {
				all = append(all, told{p.pod.Pod, g.reason, g.why})
			}
		}
	}
	return all
}

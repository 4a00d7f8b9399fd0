package main

import (
	"context"
	"fmt"
	"math"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
)

// lateAfter is how long a pod waits, of the time of the day, until it counts as late. New nodes take less.
const lateAfter = 10 * time.Minute

// sample is how long the diary waits for something to happen.
const sample = 100 * time.Millisecond

// diary keeps what happens in a day. Its times are of this machine's clock; what it tells is of the time of the day.
type diary struct {
	view *view
	pace pace

	last     time.Time // it looked
	first    map[types.UID]time.Time
	lates    sets.Set[types.UID]
	evicted  sets.Set[types.UID]
	waited   time.Duration // by all pods
	nodeTime time.Duration // of all nodes
	services map[string]*health
	breaches int
	removed  int // nodes, by the autoscaler
}

// health is whether a service has what its PodDisruptionBudget asks for.
type health struct {
	replicas int32
	well     bool
}

func newDiary(v *view, p pace) *diary {
	return &diary{
		view: v, pace: p, last: time.Now(), first: map[types.UID]time.Time{}, lates: sets.New[types.UID](), evicted: sets.New[types.UID](),
		services: map[string]*health{},
	}
}

// scaled notes how many pods a service is to have from now on. It may take its time to have more.
func (d *diary) scaled(name string, replicas int32) {
	s := d.services[name]
	if s == nil {
		s = &health{}
		d.services[name] = s
	}
	s.well = s.well && replicas <= s.replicas
	s.replicas = replicas
}

// keep writes for so long, or until the context ends.
func (d *diary) keep(ctx context.Context, during time.Duration) error {
	end := time.NewTimer(during)
	defer end.Stop()
	ticker := time.NewTicker(sample)
	defer ticker.Stop()
	for {
		d.look(time.Now())
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-end.C:
			return nil
		case <-ticker.C:
		case <-d.view.changed:
		}
	}
}

// look writes down how things are at a time, which was so since the last look.
func (d *diary) look(now time.Time) {
	passed := now.Sub(d.last)
	d.last = now
	ready := map[string]int32{}
	for _, pod := range d.view.taken() {
		if _, known := d.first[pod.UID]; !known {
			d.first[pod.UID] = now
		}
		if isReady(pod) {
			ready[pod.Labels["app"]]++
		}
		if isEvicted(pod) {
			d.evicted.Insert(pod.UID)
		}
		if pod.Spec.NodeName != "" || pod.DeletionTimestamp != nil {
			continue
		}
		d.waited += passed
		if now.Sub(d.first[pod.UID]) > d.pace.of(lateAfter) {
			d.lates.Insert(pod.UID)
		}
	}
	d.nodeTime += passed * time.Duration(len(d.view.allNodes()))
	for name, s := range d.services {
		switch least := s.replicas - int32(math.Ceil(float64(s.replicas)/5)); {
		case ready[name] >= s.replicas:
			s.well = true
		case s.well && ready[name] < least:
			s.well = false
			d.breaches++
		}
	}
}

// isEvicted says that a pod goes because somebody evicted it.
func isEvicted(pod *corev1.Pod) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.DisruptionTarget && c.Reason == "EvictionByEvictionAPI" {
			return true
		}
	}
	return false
}

// late is how many pods were late.
func (d *diary) late() int { return d.lates.Len() }

// evictions is how many pods were evicted, as far as a watch shows them before they are gone.
func (d *diary) evictions() int { return d.evicted.Len() }

// pending is how many minutes of the day pods have waited, together.
func (d *diary) pending() float64 { return d.waited.Minutes() * float64(d.pace) }

// nodeHours is how many hours of the day nodes were there, together.
func (d *diary) nodeHours() float64 { return d.nodeTime.Hours() * float64(d.pace) }

func (d *diary) String() string {
	return fmt.Sprintf("%d nodes, %.0f node hours so far, %.0f minutes of pending pods, %d late, %d breaches, %d evictions",
		len(d.view.allNodes()), d.nodeHours(), d.pending(), d.late(), d.breaches, d.evictions())
}

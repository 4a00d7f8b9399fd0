package main

import (
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/e2e/fit"
)

// witness has seen all that became of the pods of a cell. Its methods may be called from any
// goroutine.
type witness struct {
	gangs map[string]map[string]int // their groups, and how many pods of each start together

	mu     sync.Mutex
	ledger *fit.Ledger
	bound  map[string]int              // pods of each group that are bound now
	enough map[string]time.Time        // when enough pods of each group were
	await  map[string]chan<- time.Time // who is to hear that a pod is bound, by its name
	faults []error
}

func newWitness(nodes []*corev1.Node, gangs map[string]map[string]int) *witness {
	w := &witness{
		gangs: gangs, ledger: fit.NewLedger(),
		bound: map[string]int{}, enough: map[string]time.Time{}, await: map[string]chan<- time.Time{},
	}
	for _, n := range nodes {
		w.ledger.Node(n)
	}
	return w
}

// observe is a podwatch.Observer.
func (w *witness) observe(before, now *corev1.Pod) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now == nil {
		w.ledger.Gone(before.UID)
		if gang := before.Labels[gangOf]; gang != "" && before.Spec.NodeName != "" {
			w.bound[gang]--
		}
		return
	}
	if before != nil && before.Spec.NodeName != "" && before.Spec.NodeName != now.Spec.NodeName {
		w.faults = append(w.faults, fmt.Errorf("pod %s was bound to node %s and then to %s", now.Name, before.Spec.NodeName, now.Spec.NodeName))
	}
	bound, lacking := w.ledger.Pod(now)
	if !bound {
		return
	}
	if len(lacking) > 0 {
		w.faults = append(w.faults, fmt.Errorf("node %s of pod %s has too little: %v", now.Spec.NodeName, now.Name, lacking))
	}
	at := time.Now()
	if heard, waits := w.await[now.Name]; waits {
		heard <- at
		delete(w.await, now.Name)
	}
	if group := now.Labels[gangOf]; group != "" {
		w.bound[group]++
		gang := group
		if tree := now.Labels[partOf]; tree != "" {
			gang = tree
		}
		if w.bound[group] == w.gangs[gang][group] {
			w.enough[group] = at
		}
	}
}

// hear returns what delivers when the pod of a name is bound.
func (w *witness) hear(name string) <-chan time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	heard := make(chan time.Time, 1)
	w.await[name] = heard
	return heard
}

// started is when each gang was whole that ever was.
func (w *witness) started() map[string]time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.whole()
}

// whole is when the last group of each gang had enough pods.
func (w *witness) whole() map[string]time.Time {
	whole := map[string]time.Time{}
	for gang, groups := range w.gangs {
		enough := map[string]time.Time{}
		for group := range groups {
			if at, is := w.enough[group]; is {
				enough[group] = at
			}
		}
		if len(enough) == len(groups) {
			whole[gang] = latest(enough)
		}
	}
	return whole
}

// partial is how many gangs have pods that are bound, and were never whole.
func (w *witness) partial() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	count, whole := 0, w.whole()
	for gang, groups := range w.gangs {
		_, is := whole[gang]
		for group := range groups {
			if !is && w.bound[group] > 0 {
				count++
				break
			}
		}
	}
	return count
}

// progress says how much of each gang is bound.
func (w *witness) progress() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprintf("%d gangs were whole; pods bound of each group: %v, of %v", len(w.whole()), w.bound, w.gangs)
}

// verdict is an error when something happened that must not.
func (w *witness) verdict() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return errors.Join(w.faults...)
}

package main

import (
	"errors"
	"fmt"
	"maps"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/muster/e2e/fit"
)

// witness has seen all that became of the pods of a cell. Its methods may be called from any
// goroutine.
type witness struct {
	sizes map[string]int // of the gangs

	mu     sync.Mutex
	ledger *fit.Ledger
	bound  map[string]int              // pods of each gang that are bound now
	whole  map[string]time.Time        // when each gang was whole
	await  map[string]chan<- time.Time // who is to hear that a pod is bound, by its name
	faults []error
}

func newWitness(nodes []*corev1.Node, sizes map[string]int) *witness {
	w := &witness{
		sizes: sizes, ledger: fit.NewLedger(),
		bound: map[string]int{}, whole: map[string]time.Time{}, await: map[string]chan<- time.Time{},
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
	if gang := now.Labels[gangOf]; gang != "" {
		w.bound[gang]++
		if w.bound[gang] == w.sizes[gang] {
			w.whole[gang] = at
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
	return maps.Clone(w.whole)
}

// partial is of how many gangs some pods are bound, and were never all of them.
func (w *witness) partial() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	count := 0
	for gang, bound := range w.bound {
		if _, whole := w.whole[gang]; bound > 0 && !whole {
			count++
		}
	}
	return count
}

// progress says how much of each gang is bound.
func (w *witness) progress() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return fmt.Sprintf("%d gangs were whole; pods bound of each: %v, of %v", len(w.whole), w.bound, w.sizes)
}

// verdict is an error when something happened that must not.
func (w *witness) verdict() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return errors.Join(w.faults...)
}

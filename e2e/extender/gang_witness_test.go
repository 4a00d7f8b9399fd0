package extender_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/fit"
	"muster.dev/muster/e2e/lab"
	"muster.dev/muster/e2e/muster"
	"muster.dev/muster/e2e/workload"
)

// witness has seen all that the API server did with pods and nodes.
type witness struct {
	*server

	mu      sync.Mutex
	ledger  *fit.Ledger
	bound   map[string]int  // pods of each group that were ever bound, "" for pods of none
	over    []string        // bindings to nodes without room
	refused map[string]bool // pods that the scheduler found no node for at some time
	passed  map[string]bool // pods of barriers that are bound

	passesMuster func(*corev1.Pod) // makes a pod one that muster handles before the scheduler does, if it handles any
}

// watch has a witness look on until the test ends.
func (s *server) watch() *witness {
	s.Helper()
	w := &witness{server: s, ledger: fit.NewLedger(), bound: map[string]int{}, refused: map[string]bool{}, passed: map[string]bool{}}
	w.passesMuster = func(*corev1.Pod) {}
	factory := informers.NewSharedInformerFactory(s.Client, 0)
	nodes, pods := factory.Core().V1().Nodes().Informer(), factory.Core().V1().Pods().Informer()
	seen := func(object any) {
		w.mu.Lock()
		defer w.mu.Unlock()
		switch object := object.(type) {
		case *corev1.Node:
			w.ledger.Node(object)
		case *corev1.Pod:
			w.pod(object)
		}
	}
	handler := cache.ResourceEventHandlerFuncs{
		AddFunc:    seen,
		UpdateFunc: func(_, now any) { seen(now) },
		DeleteFunc: func(object any) {
			if tombstone, ok := object.(cache.DeletedFinalStateUnknown); ok {
				object = tombstone.Obj
			}
			if pod, ok := object.(*corev1.Pod); ok {
				w.mu.Lock()
				defer w.mu.Unlock()
				w.ledger.Gone(pod.UID)
			}
		},
	}
	s.Cleanup(factory.Shutdown) // after the context of the test has ended
	for _, informer := range []cache.SharedIndexInformer{nodes, pods} {
		registration, err := informer.AddEventHandler(handler)
		s.Must(err)
		factory.StartWithContext(s.Context())
		if !cache.WaitForCacheSync(s.Context().Done(), registration.HasSynced) {
			s.Fatal("the witness has not seen all that there is")
		}
	}
	return w
}

func (w *witness) pod(pod *corev1.Pod) {
	if unschedulable(pod) {
		w.refused[pod.Name] = true
	}
	bound, lacking := w.ledger.Pod(pod)
	if !bound {
		return
	}
	if lab.IsBarrier(pod) {
		w.passed[pod.Name] = true
		return
	}
	_, group, _ := v1alpha1.GroupOf(pod.Labels, pod.Annotations)
	w.bound[group]++
	if len(lacking) > 0 {
		w.over = append(w.over, fmt.Sprintf("%s on %s, which lacks %s", pod.Name, pod.Spec.NodeName, strings.Join(lacking, ", ")))
	}
}

// everBound is how many pods of each group were ever bound.
func (w *witness) everBound() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.bound)
}

// exactly expects that this number of pods of each group were ever bound, and none of others.
func exactly(want map[string]int) func(bound map[string]int) error {
	return func(bound map[string]int) error {
		if diff := cmp.Diff(want, bound); diff != "" {
			return fmt.Errorf("pods bound of each group (-want +got):\n%s", diff)
		}
		return nil
	}
}

// awaits waits until the right pods have been bound.
func (w *witness) awaits(right func(bound map[string]int) error) {
	w.Helper()
	w.Eventually("gangs start whole or not at all", func() error {
		err := right(w.everBound())
		if err != nil {
			page, _ := w.Page(w.Context(), "/debug/gangs")
			err = fmt.Errorf("%w\n%s", err, page)
		}
		return err
	})
}

// settles is awaits, and it stays right when the scheduler has found no place for any of the other pods, and it and muster
// have gone on to another one. No node was ever overcommitted.
func (w *witness) settles(right func(bound map[string]int) error) {
	w.Helper()
	w.awaits(right)
	w.Eventually("the scheduler has tried all other pods", func() error {
		for name, pod := range w.Pods() {
			if pod.Spec.NodeName == "" && !unschedulable(pod) {
				return fmt.Errorf("pod %s is not known to be unschedulable", name)
			}
		}
		return nil
	})
	w.stays(right, w.schedulers()...)
}

// stays has a pod for each scheduler pass through all that the others pass through. It is right then, too.
func (w *witness) stays(right func(bound map[string]int) error, schedulers ...string) {
	w.Helper()
	for _, scheduler := range schedulers {
		pod := w.Barrier(workload.ScheduledBy(scheduler), w.passesMuster)
		w.Eventually("the witness has seen it", func() error {
			w.mu.Lock()
			defer w.mu.Unlock()
			if !w.passed[pod.Name] {
				return errors.New("it has not")
			}
			return nil
		})
	}
	w.Must(right(w.everBound()))
	if over := w.overcommitted(); len(over) > 0 {
		w.Errorf("nodes were overcommitted:\n%s", strings.Join(over, "\n"))
	}
}

// schedulers lists the schedulers that pods name.
func (w *witness) schedulers() []string {
	names := map[string]bool{}
	for _, pod := range w.Pods() {
		names[pod.Spec.SchedulerName] = true
	}
	if len(names) == 0 {
		names[corev1.DefaultSchedulerName] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// wantNoneRefused fails if the scheduler ever found no node for a pod: it had one try, and that was good.
func (w *witness) wantNoneRefused() {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.refused) > 0 {
		w.Errorf("the scheduler has tried pods that had no place: %v", slices.Sorted(maps.Keys(w.refused)))
	}
}

// overcommitted are the bindings to nodes without room.
func (w *witness) overcommitted() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.over)
}

func unschedulable(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Reason == corev1.PodReasonUnschedulable {
			return true
		}
	}
	return false
}

// stages is how far the members of a gang are, as /debug/gangs shows it.
func (s *server) stages(gang string) (muster.Gang, error) {
	gangs, err := s.Gangs(s.Context())
	stages, is := gangs[workload.Namespace+"/"+gang]
	if err == nil && !is {
		err = fmt.Errorf("there is no gang %s: %v", gang, gangs)
	}
	return stages, err
}

// awaitHeld waits until muster holds bind calls about a number of members of a gang.
func (s *server) awaitHeld(gang string, want int) {
	s.Helper()
	s.Eventually(fmt.Sprintf("%d members of %s are held", want, gang), func() error {
		stages, err := s.stages(gang)
		if err == nil && stages.Held != want {
			err = fmt.Errorf("%+v", stages)
		}
		return err
	})
}

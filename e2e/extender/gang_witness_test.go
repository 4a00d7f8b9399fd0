package extender_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/e2e/fit"
)

// witness has seen all that the API server did with pods and nodes.
type witness struct {
	*server

	mu     sync.Mutex
	ledger *fit.Ledger
	bound  map[string]int // pods of each group that were ever bound, "" for those of none
	over   []string       // bindings to nodes without room
}

// watch has a witness look on until the test ends.
func (s *server) watch() *witness {
	s.Helper()
	w := &witness{server: s, ledger: fit.NewLedger(), bound: map[string]int{}}
	factory := informers.NewSharedInformerFactory(s.client, 0)
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
		if err != nil {
			s.Fatal(err)
		}
		factory.StartWithContext(s.Context())
		if !cache.WaitForCacheSync(s.Context().Done(), registration.HasSynced) {
			s.Fatal("the witness has not seen all that there is")
		}
	}
	return w
}

func (w *witness) pod(pod *corev1.Pod) {
	bound, lacking := w.ledger.Pod(pod)
	if !bound {
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

// exactly so many pods of each group were ever bound, and none of others.
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
	w.eventually("gangs start whole or not at all", func() error {
		err := right(w.everBound())
		if err != nil {
			page, _ := w.get("/debug/gangs")
			err = fmt.Errorf("%w\n%s", err, page)
		}
		return err
	})
}

// quiet is how long nothing more may happen: muster plans several times in it.
const quiet = time.Second

// settles is awaits, and it stays right when the scheduler has found no place for any
// of the other pods. No node was ever overcommitted.
func (w *witness) settles(right func(bound map[string]int) error) {
	w.Helper()
	w.awaits(right)
	w.eventually("the scheduler has tried all other pods", func() error {
		pods, err := w.pods()
		for name, pod := range pods {
			if pod.Spec.NodeName == "" && !unschedulable(pod) {
				return fmt.Errorf("pod %s is not unschedulable yet", name)
			}
		}
		return err
	})
	until := time.Now().Add(quiet)
	w.eventually("some time has passed", func() error {
		if err := right(w.everBound()); err != nil {
			w.Fatal(err)
		}
		if left := time.Until(until); left > 0 {
			return fmt.Errorf("%s are left", left)
		}
		return nil
	})
	if over := w.overcommitted(); len(over) > 0 {
		w.Errorf("nodes were overcommitted:\n%s", strings.Join(over, "\n"))
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

// stages is how many members of a gang are how far, as /debug/gangs shows it.
func (s *server) stages(gang string) (map[string]string, error) {
	page, err := s.get("/debug/gangs")
	if err != nil {
		return nil, err
	}
	var heading []string
	for line := range strings.Lines(page) {
		columns := strings.Fields(line)
		switch {
		case len(columns) > 0 && columns[0] == "GANG":
			heading = columns
		case len(columns) >= 8 && strings.HasSuffix(columns[0], "/"+gang):
			stages := map[string]string{}
			for i, column := range columns[:8] {
				stages[strings.ToLower(heading[i])] = column
			}
			return stages, nil
		}
	}
	return nil, fmt.Errorf("there is no gang %s: %s", gang, page)
}

// awaitHeld waits until muster holds bind calls about so many members of a gang.
func (s *server) awaitHeld(gang string, want int) {
	s.Helper()
	s.eventually(fmt.Sprintf("%d members of %s are held", want, gang), func() error {
		stages, err := s.stages(gang)
		if err == nil && stages["held"] != fmt.Sprint(want) {
			err = fmt.Errorf("%v", stages)
		}
		return err
	})
}

package backfill_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/server/simulation"
)

const rackKey = "example.com/rack"

// racks labels nodes, two in each rack.
func (w *world) racks() {
	w.Helper()
	for at := range w.Cluster.Snapshot().NodeCount() {
		node := w.Cluster.Snapshot().NodeByName(fmt.Sprintf("n%03d", at)).DeepCopy()
		metav1.SetMetaDataLabel(&node.ObjectMeta, rackKey, fmt.Sprint("r", at/2))
		w.Set(node)
	}
}

// Half of each rack falls free at once, so that a gang could start across racks; one rack is free as a whole only later, and the other
// one later still. Room is booked in the first one, for a gang that has to be in one.
func TestRoomIsBookedInOneRackForAGangThatHasToBeThere(t *testing.T) {
	for _, required := range []bool{true, false} {
		run(t, 10*time.Second, func(w *world) {
			w.Nodes(8, 2)
			w.racks()
			runs := map[string]time.Duration{}
			for at := range 16 { // of each rack the last pod takes longer than the ones before, and the more so the later the rack is
				name := fmt.Sprintf("first-%02d", at)
				runs[name] = 2 * time.Minute
				if at%4 == 3 {
					runs[name] += time.Duration(at/4+1) * 4 * time.Minute
				}
				w.Queue(simulation.Pod(name, runs[name], func(p *corev1.Pod) {
					p.Spec.NodeSelector = map[string]string{rackKey: fmt.Sprint("r", at/4)}
				}))
			}
			long := func(p *corev1.Pod) time.Duration {
				if of, is := runs[p.Name]; is {
					return of
				}
				return 10 * time.Hour
			}
			w.Pass(1, func(int) {}, long)
			w.gangOf("g", 4, func(p *corev1.Pod) {
				if required {
					metav1.SetMetaDataAnnotation(&p.ObjectMeta, v1alpha1.AnnotationRequiredTopology, rackKey)
				}
			})
			w.Pass(60, func(int) {}, long)
			want := 2 * time.Minute
			if required {
				want = 6 * time.Minute // when the first rack is free as a whole
			}
			booked := w.Booker.Booked()
			if left := time.Until(booked.From) + time.Minute; booked.Pods != 4 || (left-want).Abs() > 10*time.Second {
				t.Fatalf("required %t: room is booked for %d pods in %s, want 4 in %s", required, booked.Pods, left, want)
			}
			if !required {
				return
			}
			w.Pass(90, func(int) {}, long) // three places of each rack are free by now
			others := []string{"first-rack", "second-rack"}
			for i, name := range others {
				w.Queue(simulation.Pod(name, 0, func(p *corev1.Pod) { p.Spec.NodeSelector = map[string]string{rackKey: fmt.Sprint("r", i)} }))
			}
			w.Pass(10, func(int) {}, long)
			if w.isBound(others[0]) || !w.isBound(others[1]) {
				t.Errorf("bound in the booked rack: %t, in the other one: %t", w.isBound(others[0]), w.isBound(others[1]))
			}
			w.Pass(240, func(int) {}, long)
			if got := w.started("g"); got != 4 {
				t.Fatalf("%d of 4 members have started", got)
			}
			for node := range w.Cluster.Snapshot().Nodes() {
				for _, pod := range node.Pods {
					if pod.Name[:2] == "g-" && node.Labels[rackKey] != "r0" {
						t.Errorf("%s is on %s in %s", pod.Name, node.Name, node.Labels[rackKey])
					}
				}
			}
		})
	}
}

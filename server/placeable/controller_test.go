package placeable

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const readyFor = "Ready: there are places for all %d pods, which are kept until they come, for 5m0s"

func TestAWorkloadIsReadyOnceAllItsPodsHaveAPlace(t *testing.T) {
	tainted := func(node *corev1.Node) {
		node.Spec.Taints = []corev1.Taint{{Key: "gpu", Effect: corev1.TaintEffectNoSchedule}}
	}
	for name, test := range map[string]struct {
		nodes    map[string]string // CPUs
		change   func(*corev1.Node)
		objects  []string
		workload string
		want     string
		kept     map[string]int
	}{
		"there is room": {
			nodes: map[string]string{"a": "4", "b": "2"}, workload: job("w", 3, "", "", ""),
			want: fmt.Sprintf(readyFor, 3), kept: map[string]int{"a": 2, "b": 1},
		},
		"there is room for less": {
			nodes: map[string]string{"a": "4", "b": "2"}, workload: job("w", 4, "", "", ""),
			want: "Pending: places for 3 of 4 pods main: 2 Insufficient cpu",
		},
		"the sum is there, and no node has it": {
			nodes: map[string]string{"a": "3", "b": "3"}, workload: job("w", 3, "", "", ""),
			want: "Pending: places for 2 of 3 pods main: 2 Insufficient cpu",
		},
		"fewer pods are admitted than were asked for": {
			nodes: map[string]string{"a": "4"}, workload: job("w", 3, "", "count: 2", ""), want: fmt.Sprintf(readyFor, 2),
			kept: map[string]int{"a": 2},
		},
		"it has no pods": {workload: job("w", 0, "", "", ""), want: fmt.Sprintf(readyFor, 0)},
		"a flavor says on which nodes": {
			nodes: map[string]string{"a": "4", "b": "4"}, objects: []string{`
{kind: ResourceFlavor, metadata: {name: on-b}, spec: {nodeLabels: {kubernetes.io/hostname: b}}}`},
			workload: job("w", 2, "", "flavors: {cpu: on-b, memory: on-b}", ""), want: fmt.Sprintf(readyFor, 2), kept: map[string]int{"b": 2},
		},
		"a flavor has pods tolerate": {
			nodes: map[string]string{"a": "4"}, change: tainted, objects: []string{`
{kind: ResourceFlavor, metadata: {name: gpu}, spec: {tolerations: [{key: gpu, operator: Exists}]}}`},
			workload: job("w", 2, "", "flavors: {cpu: gpu}", ""), want: fmt.Sprintf(readyFor, 2), kept: map[string]int{"a": 2},
		},
		"nothing has pods tolerate": {
			nodes: map[string]string{"a": "4"}, change: tainted, workload: job("w", 2, "", "", ""),
			want: "Pending: places for 0 of 2 pods main: 1 node(s) had untolerated taint(s)",
		},
		"a flavor is not there": {
			nodes: map[string]string{"a": "4"}, workload: job("w", 1, "", "flavors: {cpu: gone}", ""),
			want: "Pending: the ResourceFlavor gone is not there",
		},
		"Kueue says on which nodes": {
			nodes: map[string]string{"a-1": "4", "a-2": "4", "b": "8"}, workload: job("w", 3, "", `topologyAssignment: {
      levels: [rack, kubernetes.io/hostname], slices: [{domainCount: 2, podCounts: {individual: [1, 2]},
      valuesPerLevel: [{universal: r}, {individual: {prefix: a-, roots: ["1", "2"]}}]}]}`, ""),
			want: fmt.Sprintf(readyFor, 3), kept: map[string]int{"a-1": 1, "a-2": 2},
		},
		"Kueue says on which nodes, and one is full": {
			nodes: map[string]string{"a-1": "1", "a-2": "4", "b": "8"}, workload: job("w", 2, "", `topologyAssignment: {
      levels: [kubernetes.io/hostname], slices: [{domainCount: 2, podCounts: {universal: 1},
      valuesPerLevel: [{individual: {prefix: a-, roots: ["1", "2"]}}]}]}`, ""),
			want: "Pending: places for 1 of 2 pods main: 2 node(s) didn't match Pod's node affinity/selector, 1 Insufficient cpu",
		},
		"its scheduler is nobody's": {
			nodes: map[string]string{"a": "4"}, workload: job("w", 1, "schedulerName: other, ", "", ""),
			want: `Pending: pods main name the scheduler "other", and muster has no profile for it`,
		},
		"it has more pods than a gang may have": {
			nodes: map[string]string{"a": "4"}, workload: job("w", 2_000_000_000, "", "", ""),
			want: "Pending: it has 2000000000 pods: room is looked for up to 10000",
		},
		"it is evicted": {
			nodes:    map[string]string{"a": "4"},
			workload: job("w", 1, "", "", `- {type: Evicted, status: "True", lastTransitionTime: "2030-01-01T00:00:00Z"}`), want: "Pending: ",
		},
		"no quota is reserved": {
			nodes: map[string]string{"a": "4"}, workload: strings.Replace(job("w", 1, "", "", ""), `"True"`, `"False"`, 1), want: "Pending: ",
		},
		"it is another check": {
			nodes: map[string]string{"a": "4"}, workload: strings.Replace(job("w", 1, "", "", ""), "name: placeable", "name: theirs", 1), want: "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, append(test.objects, test.workload)...)
			for name, cpu := range test.nodes {
				w.node(name, cpu, func(node *corev1.Node) {
					if test.change != nil {
						test.change(node)
					}
				})
			}
			w.look()
			if got := w.says("w"); got != test.want {
				t.Errorf("it says %q, want %q", got, test.want)
			}
			if diff := cmp.Diff(test.kept, w.kept()); diff != "" && len(test.kept)+len(w.kept()) > 0 {
				t.Errorf("room is kept (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRoomIsKeptUntilThePodsCome(t *testing.T) {
	w := newWorld(t, job("first", 2, "", "", ""))
	w.node("a", "4")
	w.look()
	w.create(job("second", 1, "", "", ""))
	noPlace := "Pending: places for 0 of 1 pods main: 1 Insufficient cpu"
	for i, want := range []map[string]int{{"a": 2}, {"a": 1}, {}} {
		if i > 0 {
			w.bind("first", fmt.Sprint("pod-", i), "a")
		}
		w.look()
		if diff := cmp.Diff(want, w.kept()); diff != "" {
			t.Fatalf("once %d pods have come room is kept (-want +got):\n%s", i, diff)
		}
		if got := w.says("second"); got != noPlace {
			t.Fatalf("once %d pods have come the second one says %q", i, got)
		}
	}
	// A pod that is gone is not waited for again.
	if err := w.cluster.Delete(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod-1", Namespace: "default", UID: "pod-1"}}); err != nil {
		t.Fatal(err)
	}
	w.look()
	if got, want := w.says("second"), fmt.Sprintf(readyFor, 1); got != want {
		t.Errorf("the second one says %q, want %q", got, want)
	}
}

func TestRoomIsGivenToOthersWhenTimeIsUp(t *testing.T) {
	for name, test := range map[string]struct {
		after    time.Duration
		admitted bool
		want     string
		kept     int
	}{
		"it is not": {after: keepFor - time.Second, want: fmt.Sprintf(readyFor, 2), kept: 2},
		"Kueue waits for something else": {
			after: keepFor, want: "Retry: its pods have not come in 5m0s: the room that was kept is given to others",
		},
		"its pods may run": {after: keepFor, admitted: true, want: fmt.Sprintf(readyFor, 2)},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, job("w", 2, "", "", ""))
			w.node("a", "4")
			w.look()
			if test.admitted {
				w.update("w", func(status map[string]any) {
					status["conditions"] = append(status["conditions"].([]any),
						map[string]any{"type": "Admitted", "status": "True", "lastTransitionTime": "2030-01-01T00:00:00Z"})
				})
			}
			w.look()
			w.clock.Step(test.after)
			w.look()
			w.look()
			if got := w.says("w"); got != test.want {
				t.Errorf("it says %q, want %q", got, test.want)
			}
			if got := w.kept()["a"]; got != test.kept {
				t.Errorf("room is kept for %d pods, want %d", got, test.kept)
			}
		})
	}
}

func TestRoomIsKeptAgainAfterARestartForPodsThatHaveNotCome(t *testing.T) {
	w := newWorld(t, job("w", 3, "", "", ""))
	w.node("a", "6")
	w.look()
	w.bind("w", "pod-1", "a")
	w.restart()
	w.create(job("other", 1, "", "", ""))
	for range 2 {
		w.look()
		if diff := cmp.Diff(map[string]int{"a": 2}, w.kept()); diff != "" {
			t.Fatalf("room is kept (-want +got):\n%s", diff)
		}
	}
	w.bind("w", "pod-2", "a")
	w.bind("w", "pod-3", "a")
	w.look()
	if kept := w.kept(); len(kept) > 0 {
		t.Errorf("room is kept once all have come: %v", kept)
	}
}

func TestRoomIsFoundElsewhereWhenItsNodeIsGone(t *testing.T) {
	w := newWorld(t, job("w", 2, "", "", ""))
	w.node("a", "4")
	w.look()
	w.node("b", "2")
	if err := w.cluster.Delete(&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}); err != nil {
		t.Fatal(err)
	}
	w.look()
	if diff := cmp.Diff(map[string]int{"b": 1}, w.kept()); diff != "" {
		t.Errorf("room is kept (-want +got):\n%s", diff)
	}
}

func TestQuotaThatIsLostTakesTheRoomWithIt(t *testing.T) {
	for name, change := range map[string]func(status map[string]any){
		"it is evicted": func(status map[string]any) {
			status["conditions"] = append(status["conditions"].([]any), map[string]any{"type": "Evicted", "status": "True"})
		},
		"it is finished": func(status map[string]any) {
			status["conditions"] = append(status["conditions"].([]any), map[string]any{"type": "Finished", "status": "True"})
		},
		"it has no admission": func(status map[string]any) { delete(status, "admission") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, job("w", 2, "", "", ""))
			w.node("a", "4")
			w.look()
			w.update("w", change)
			w.look()
			if kept := w.kept(); len(kept) > 0 {
				t.Errorf("room is kept: %v", kept)
			}
		})
	}
}

func TestTheMostImportantOfWorkloadsComesFirst(t *testing.T) {
	later := strings.Replace(job("later", 2, "", "", ""), "00:00:00Z", "00:00:09Z", 1)
	important := strings.Replace(job("important", 2, "", "", ""), "00:00:00Z", "00:00:30Z", 1)
	important = strings.Replace(important, "spec:\n", "spec:\n  priority: 1\n", 1)
	w := newWorld(t, later, job("sooner", 2, "", "", ""), important)
	for i, want := range []string{"important", "sooner", "later"} {
		w.node(fmt.Sprint("node-", i), "4")
		w.look()
		w.look()
		if got := w.says(want); got != fmt.Sprintf(readyFor, 2) {
			t.Fatalf("with room for %d workloads %s says %q", i+1, want, got)
		}
	}
}

func TestOtherChecksStayAsTheyAre(t *testing.T) {
	w := newWorld(t, job("w", 1, "", "", ""))
	w.node("a", "4")
	before := w.get("w").Object["status"].(map[string]any)["admissionChecks"].([]any)[0]
	w.look()
	after := w.get("w").Object["status"].(map[string]any)["admissionChecks"].([]any)
	if diff := cmp.Diff(before, after[0]); diff != "" || len(after) != 2 {
		t.Errorf("%d checks; the other one (-before +after):\n%s", len(after), diff)
	}
}

func TestItIsSaidThatTheCheckIsAnswered(t *testing.T) {
	w := newWorld(t, `{kind: AdmissionCheck, metadata: {name: theirs}, spec: {controllerName: example.com/theirs}}`)
	w.look()
	for name, want := range map[string]bool{"placeable": true, "theirs": false} {
		object, err := w.client.Resource(admissionChecks()).Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got := meta.IsStatusConditionTrue(conditionsOf(object), active); got != want {
			t.Errorf("%s is active: %t, want %t", name, got, want)
		}
	}
}

// The numbers in a message change with every pod of a cluster.
func TestAMessageStaysForAWhile(t *testing.T) {
	w := newWorld(t, job("w", 3, "", "", ""))
	w.node("a", "2")
	w.look()
	first := w.says("w")
	w.node("b", "2")
	w.look()
	if got := w.says("w"); got != first {
		t.Errorf("it says %q at once, after %q", got, first)
	}
	w.clock.Step(retold)
	w.node("c", "1")
	w.look()
	if got, want := w.says("w"), "Pending: places for 2 of 3 pods main: 3 Insufficient cpu"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}

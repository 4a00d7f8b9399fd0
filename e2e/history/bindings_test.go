package history

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
)

func TestBindingsAreAuditedInTheOrderOfVersions(t *testing.T) {
	for name, test := range map[string]struct {
		events        []watch.Event
		bindings      int
		overcommitted string
	}{
		"each has room": {
			events:   []watch.Event{shown(node("1")), shown(boundAt("2", "a")), deleted(boundAt("3", "a")), shown(boundAt("4", "b"))},
			bindings: 2,
		},
		"the nodes are heard of last": {
			events:   []watch.Event{shown(boundAt("2", "a")), shown(node("1"))},
			bindings: 1,
		},
		"the second is bound before the first is gone": {
			events:        []watch.Event{shown(node("1")), shown(boundAt("2", "a")), shown(boundAt("3", "b")), deleted(boundAt("4", "a"))},
			bindings:      2,
			overcommitted: "pod b on node n at version 3: too little cpu",
		},
		"versions are numbers": {
			events:   []watch.Event{shown(node("8")), shown(boundAt("9", "a")), deleted(boundAt("10", "a")), shown(boundAt("11", "b"))},
			bindings: 2,
		},
		"what else is new of a pod": {
			events:   []watch.Event{shown(node("1")), shown(boundAt("2", "a")), shown(boundAt("3", "a"))},
			bindings: 1,
		},
		"the first has finished": {
			events:   []watch.Event{shown(node("1")), shown(boundAt("2", "a")), shown(boundAt("3", "a", succeed)), shown(boundAt("4", "b"))},
			bindings: 2,
		},
		"the node is lost and returns": {
			events:        []watch.Event{shown(node("1")), shown(boundAt("2", "a")), deleted(node("3")), shown(node("4")), shown(boundAt("5", "b"))},
			bindings:      2,
			overcommitted: "pod b",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := NewBindings()
			for _, e := range test.events {
				r.Observe(e)
			}
			audit, err := r.Audit()
			if err != nil {
				t.Fatal(err)
			}
			if audit.Bindings != test.bindings {
				t.Errorf("%d bindings, want %d", audit.Bindings, test.bindings)
			}
			got := strings.Join(audit.Overcommitted, "; ")
			if (got == "") != (test.overcommitted == "") || !strings.Contains(got, test.overcommitted) {
				t.Errorf("overcommitted: %q, want it to contain %q", got, test.overcommitted)
			}
		})
	}
}

func TestAVersionThatIsNoNumberMakesTheHistoryWorthless(t *testing.T) {
	r := NewBindings()
	r.Observe(shown(node("x")))
	if _, err := r.Audit(); err == nil {
		t.Error("no error")
	}
}

func TestAPodThatIsOnTwoNodesIsTold(t *testing.T) {
	elsewhere := func(p *corev1.Pod) { p.Spec.NodeName = "m" }
	b := NewBindings()
	for _, e := range []watch.Event{
		shown(boundAt("1", "a")), shown(boundAt("2", "b")), shown(boundAt("3", "a", elsewhere)), deleted(boundAt("4", "b")),
	} {
		b.Observe(e)
	}
	audit, err := b.Audit()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{`pod a from node n to "m" at version 3`}
	if diff := cmp.Diff(want, audit.Moved); diff != "" {
		t.Errorf("moved (-want +got):\n%s", diff)
	}
}

func shown(o runtime.Object) watch.Event   { return watch.Event{Type: watch.Modified, Object: o} }
func deleted(o runtime.Object) watch.Event { return watch.Event{Type: watch.Deleted, Object: o} }

// node has room for one pod.
func node(version string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n", ResourceVersion: version},
		Status: corev1.NodeStatus{Allocatable: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourcePods: resource.MustParse("9"),
		}},
	}
}

func boundAt(version, name string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, UID: types.UID(name), ResourceVersion: version},
		Spec: corev1.PodSpec{NodeName: "n", Containers: []corev1.Container{{
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1")}},
		}}},
	}
	for _, f := range change {
		f(p)
	}
	return p
}

func succeed(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }

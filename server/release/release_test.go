package release

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/scheduling/v1alpha1"
)

func newPod(name string, gates ...string) *corev1.Pod {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: name, UID: types.UID(name)}}
	for _, gate := range gates {
		pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: gate})
	}
	return pod
}

// told is the output of Run, by pod.
type told map[string]string

func run(t *testing.T, client *fake.Clientset, o Options) (told, int, int) {
	t.Helper()
	said, lifted, failed, err := runWith(t, client, o)
	if err != nil {
		t.Fatal(err)
	}
	return said, lifted, failed
}

// runWith runs in a bubble of fake time, and may fail.
func runWith(t *testing.T, client *fake.Clientset, o Options) (said told, lifted, failed int, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		said, o.Pods, o.Clock = told{}, client.CoreV1(), clock.RealClock{}
		o.Told = func(pod types.NamespacedName, gates []string, err error) { said[pod.Name] = fmt.Sprint(gates, err) }
		lifted, failed, err = Run(t.Context(), o)
	})
	return said, lifted, failed, err
}

func gates(t *testing.T, client *fake.Clientset, name string) (names []string) {
	t.Helper()
	pod, err := client.CoreV1().Pods("d").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, gate := range pod.Spec.SchedulingGates {
		names = append(names, gate.Name)
	}
	return names
}

func TestMustersGatesAreLiftedAndThoseOfOthersStay(t *testing.T) {
	client := fake.NewClientset(
		newPod("member", "muster.dev/gang"), newPod("ahead", "later", "muster.dev/ahead"), newPod("both", "muster.dev/gang", "muster.dev/ahead"),
		newPod("others", "later"), newPod("none"))
	said, lifted, failed := run(t, client, Options{})
	want := told{"member": "[muster.dev/gang] <nil>", "ahead": "[muster.dev/ahead] <nil>", "both": "[muster.dev/gang muster.dev/ahead] <nil>"}
	if diff := cmp.Diff(want, said); diff != "" || lifted != 3 || failed != 0 {
		t.Errorf("%d lifted, %d failed (-want +got):\n%s", lifted, failed, diff)
	}
	for name, want := range map[string][]string{"member": nil, "ahead": {"later"}, "both": nil, "others": {"later"}} {
		if diff := cmp.Diff(want, gates(t, client, name)); diff != "" {
			t.Errorf("gates of %s (-want +got):\n%s", name, diff)
		}
	}
}

func TestAllPagesAreRead(t *testing.T) {
	client := fake.NewClientset()
	pages := [][]string{{"a", "b"}, {"c"}}
	client.PrependReactor("list", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		o := action.(clienttesting.ListActionImpl).ListOptions
		if o.Limit != pageSize || o.FieldSelector != "spec.nodeName=" {
			t.Errorf("asked for %d pods with %q", o.Limit, o.FieldSelector)
		}
		at := 0
		if o.Continue == "next" {
			at = 1
		}
		list := &corev1.PodList{}
		for _, name := range pages[at] {
			list.Items = append(list.Items, *newPod(name, "muster.dev/gang"))
		}
		if at == 0 {
			list.Continue = "next"
		}
		return true, list, nil
	})
	tries := map[string]int{}
	client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		tries[action.(clienttesting.PatchAction).GetName()]++ // one reactor at a time
		return true, newPod("x"), nil
	})
	// What it reads is as before each time, so that it never finds nothing.
	if _, lifted, _ := run(
		t,
		client,
		Options{},
	); lifted != 3*passes ||
		!cmp.Equal(tries, map[string]int{"a": passes, "b": passes, "c": passes}) {
		t.Errorf("%d lifted, by %v", lifted, tries)
	}
}

func TestPodsThatCannotBeReleasedAreNamedAndTheOthersReleased(t *testing.T) {
	client := fake.NewClientset(
		newPod("a", "muster.dev/gang"),
		newPod("b", "muster.dev/gang"),
		newPod("c", "muster.dev/gang"),
		newPod("d", "muster.dev/gang"),
	)
	once := []string{"c"}
	client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		name := action.(clienttesting.PatchAction).GetName()
		switch {
		case name == "b":
			return true, nil, errors.New("refused")
		case slices.Contains(once, name):
			once = nil
			return true, nil, errors.New("busy")
		case name == "d":
			return true, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "pods"}, name)
		}
		return false, nil, nil
	})
	said, lifted, failed := run(t, client, Options{})
	want := told{"a": "[muster.dev/gang] <nil>", "b": "[] refused", "c": "[muster.dev/gang] <nil>"}
	if diff := cmp.Diff(want, said); diff != "" || lifted != 2 || failed != 1 {
		t.Errorf("%d lifted, %d failed (-want +got):\n%s", lifted, failed, diff)
	}
}

func TestADryRunIsOne(t *testing.T) {
	client := fake.NewClientset(newPod("a", "muster.dev/gang"))
	client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if o := action.(clienttesting.PatchActionImpl).PatchOptions; !slices.Equal(o.DryRun, []string{metav1.DryRunAll}) {
			t.Errorf("written with %+v", o)
		}
		return true, newPod("a"), nil
	})
	if said, lifted, _ := run(t, client, Options{DryRun: true}); lifted != 1 || said["a"] != "[muster.dev/gang] <nil>" {
		t.Errorf("%d lifted: %v", lifted, said)
	}
}

func TestWhatMayPassIsTriedForAMinuteAndWhatMayNotOnce(t *testing.T) {
	for name, test := range map[string]struct {
		verb  string
		err   error
		times int // that it fails
		tries int
		want  string
	}{
		"pods cannot be read for a while":        {"list", errors.New("away"), 3, 5, "1 0 <nil>"}, // and a look that finds none
		"pods cannot be read":                    {"list", errors.New("away"), 99, 13, "0 0 list pods: away"},
		"pods must not be read":                  {"list", apierrors.NewUnauthorized("no"), 99, 1, "0 0 list pods: no"},
		"pods cannot be written to for a while":  {"patch", apierrors.NewTooManyRequestsError("busy"), 3, 4, "1 0 <nil>"},
		"pods cannot be written to":              {"patch", errors.New("away"), 99, 13, "0 1 <nil>"},
		"somebody's policy keeps the gates on":   {"patch", apierrors.NewForbidden(pods, "a", nil), 99, 1, "0 1 <nil>"},
		"the pod would not be valid without one": {"patch", apierrors.NewInvalid(schema.GroupKind{}, "a", nil), 99, 1, "0 1 <nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			client, tries := fake.NewClientset(newPod("a", "muster.dev/gang")), 0
			client.PrependReactor(test.verb, "pods", func(clienttesting.Action) (bool, runtime.Object, error) {
				tries++ // one reactor at a time
				return tries <= test.times, nil, test.err
			})
			_, lifted, failed, err := runWith(t, client, Options{})
			if got := fmt.Sprint(lifted, failed, err); got != test.want || tries != test.tries {
				t.Errorf("%s after %d tries, want %s after %d", got, tries, test.want, test.tries)
			}
		})
	}
}

var pods = schema.GroupResource{Resource: "pods"}

func TestNothingIsLiftedOnceMusterIsBack(t *testing.T) {
	all := []runtime.Object{lease("a", 1)}
	for i := range 2*batch - 1 {
		all = append(all, newPod(fmt.Sprintf("p-%03d", i), "muster.dev/gang"))
	}
	for name, test := range map[string]struct {
		looks  int // at the lease after which it changes, or cannot be read once
		fails  bool
		lifted int
		want   string
	}{
		"before the first batch":                      {0, false, 0, "muster leads"},
		"before the second":                           {1, false, batch, "muster leads"},
		"after the last":                              {2, false, 2*batch - 1, "<nil>"},
		"it cannot be told for a moment":              {0, true, 2*batch - 1, "<nil>"},
		"it cannot be told for a moment in the midst": {1, true, 2*batch - 1, "<nil>"},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset(all...)
			leases := Lease{client.CoordinationV1().Leases("kube-system"), "muster", clock.RealClock{}}
			first, err := leases.get(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) { // it need not be seen again
				name := action.(clienttesting.PatchAction).GetName()
				return true, newPod(name), client.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), "d", name)
			})
			looks := 0
			client.PrependReactor("get", "leases", func(clienttesting.Action) (bool, runtime.Object, error) {
				looks++
				switch {
				case looks != test.looks+1 && (looks <= test.looks || test.fails):
					return false, nil, nil
				case test.fails:
					return true, nil, errors.New("away")
				}
				return true, lease("a", 2), nil
			})
			_, lifted, failed, err := runWith(t, client, Options{MayGo: (&Absence{leases, first}).Lasts})
			if got := fmt.Sprint(err); got != test.want || lifted != test.lifted || failed != 0 {
				t.Errorf("%d lifted, %d failed, error %s; want %d, %s", lifted, failed, got, test.lifted, test.want)
			}
		})
	}
}

func TestPlaceholderPodsAreDeleted(t *testing.T) {
	room := newPod("room", v1alpha1.PlaceholderGate)
	room.Labels = map[string]string{v1alpha1.LabelPlaceholder: "true"}
	room.OwnerReferences = []metav1.OwnerReference{
		{APIVersion: "rescheduling.muster.dev/v1alpha1", Kind: "ReschedulingPlan", Name: "p", UID: "p", Controller: new(true)},
	}
	client := fake.NewClientset(room, newPod("member", v1alpha1.SchedulingGate), newPod("tenant", v1alpha1.PlaceholderGate))
	said, lifted, failed := run(t, client, Options{})
	if lifted != 2 || failed != 0 || said["room"] == "" || len(gates(t, client, "tenant")) != 1 {
		t.Errorf("%d lifted, %d failed, told %v", lifted, failed, said)
	}
	if _, err := client.CoreV1().Pods("d").Get(t.Context(), "room", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a placeholder pod is there still, where it may run: %v", err)
	}
}

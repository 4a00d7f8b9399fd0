package extender

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/rest"
	clienttesting "k8s.io/client-go/testing"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"muster.dev/muster/api/config"
	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
	"muster.dev/muster/gang/core"
	"muster.dev/muster/server/servertest"
)

// bindings is a client whose POST …/pods/{name}/binding is answered by the test.
func bindings(answer func(*corev1.Binding) error, objects ...runtime.Object) *fake.Clientset {
	client := fake.NewClientset(objects...)
	client.PrependReactor("create", "pods/binding", func(action clienttesting.Action) (bool, runtime.Object, error) {
		binding := action.(clienttesting.CreateAction).GetObject().(*corev1.Binding)
		return true, binding, answer(binding)
	})
	return client
}

func accept(*corev1.Binding) error { return nil }

// unanswering is a client that gets no answer to a binding, nor to a question about its pod then.
func unanswering(answer func(*corev1.Binding) error) *fake.Clientset {
	client := bindings(answer)
	client.PrependReactor("patch", "pods", func(clienttesting.Action) (bool, runtime.Object, error) { return true, nil, io.ErrUnexpectedEOF })
	return client
}

func lose(*corev1.Binding) error { return io.ErrUnexpectedEOF }

// alreadyAssigned is the API server's answer about a pod that has a node.
func alreadyAssigned(binding *corev1.Binding) error {
	return apierrors.NewConflict(corev1.Resource("pods/binding"), binding.Name, errors.New("pod is already assigned to a node"))
}

// isGated is the API server's answer about a pod that has scheduling gates.
func isGated(binding *corev1.Binding) error {
	return apierrors.NewConflict(corev1.Resource("pods/binding"), binding.Name, errors.New("pod p has non-empty .spec.schedulingGates"))
}

func bindingOf(pod *corev1.Pod, node string) extenderv1.ExtenderBindingArgs {
	return extenderv1.ExtenderBindingArgs{PodName: pod.Name, PodNamespace: pod.Namespace, PodUID: pod.UID, Node: node}
}

// bind asks to bind a pod to a node that was offered for it.
func (b *bench) bind(pod *corev1.Pod, node string) string {
	b.Helper()
	b.extender.offerAnyway(pod, node)
	return b.bindAsIs(pod, node)
}

// offerAnyway has a node count as offered for a pod, whatever filter would say.
func (e *Extender) offerAnyway(pod *corev1.Pod, node string) {
	snap := e.picker.cluster.Snapshot()
	if on := snap.NodeByName(node); on != nil {
		e.picker.offers.put(pod.UID, snap.Generation, []int32{on.Index})
	}
}

func (b *bench) bindAsIs(pod *corev1.Pod, node string) string {
	b.Helper()
	return servertest.Ask[extenderv1.ExtenderBindingResult](b.Bench, "bind", bindingOf(pod, node)).Error
}

func TestBindSendsTheUIDAsPrecondition(t *testing.T) {
	var sent []*corev1.Binding
	client := bindings(func(binding *corev1.Binding) error {
		sent = append(sent, binding)
		return nil
	})
	b := newBench(t, benchOptions{client: client})
	b.Node("a", "4")
	pod := b.Pending(servertest.Pod("p", "1"))
	if message := b.bind(pod, "a"); message != "" {
		t.Fatalf("bind answered %q", message)
	}
	want := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: "a"}}
	want.Namespace, want.Name, want.UID = "default", "p", "uid-p"
	if diff := cmp.Diff([]*corev1.Binding{want}, sent); diff != "" {
		t.Errorf("sent to the API server (-want +got):\n%s", diff)
	}
	if got := counted(t, b.metrics, "bind", outcomeOK); got != 1 {
		t.Errorf("%d bindings counted as ok, want 1", got)
	}
}

// permits has gangs answer each bind call with an error.
func (b *bench) permits(err error) {
	b.Helper()
	b.extender.binds.send = func(context.Context, *cluster.Pod, string) (time.Duration, error) { return 0, err }
}

func TestAMemberIsBoundOnceItsGangMayBe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var bound []string
		b := newExtenderBench(t, benchOptions{gangs: true, client: bindings(func(binding *corev1.Binding) error {
			bound = append(bound, binding.Name)
			return nil
		})})
		b.Node("a", "4")
		var members []*corev1.Pod
		for _, name := range []string{"first", "second"} {
			pod := servertest.Pod(name, "1")
			pod.Labels = map[string]string{v1alpha1.LabelMuster: "gang"}
			pod.Annotations = map[string]string{v1alpha1.AnnotationMinMember: "2"}
			members = append(members, b.Pending(pod))
		}
		var calls sync.WaitGroup
		for i, pod := range members {
			b.answer("filter", extenderv1.ExtenderArgs{Pod: pod, NodeNames: &[]string{"a"}}, &extenderv1.ExtenderFilterResult{})
			calls.Go(func() {
				if found, err := b.extender.asked(t.Context(), t, pod, "a"); err != nil || found.outcome != outcomeOK {
					t.Errorf("the bind call of %s ends as %q, error %v", pod.Name, found.outcome, err)
				}
			})
			synctest.Wait()
			if want := []int{0, 2}[i]; len(bound) != want {
				t.Errorf("with the bind calls of %d members %v are bound, want %d", i+1, bound, want)
			}
		}
		calls.Wait()
	})
}

func TestAMemberThatIsToComeAgainIsNoError(t *testing.T) {
	for name, test := range map[string]struct {
		err     error
		outcome string
		logged  bool
	}{
		"the call has taken as long as one may": {core.ErrKept, outcomeKept, false},
		"the time of the gang is up":            {core.ErrTimeout, outcomeError, true},
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			b := newBench(t, benchOptions{client: bindings(accept), log: &log})
			b.Node("a", "4")
			b.permits(test.err)
			if got := b.bind(b.Pending(servertest.Pod("p", "1")), "a"); got != test.err.Error() {
				t.Errorf("answered %q, want %q", got, test.err)
			}
			if got := counted(t, b.metrics, "bind", test.outcome); got != 1 {
				t.Errorf("%d calls are counted as %s, want 1", got, test.outcome)
			}
			if logged := strings.Contains(log.String(), "bind failed"); logged != test.logged {
				t.Errorf("logged: %t, want %t:\n%s", logged, test.logged, &log)
			}
		})
	}
}

func TestAPodThatWasDeletedBeforeItsBindingIsNoError(t *testing.T) {
	gone := apierrors.NewNotFound(corev1.Resource("pods"), "p")
	for name, test := range map[string]struct {
		client  *fake.Clientset
		deleted bool
		want    string
	}{
		"the watch has shown it": {bindings(accept), true, errNotThere.Error()},
		"the API server says it": {bindings(func(*corev1.Binding) error { return gone }), false, gone.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			var log strings.Builder
			b := newBench(t, benchOptions{client: test.client, log: &log})
			b.Node("a", "4")
			pod := b.Pending(servertest.Pod("p", "1"))
			if test.deleted {
				if err := b.Cluster.Delete(pod); err != nil {
					t.Fatal(err)
				}
			}
			if got := b.bind(pod, "a"); got != test.want {
				t.Errorf("answered %q, want %q", got, test.want)
			}
			if got := counted(t, b.metrics, "bind", outcomeGone); got != 1 {
				t.Errorf("%d calls are counted as %s, want 1", got, outcomeGone)
			}
			if strings.Contains(log.String(), "bind failed") {
				t.Errorf("logged:\n%s", &log)
			}
		})
	}
}

func TestWhatTheAPIServerSaysDecidesAboutABinding(t *testing.T) {
	on := func(node string, uid types.UID) *corev1.Pod {
		pod := servertest.Pod("p", "1")
		pod.UID, pod.Spec.NodeName = uid, node
		return pod
	}
	fails := func(*corev1.Binding) error { return apierrors.NewInternalError(errors.New("etcd is away")) }
	for name, test := range map[string]struct {
		there   []runtime.Object // the pods that the API server has
		answer  func(*corev1.Binding) error
		want    string // the error of the answer
		assumed string // where the pod counts afterwards
	}{
		"it binds the pod":                       {nil, accept, "", "a"},
		"the pod is on that node already":        {[]runtime.Object{on("a", "uid-p")}, alreadyAssigned, "", "a"},
		"the pod is on another node":             {[]runtime.Object{on("b", "uid-p")}, alreadyAssigned, errConflict.Error(), ""},
		"a pod of the same name is on that node": {[]runtime.Object{on("a", "another")}, alreadyAssigned, errConflict.Error(), ""},
		"the pod is gone":                        {nil, alreadyAssigned, errConflict.Error(), ""},
		"the pod is gated":                       {[]runtime.Object{on("", "uid-p")}, isGated, errGated.Error(), ""},
		"it refuses": {
			nil, func(*corev1.Binding) error {
				return apierrors.NewForbidden(corev1.Resource("pods/binding"), "p", errors.New("no"))
			},
			`pods/binding "p" is forbidden: no`, "",
		},
		"it fails, and the pod is gone": {nil, fails, "Internal error occurred: etcd is away", ""},
		"it fails, and the pod has no node": {
			[]runtime.Object{on("", "uid-p")}, fails, "Internal error occurred: etcd is away", "",
		},
		"it fails after it has bound the pod": {[]runtime.Object{on("a", "uid-p")}, fails, "", "a"},
		"its answer is lost": {
			[]runtime.Object{on("", "uid-p")}, lose, "unexpected EOF", "a", // it may be bound yet
		},
		"the API server does not wait for the end": {
			[]runtime.Object{on("", "uid-p")},
			func(*corev1.Binding) error { return apierrors.NewTimeoutError("slow", 1) },
			"Timeout: slow", "a",
		},
		"its answer is lost after it has bound the pod": {
			[]runtime.Object{on("a", "uid-p")}, lose, "", "a",
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, benchOptions{client: bindings(test.answer, test.there...)})
			b.Node("a", "4")
			b.Node("b", "4")
			pod := b.Pending(servertest.Pod("p", "1"))
			if got := b.bind(pod, "a"); got != test.want {
				t.Errorf("bind answered %q, want %q", got, test.want)
			}
			if got := b.Cluster.Assumed(pod.UID); got != test.assumed {
				t.Errorf("the pod is assumed on %q, want %q", got, test.assumed)
			}
			outcome := outcomeOK
			if test.want != "" {
				outcome = outcomeError
			}
			if got := counted(t, b.metrics, "bind", outcome); got != 1 {
				t.Errorf("%d calls counted as %s, want 1", got, outcome)
			}
		})
	}
}

func TestAPodCountsOnItsNodeWhileItIsBeingBound(t *testing.T) {
	reached, answer := make(chan struct{}), make(chan error)
	client := bindings(func(*corev1.Binding) error {
		close(reached)
		return <-answer
	})
	b := newBench(t, benchOptions{client: client})
	b.Node("a", "4")
	pod := b.Pending(servertest.Pod("p", "3"))
	bound := make(chan string)
	go func() { bound <- b.bind(pod, "a") }()
	<-reached
	if got := b.Filter(servertest.Pod("q", "3"), "a"); len(*got.NodeNames) != 0 {
		t.Errorf("room was found on a node that is about to be full: %v", *got.NodeNames)
	}
	answer <- apierrors.NewForbidden(corev1.Resource("pods/binding"), "p", errors.New("no"))
	if message := <-bound; message == "" {
		t.Error("bind succeeded although the API server refused")
	}
	if got := b.Filter(servertest.Pod("q", "3"), "a"); len(*got.NodeNames) != 1 {
		t.Errorf("the room of a refused binding was not given back: %v", got.FailedAndUnresolvableNodes)
	}
}

func TestASnapshotCannotBind(t *testing.T) {
	b := newBench(t, benchOptions{})
	b.Node("a", "4")
	pod := b.Pending(servertest.Pod("p", "1"))
	if got := b.bind(pod, "a"); got != errSnapshot.Error() {
		t.Errorf("bind answered %q, want %q", got, errSnapshot)
	}
	if got := b.Cluster.Assumed(pod.UID); got != "" {
		t.Errorf("the pod is assumed on %q", got)
	}
}

// roundTripper stands for the API server and the way to it.
type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestABindingIsFinishedWhenTheCallerGoesAway(t *testing.T) {
	ctx, leave := context.WithCancel(t.Context())
	client, err := kubernetes.NewForConfig(&rest.Config{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		leave()
		body := io.NopCloser(strings.NewReader(`{"kind":"Status","apiVersion":"v1","status":"Success"}`))
		return &http.Response{StatusCode: http.StatusCreated, Body: body}, r.Context().Err()
	})})
	if err != nil {
		t.Fatal(err)
	}
	e, pod := pendingOn(t, client, time.Hour)
	found, err := e.asked(ctx, t, pod, "a")
	if err != nil {
		t.Fatal(err)
	}
	if found.outcome != outcomeOK {
		t.Errorf("the outcome is %q, want %q", found.outcome, outcomeOK)
	}
	if got := e.picker.cluster.Assumed(pod.UID); got != "a" {
		t.Errorf("the pod is assumed on %q, want a", got)
	}
}

func TestAPodStaysAssumedWhenTheAPIServerDoesNotAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, pod := pendingOn(t, unanswering(func(*corev1.Binding) error {
			<-time.After(benchBindTime) // it may or may not have bound the pod
			return context.DeadlineExceeded
		}), time.Hour)
		found, err := e.asked(t.Context(), t, pod, "a")
		if err != nil {
			t.Fatal(err)
		}
		if found.outcome != outcomeError {
			t.Errorf("the outcome is %q, want %q", found.outcome, outcomeError)
		}
		if got := e.picker.cluster.Assumed(pod.UID); got != "a" {
			t.Errorf("the pod is assumed on %q, want a", got)
		}
	})
}

// TestABindingThatFailedCannotComeLate has the API server answer 500 and apply the binding nevertheless if nothing has
// changed the pod by then, as when etcd answers too late.
func TestABindingThatFailedCannotComeLate(t *testing.T) {
	there := servertest.Pod("p", "1")
	client := bindings(func(*corev1.Binding) error { return apierrors.NewInternalError(errors.New("etcd does not answer")) }, there)
	var patched []string
	client.PrependReactor("patch", "pods", func(action clienttesting.Action) (bool, runtime.Object, error) {
		patched = append(patched, action.GetSubresource()+" "+string(action.(clienttesting.PatchAction).GetPatch()))
		return false, nil, nil
	})
	b := newBench(t, benchOptions{client: client})
	b.Node("a", "4")
	pod := b.Pending(servertest.Pod("p", "1"))
	b.bind(pod, "a")
	if len(patched) != 1 || !strings.HasPrefix(patched[0], `status {"metadata":{"annotations":{"muster.dev/woken":"`) ||
		!strings.HasSuffix(patched[0], `"uid":"uid-p"}}`) {
		t.Errorf("patches %q, want one of the status that changes the pod", patched)
	}
	if got := b.Cluster.Assumed(pod.UID); got != "" {
		t.Errorf("the pod is assumed on %q", got)
	}
}

func TestABindingRenewsTheAssumption(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const term = 30 * time.Second
		began := time.Now()
		e, pod := pendingOn(t, bindings(func(*corev1.Binding) error {
			<-time.After(term - time.Second) // a slow API server
			return nil
		}), term)
		if _, err := e.asked(t.Context(), t, pod, "a"); err != nil {
			t.Fatal(err)
		}
		var counts []string
		for _, at := range []time.Duration{term + time.Second, 2*term - 2*time.Second, 2 * term} {
			<-time.After(time.Until(began.Add(at)))
			synctest.Wait()
			counts = append(counts, e.picker.cluster.Assumed(pod.UID))
		}
		if diff := cmp.Diff([]string{"a", "a", ""}, counts); diff != "" {
			t.Errorf("where the pod counts after 31, 58 and 60 seconds (-want +got):\n%s", diff)
		}
	})
}

func TestABindCallForAnotherNodeDoesNotMoveAPodThatIsBeingBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answer := make(chan error)
		e, pod := pendingOn(t, bindings(func(*corev1.Binding) error { return <-answer }), time.Hour)
		other := &corev1.Node{}
		other.Name = "b"
		if err := e.picker.cluster.Set(other); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error)
		var first report
		go func() {
			var err error
			first, err = e.asked(t.Context(), t, pod, "a")
			ended <- err
		}()
		synctest.Wait()
		if second, err := e.asked(t.Context(), t, pod, "b"); err != nil || second.outcome != outcomeError {
			t.Errorf("the second call ends as %q, error %v", second.outcome, err)
		}
		if got := e.picker.cluster.Assumed(pod.UID); got != "a" {
			t.Errorf("the pod is assumed on %q, want a", got)
		}
		answer <- nil
		if err := <-ended; err != nil || first.outcome != outcomeOK {
			t.Errorf("the first call ends as %q, error %v", first.outcome, err)
		}
	})
}

// pendingOn is an extender that sees one node named a and one pending pod.
func pendingOn(t *testing.T, client kubernetes.Interface, assumeTTL time.Duration) (*Extender, *corev1.Pod) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	c := cluster.New(cluster.Options{Logger: log, Registerer: prometheus.NewRegistry(), AssumeTTL: assumeTTL})
	pod := servertest.Pod("p", "1")
	node := &corev1.Node{}
	node.Name = "a"
	node.Status.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourcePods: resource.MustParse("9")}
	for _, object := range []runtime.Object{node, pod.DeepCopy()} {
		if err := c.Set(object); err != nil {
			t.Fatal(err)
		}
	}
	e := newExtender(c, client, profilesOf(t, c, config.Default()))
	e.offerAnyway(pod, "a")
	return e, pod
}

// asked asks to bind a pod to a node, without HTTP.
func (e *Extender) asked(ctx context.Context, t *testing.T, pod *corev1.Pod, node string) (report, error) {
	t.Helper()
	return new(call).serve(ctx, e.verb("bind"), encode(t, bindingOf(pod, node)))
}

func TestBindIsAnsweredWithStatus200WhateverBecomesOfIt(t *testing.T) {
	b := newBench(t, benchOptions{client: bindings(alreadyAssigned)})
	body, err := json.Marshal(bindingOf(servertest.Pod("p", "1"), "nowhere"))
	if err != nil {
		t.Fatal(err)
	}
	// Of any other status kube-scheduler would report the number alone.
	if status, answer := b.Post("bind", body); status != http.StatusOK {
		t.Errorf("answered %d %q", status, answer)
	}
}

func TestAPodIsBoundNowhereElseWhileItMayBeBound(t *testing.T) {
	for _, selection := range []config.NodeSelection{config.NodeSelectionScheduler, config.NodeSelectionMuster} {
		t.Run(string(selection), func(t *testing.T) {
			reached, answer := make(chan struct{}), make(chan error)
			client := bindings(func(*corev1.Binding) error {
				close(reached)
				return <-answer
			})
			b := newBench(t, benchOptions{client: client, selection: selection})
			b.Node("a", "4")
			b.Node("b", "8")
			pod := b.Pending(servertest.Pod("p", "3"))
			bound := make(chan string)
			go func() { bound <- b.bind(pod, "a") }()
			<-reached
			// The scheduler has lost the connection, and tries the pod again.
			if got := *b.Filter(pod, "a", "b").NodeNames; !slices.Equal(got, []string{"a"}) {
				t.Errorf("the pod is offered %v, though it may be bound to a any moment", got)
			}
			if got := b.Filter(pod, "b"); len(*got.NodeNames) != 0 || got.FailedAndUnresolvableNodes["b"] != reasonBinding {
				t.Errorf("without a it is offered %v, and refused because of %v", *got.NodeNames, got.FailedAndUnresolvableNodes)
			}
			if got := b.Filter(servertest.Pod("q", "3"), "a"); len(*got.NodeNames) != 0 {
				t.Errorf("its room is given to another pod: %v", *got.NodeNames)
			}
			answer <- apierrors.NewForbidden(corev1.Resource("pods/binding"), "p", errors.New("no"))
			<-bound
			if got := *b.Filter(pod, "b").NodeNames; len(got) != 1 {
				t.Errorf("once it was refused, the pod is offered %v", got)
			}
		})
	}
}

func TestABindingElsewhereIsRefusedWhileThePodMayBeBound(t *testing.T) {
	b := newBench(t, benchOptions{client: unanswering(func(binding *corev1.Binding) error {
		if binding.Target.Name == "a" {
			return io.ErrUnexpectedEOF
		}
		return nil
	})})
	b.Node("a", "4")
	b.Node("b", "4")
	pod := b.Pending(servertest.Pod("p", "1"))
	b.bind(pod, "a")
	if got, want := b.bind(pod, "b"), "the pod counts on node a, which is its place or to which it may have been bound already"; got != want {
		t.Errorf("bind answered %q, want %q", got, want)
	}
	b.Cluster.Refuse(pod.UID)
	if got := b.bind(pod, "b"); got != "" {
		t.Errorf("once it is known that it is not bound there, bind answered %q", got)
	}
}

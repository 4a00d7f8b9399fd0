package scaleup

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	clocktesting "k8s.io/utils/clock/testing"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/rescheduler/planner"
)

// autoscaled is a world whose cluster knows ProvisioningRequests.
type autoscaled struct {
	*world
	core    *fake.Clientset
	objects *dynamicfake.FakeDynamicClient
	log     bytes.Buffer

	class      string
	parameters map[string]string
	clock      *clocktesting.FakePassiveClock
}

func newAutoscaled(t *testing.T) *autoscaled {
	t.Helper()
	a := &autoscaled{world: newWorld(t), core: fake.NewClientset(), class: "some-class.example.com"}
	a.clock = clocktesting.NewFakePassiveClock(time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC))
	a.objects = dynamicfake.NewSimpleDynamicClientWithCustomListKinds(
		runtime.NewScheme(), map[schema.GroupVersionResource]string{ProvisioningRequests(): "ProvisioningRequestList"},
	)
	a.restart()
	return a
}

// restart has another process go on.
func (a *autoscaled) restart() {
	a.Requests = NewRequests(RequestOptions{
		Logger: slog.New(slog.NewTextHandler(&a.log, nil)), Clock: a.clock, Core: a.core, Objects: a.objects,
		ClassName: a.class, Parameters: a.parameters,
	})
}

// asked are the requests there are: owners, class, and count and template of each set of pods.
func (a *autoscaled) asked() []string {
	a.Helper()
	list, err := a.objects.Resource(ProvisioningRequests()).List(a.Context(), metav1.ListOptions{})
	if err != nil {
		a.Fatal(err)
	}
	var all []string
	for _, request := range list.Items {
		words := []string{request.GetName()}
		for _, owner := range request.GetOwnerReferences() {
			words = append(words, owner.Kind+"/"+owner.Name)
		}
		class, _, _ := unstructured.NestedString(request.Object, "spec", "provisioningClassName")
		words = append(words, class)
		sets, _, _ := unstructured.NestedSlice(request.Object, "spec", "podSets")
		for _, set := range sets {
			count, _, _ := unstructured.NestedInt64(set.(map[string]any), "count")
			name, _, _ := unstructured.NestedString(set.(map[string]any), "podTemplateRef", "name")
			template, err := a.core.CoreV1().PodTemplates(request.GetNamespace()).Get(a.Context(), name, metav1.GetOptions{})
			if err != nil {
				a.Fatal(err)
			}
			words = append(words, strings.Repeat("+", int(count))+template.Template.Spec.Containers[0].Image)
		}
		all = append(all, strings.Join(words, " "))
	}
	return all
}

func (a *autoscaled) want(requests ...string) {
	a.Helper()
	if diff := cmp.Diff(requests, a.asked()); diff != "" {
		a.Errorf("requests (-want +got):\n%s", diff)
	}
	templates, err := a.core.CoreV1().PodTemplates("default").List(a.Context(), metav1.ListOptions{})
	if err != nil {
		a.Fatal(err)
	}
	if want := strings.Count(strings.Join(requests, ""), "example.com/"); len(templates.Items) != want {
		a.Errorf("%d PodTemplates, want %d", len(templates.Items), want)
	}
}

func image(name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.Containers[0].Image = "example.com/" + name }
}

func TestNodesAreAskedForOnceForAPod(t *testing.T) {
	a := newAutoscaled(t)
	a.pod("big")
	for range 2 {
		a.Tell(t.Context(), a.needs(planner.ReasonNoNode, "big"))
		a.restart()
	}
	a.want("muster-uid-big Pod/big some-class.example.com +example.com/c")
	// It may have room by now, but not a node yet.
	a.Tell(t.Context(), Verdict{})
	a.want("muster-uid-big Pod/big some-class.example.com +example.com/c")

	a.pods["big"].Spec.NodeName = "n1"
	a.show()
	a.Tell(t.Context(), Verdict{})
	a.want()
}

func TestNodesAreAskedForOnceForAGang(t *testing.T) {
	member := func(pod *corev1.Pod) { pod.Labels = map[string]string{v1alpha1.LabelX: "g"} }
	for name, test := range map[string]struct {
		podGroup bool
		want     string
	}{
		"the PodGroup owns the request": {true, "muster-uid-g PodGroup/g some-class.example.com +example.com/c ++example.com/worker"},
		"without a PodGroup its members do": {
			false,
			"muster-ab46135835b77cadcc62a36db8cff9341910c6a0ce8190432a1bed1a Pod/g-0 Pod/g-1 Pod/g-2 some-class.example.com +example.com/c " +
				"++example.com/worker",
		},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAutoscaled(t)
			if test.podGroup {
				podGroup := &unstructured.Unstructured{}
				podGroup.SetAPIVersion(v1alpha1.GroupX + "/v1alpha1")
				podGroup.SetKind("PodGroup")
				podGroup.SetNamespace("default")
				podGroup.SetName("g")
				podGroup.SetUID("uid-g")
				a.cluster.SetCustom(v1alpha1.ResourceOf(v1alpha1.GroupX), podGroup)
			}
			a.pod("g-0", member)
			a.pod("g-1", member, image("worker"))
			a.pod("g-2", member, image("worker"))
			verdict := VerdictOf(&planner.Plan{Unplaced: []planner.Refusal{a.refusal(planner.ReasonNoNode, "default/g", "g-0", "g-1", "g-2")}})
			for range 2 {
				a.Tell(t.Context(), verdict)
			}
			a.want(test.want)

			a.pods["g-0"].Spec.NodeName = "n1"
			a.show()
			a.Tell(t.Context(), Verdict{})
			a.want(test.want) // the rest of it still waits
			a.pods["g-1"].Spec.NodeName, a.pods["g-2"].Spec.NodeName = "n1", "n1"
			a.show()
			a.Tell(t.Context(), Verdict{})
			a.want()
		})
	}
}

// answer has the autoscaler answer a request with a condition, now.
func (a *autoscaled) answer(name, condition string, is metav1.ConditionStatus) {
	a.Helper()
	requests := a.objects.Resource(ProvisioningRequests()).Namespace("default")
	request, err := requests.Get(a.Context(), name, metav1.GetOptions{})
	if err != nil {
		a.Fatal(err)
	}
	conditions := []any{map[string]any{"type": condition, "status": string(is), "lastTransitionTime": a.clock.Now().Format(time.RFC3339)}}
	if err := unstructured.SetNestedSlice(request.Object, conditions, "status", "conditions"); err != nil {
		a.Fatal(err)
	}
	if _, err := requests.Update(a.Context(), request, metav1.UpdateOptions{}); err != nil {
		a.Fatal(err)
	}
}

func (a *autoscaled) pass(d time.Duration) { a.clock.SetTime(a.clock.Now().Add(d)) }

func TestNodesAreAskedForAnewWhenThatFailed(t *testing.T) {
	const first, second, third = "muster-uid-big", "muster-uid-big-2", "muster-uid-big-3"
	request := func(name string) string { return name + " Pod/big some-class.example.com +example.com/c" }
	for _, end := range []string{"Failed", "BookingExpired", "CapacityRevoked"} {
		t.Run(end, func(t *testing.T) {
			a := newAutoscaled(t)
			a.pod("big")
			tell := func() {
				a.Helper()
				a.restart() // nothing of it is known but what the API server has
				a.Tell(t.Context(), a.needs(planner.ReasonNoNode, "big"))
			}
			tell()
			for _, rest := range []struct {
				failed, next string
				after        time.Duration
			}{{first, second, time.Minute}, {second, third, 2 * time.Minute}} {
				a.answer(rest.failed, end, metav1.ConditionTrue)
				a.pass(rest.after - time.Second)
				tell()
				a.want(request(rest.failed))
				a.pass(time.Second)
				tell()
				a.want(request(rest.next))
			}
			a.pods["big"].Spec.NodeName = "n1"
			a.show()
			a.Tell(t.Context(), Verdict{})
			a.want()
		})
	}
}

func TestNodesAreNotAskedForAnewWithoutNeed(t *testing.T) {
	needs := func(a *autoscaled) Verdict { return a.needs(planner.ReasonNoNode, "big") }
	for name, test := range map[string]struct {
		condition string
		is        metav1.ConditionStatus
		verdict   func(*autoscaled) Verdict
	}{
		"as they come":                           {"Provisioned", metav1.ConditionTrue, needs},
		"as it has not failed":                   {"Failed", metav1.ConditionFalse, needs},
		"as moving pods helps, or there is room": {"Failed", metav1.ConditionTrue, func(*autoscaled) Verdict { return Verdict{} }},
	} {
		t.Run(name, func(t *testing.T) {
			a := newAutoscaled(t)
			a.pod("big")
			a.Tell(t.Context(), a.needs(planner.ReasonNoNode, "big"))
			a.answer("muster-uid-big", test.condition, test.is)
			a.pass(24 * time.Hour)
			a.Tell(t.Context(), test.verdict(a))
			a.want("muster-uid-big Pod/big some-class.example.com +example.com/c")
		})
	}
}

func TestTwoProcessesThatAskAnewAskOnce(t *testing.T) {
	a := newAutoscaled(t)
	a.pod("big")
	needs := a.needs(planner.ReasonNoNode, "big")
	a.Tell(t.Context(), needs)
	a.answer("muster-uid-big", "Failed", metav1.ConditionTrue)
	a.pass(time.Minute)
	before, err := a.objects.Resource(ProvisioningRequests()).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	a.Tell(t.Context(), needs)
	// The other one has looked before that.
	a.objects.PrependReactor("list", "provisioningrequests", func(clienttesting.Action) (bool, runtime.Object, error) {
		return true, before, nil
	})
	a.restart()
	a.Tell(t.Context(), needs)
	a.objects.ReactionChain = a.objects.ReactionChain[1:]
	a.want("muster-uid-big-2 Pod/big some-class.example.com +example.com/c")
}

func TestTheRestGrowsAndIsBounded(t *testing.T) {
	for number, want := range map[int]time.Duration{
		1: time.Minute, 2: 2 * time.Minute, 6: 32 * time.Minute, 7: time.Hour, 8: time.Hour, 1 << 40: time.Hour,
	} {
		if got := restAfter(number); got != want {
			t.Errorf("after attempt %d the rest is %s, want %s", number, got, want)
		}
	}
}

func TestNodesAreAskedForAsIsConfiguredNow(t *testing.T) {
	a := newAutoscaled(t)
	a.pod("big")
	a.class = "check-capacity.example.com"
	a.restart()
	needs := a.needs(planner.ReasonNoNode, "big")
	a.Tell(t.Context(), needs)
	a.want("muster-uid-big Pod/big check-capacity.example.com +example.com/c")
	a.class, a.parameters = "scale-up.example.com", map[string]string{"ValidUntilSeconds": "600"}
	for range 2 {
		a.restart()
		a.Tell(t.Context(), needs)
	}
	a.want("muster-uid-big-2 Pod/big scale-up.example.com +example.com/c")
	request, err := a.objects.Resource(ProvisioningRequests()).Namespace("default").Get(t.Context(), "muster-uid-big-2", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	parameters, _, _ := unstructured.NestedStringMap(request.Object, "spec", "parameters")
	if diff := cmp.Diff(a.parameters, parameters); diff != "" {
		t.Errorf("parameters (-want +got):\n%s", diff)
	}
}

func TestARequestThatWasBegunIsFinished(t *testing.T) {
	a := newAutoscaled(t)
	a.pod("big")
	failed := false
	a.objects.PrependReactor("create", "provisioningrequests", func(clienttesting.Action) (bool, runtime.Object, error) {
		if failed {
			return false, nil, nil
		}
		failed = true
		return true, nil, apierrors.NewServerTimeout(ProvisioningRequests().GroupResource(), "create", 1)
	})
	for range 2 {
		a.Tell(t.Context(), a.needs(planner.ReasonNoNode, "big"))
	}
	a.want("muster-uid-big Pod/big some-class.example.com +example.com/c")
}

func TestWhatOthersAskForIsLeftAlone(t *testing.T) {
	a := newAutoscaled(t)
	foreign := &unstructured.Unstructured{}
	foreign.SetAPIVersion("autoscaling.x-k8s.io/v1")
	foreign.SetKind("ProvisioningRequest")
	foreign.SetNamespace("default")
	foreign.SetName("foreign")
	if _, err := a.objects.Resource(ProvisioningRequests()).
		Namespace("default").
		Create(t.Context(), foreign, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	a.Tell(t.Context(), Verdict{})
	a.want("foreign ")
}

func TestThatNobodyCanBeAskedIsSaidOnce(t *testing.T) {
	a := newAutoscaled(t)
	a.pod("big")
	absent := true
	a.objects.PrependReactor("*", "provisioningrequests", func(clienttesting.Action) (bool, runtime.Object, error) {
		return absent, nil, apierrors.NewNotFound(ProvisioningRequests().GroupResource(), "")
	})
	for range 3 {
		a.Tell(t.Context(), a.needs(planner.ReasonNoNode, "big"))
	}
	if lines := strings.Split(strings.TrimSpace(a.log.String()), "\n"); len(lines) != 1 ||
		!strings.Contains(lines[0], "does not know ProvisioningRequests") {
		t.Errorf("the log is %q", lines)
	}
	absent = false
	a.Tell(t.Context(), a.needs(planner.ReasonNoNode, "big"))
	a.want("muster-uid-big Pod/big some-class.example.com +example.com/c")
}

package deallocation

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/clock"

	"muster.dev/muster/api/scheduling/v1alpha1"
	"muster.dev/muster/cluster"
)

const claimName = "of-member"

func member(change ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "d", Name: "member", UID: "member", Labels: map[string]string{v1alpha1.LabelX: "g"}},
		Spec: corev1.PodSpec{
			Containers:     []corev1.Container{{Name: "main"}},
			ResourceClaims: []corev1.PodResourceClaim{{Name: "gpu", ResourceClaimTemplateName: new("template")}},
		},
		Status: corev1.PodStatus{
			Phase:                 corev1.PodPending,
			ResourceClaimStatuses: []corev1.PodResourceClaimStatus{{Name: "gpu", ResourceClaimName: new(claimName)}},
		},
	}
	for _, f := range change {
		f(pod)
	}
	return pod
}

// claim is one that holds a device for the member, and that nobody has reserved.
func claim(change ...func(*resourcev1.ResourceClaim)) *resourcev1.ResourceClaim {
	c := &resourcev1.ResourceClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "d", Name: claimName, UID: "claim", ResourceVersion: "7",
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Pod", Name: "member", UID: "member", Controller: new(true)}},
		},
		Status: resourcev1.ResourceClaimStatus{Allocation: &resourcev1.AllocationResult{Devices: resourcev1.DeviceAllocationResult{
			Results: []resourcev1.DeviceRequestAllocationResult{{Driver: "gpu.example.com", Pool: "a", Device: "gpu-0"}},
		}}},
	}
	for _, f := range change {
		f(c)
	}
	return c
}

func reservedFor(uid types.UID) func(*resourcev1.ResourceClaim) {
	return func(c *resourcev1.ResourceClaim) {
		c.Status.ReservedFor = []resourcev1.ResourceClaimConsumerReference{{Resource: "pods", Name: string(uid), UID: uid}}
	}
}

// running has a Deallocator run on a cluster with objects, and returns what ends it.
func running(t *testing.T, api *fake.Clientset, objects ...runtime.Object) (d *Deallocator, stop func()) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	c := cluster.New(cluster.Options{Logger: log, Registerer: prometheus.NewRegistry(), AssumeTTL: time.Hour})
	for _, object := range append([]runtime.Object{&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a"}}}, objects...) {
		if err := c.Set(object); err != nil {
			t.Fatal(err)
		}
	}
	d = New(Options{Logger: log, Registerer: prometheus.NewRegistry(), Clock: clock.RealClock{}, Cluster: c, Client: api.ResourceV1()})
	ctx, cancel := context.WithCancel(t.Context())
	go d.Run(ctx)
	return d, func() { cancel(); synctest.Wait() }
}

func TestNothingIsTakenBackFromAPodThatIsBoundMeanwhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		api := fake.NewClientset(claim())
		d, stop := running(t, api, claim(), member())
		<-time.After(1500 * time.Millisecond)
		if err := d.cluster.Set(member(func(pod *corev1.Pod) { pod.Spec.NodeName = "a" })); err != nil {
			t.Fatal(err)
		}
		<-time.After(time.Minute)
		stop()
		for _, action := range api.Actions() {
			t.Errorf("%s %s", action.GetVerb(), action.GetResource().Resource)
		}
	})
}

// A pod may have several: each is taken back, whatever becomes of the others.
func TestEveryClaimOfAPodIsTakenBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		second := claim(func(c *resourcev1.ResourceClaim) { c.Name, c.UID = "another", "another" })
		pod := member(func(pod *corev1.Pod) {
			pod.Spec.ResourceClaims = append(
				pod.Spec.ResourceClaims,
				corev1.PodResourceClaim{Name: "nic", ResourceClaimTemplateName: new("template")},
			)
			pod.Status.ResourceClaimStatuses = append(
				pod.Status.ResourceClaimStatuses, corev1.PodResourceClaimStatus{Name: "nic", ResourceClaimName: &second.Name},
			)
		})
		api := fake.NewClientset(claim(), second.DeepCopy())
		_, stop := running(t, api, claim(), second, pod)
		<-time.After(3500 * time.Millisecond)
		stop()
		list, err := api.ResourceV1().ResourceClaims("d").List(context.Background(), metav1.ListOptions{})
		if err != nil || len(list.Items) != 2 {
			t.Fatalf("%d claims, error %v", len(list.Items), err)
		}
		for _, c := range list.Items {
			if c.Status.Allocation != nil {
				t.Errorf("%s holds devices", c.Name)
			}
		}
	})
}

func TestDevicesAreTakenBackFromWhoWaits(t *testing.T) {
	refused := apierrors.NewForbidden(resourcev1.Resource("resourceclaims"), claimName, errors.New("no right"))
	stale := apierrors.NewConflict(resourcev1.Resource("resourceclaims"), claimName, errors.New("changed"))
	gone := apierrors.NewNotFound(resourcev1.Resource("resourceclaims"), claimName)
	done, changed, failed := map[string]int{outcomeDone: 1}, map[string]int{outcomeChanged: 1}, map[string]int{outcomeFailed: 1}
	for name, test := range map[string]struct {
		pod    *corev1.Pod
		claim  *resourcev1.ResourceClaim
		there  *resourcev1.ResourceClaim // at the API server, where the watch is behind
		assume bool
		err    error
		after  time.Duration
		want   map[string]int
	}{
		"nobody has reserved them":         {after: 3500 * time.Millisecond, want: done},
		"it is early":                      {after: 1500 * time.Millisecond},
		"kube-scheduler has reserved them": {claim: claim(reservedFor("member"))},
		"another pod has":                  {claim: claim(reservedFor("other"))},
		"the pod is of no gang":            {pod: member(func(pod *corev1.Pod) { pod.Labels = nil })},
		"the pod is bound":                 {pod: member(func(pod *corev1.Pod) { pod.Spec.NodeName = "a" })},
		"the pod has a place":              {assume: true},
		"the claim is not allocated":       {claim: claim(func(c *resourcev1.ResourceClaim) { c.Status.Allocation = nil })},
		"others may use the claim": {
			pod: member(func(pod *corev1.Pod) {
				pod.Spec.ResourceClaims[0] = corev1.PodResourceClaim{Name: "gpu", ResourceClaimName: new(claimName)}
			}),
			claim: claim(func(c *resourcev1.ResourceClaim) { c.OwnerReferences = nil }),
		},
		"it is being deleted": {
			there: claim(func(c *resourcev1.ResourceClaim) {
				c.DeletionTimestamp, c.Finalizers = &metav1.Time{Time: time.Now()}, []string{"x"}
			}),
			after: 3500 * time.Millisecond, want: changed,
		},
		"it has been reserved since": {there: claim(reservedFor("member")), after: 3500 * time.Millisecond, want: changed},
		"it has been made again since": {
			there: claim(func(c *resourcev1.ResourceClaim) { c.UID = "new" }), after: 3500 * time.Millisecond, want: changed,
		},
		"somebody writes at the same time":  {err: stale, after: 3500 * time.Millisecond, want: changed},
		"it is not allowed":                 {err: refused, after: 3500 * time.Millisecond, want: failed},
		"it is tried again, once a second":  {err: refused, after: 5500 * time.Millisecond, want: map[string]int{outcomeFailed: 3}},
		"the claim is gone, unheard of yet": {err: gone, after: 3500 * time.Millisecond, want: changed},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				pod, known := test.pod, test.claim
				if pod == nil {
					pod = member()
				}
				if known == nil {
					known = claim()
				}
				there := test.there
				if there == nil {
					there = known
				}
				api := fake.NewClientset(there.DeepCopy())
				var written []*resourcev1.ResourceClaim
				api.PrependReactor("update", "resourceclaims", func(action clienttesting.Action) (bool, runtime.Object, error) {
					if test.err != nil {
						return true, nil, test.err
					}
					update := action.(clienttesting.UpdateAction)
					written = append(written, update.GetObject().(*resourcev1.ResourceClaim))
					if update.GetSubresource() != "status" {
						t.Errorf("%q is written", update.GetSubresource())
					}
					return false, nil, nil
				})
				d, stop := running(t, api, known.DeepCopy(), pod)
				if test.assume {
					if err := d.cluster.AssumeAll([]*cluster.Pod{d.cluster.PendingPod(pod.UID)}, d.cluster.Snapshot().NodeByName("a")); err != nil {
						t.Fatal(err)
					}
				}
				if test.after == 0 {
					test.after = time.Minute
				}
				<-time.After(test.after)
				stop()
				got := map[string]int{}
				for _, outcome := range []string{outcomeDone, outcomeChanged, outcomeFailed} {
					if count := int(testutil.ToFloat64(d.outcomes.WithLabelValues(outcome))); count > 0 {
						got[outcome] = count
					}
				}
				if test.want == nil {
					test.want = map[string]int{}
				}
				if diff := cmp.Diff(test.want, got); diff != "" {
					t.Errorf("outcomes (-want +got):\n%s", diff)
				}
				if len(written) != test.want[outcomeDone] {
					t.Errorf("%d writes", len(written))
				}
				for _, claim := range written {
					if claim.Status.Allocation != nil || claim.ResourceVersion != there.ResourceVersion {
						t.Errorf("written was %+v", claim)
					}
				}
			})
		})
	}
}

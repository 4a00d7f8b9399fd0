package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var (
	jobKind = schema.GroupKind{Group: "batch", Kind: "Job"}
	setKind = schema.GroupKind{Group: "example.com", Kind: "Set"}
)

// topmost is an Affiliator that takes pods for members of their uppermost owner, of Jobs and Sets.
type topmost struct{}

func (topmost) Follows(kind schema.GroupKind) bool {
	return kind == jobKind || kind == setKind || kind == podKind
}

func (topmost) Owner(object runtime.Object) *Owner {
	switch o := object.(type) {
	case *batchv1.Job:
		return NewOwner(jobKind, o, Asks{Roles: []Role{{Min: *o.Spec.Parallelism}}})
	case *corev1.Pod:
		return NewOwner(podKind, o, Asks{})
	}
	return nil
}

func (topmost) Names(pod *corev1.Pod) (schema.GroupKind, string, bool) {
	return setKind, pod.Labels["set"], pod.Labels["set"] != ""
}

func (topmost) Affiliate(_ *corev1.Pod, chain *Chain) Affiliation {
	switch {
	case chain.Awaited:
		return Affiliation{Unseen: true, Why: "awaited"}
	case chain.Named != nil:
		return Affiliation{Kind: "Set", Gang: chain.Named[0].Name, MinMember: chain.Named[0].Asks.Roles[0].Min}
	case chain.Lost != nil:
		return Affiliation{Unseen: chain.Unseen, Why: fmt.Sprintf("lost %s, namesake: %t", chain.Lost.Name, chain.Namesake != nil)}
	case len(chain.Owners) == 0:
		return Affiliation{}
	}
	last := chain.Owners[len(chain.Owners)-1]
	belongs := Affiliation{Kind: last.Kind().Kind, Gang: last.Name}
	if len(last.Asks.Roles) > 0 {
		belongs.MinMember = last.Asks.Roles[0].Min
	}
	return belongs
}

// household is a cluster in which pods have owners. It asks a server that has some objects.
type household struct {
	*testing.T
	*Cluster
	sets CustomHandler

	asking sync.Mutex
	uid    types.UID // what the server says
	err    error
	asked  []ownerKey
}

func newHousehold(t *testing.T) *household {
	h := &household{T: t}
	h.Cluster = New(Options{
		Logger: slog.New(slog.DiscardHandler), Registerer: prometheus.NewPedanticRegistry(), AssumeTTL: testTTL,
		Affiliator: topmost{}, Live: true,
	})
	h.sets = h.Owners.Handler(setKind)
	return h
}

// ask has the cluster ask until the test is over.
func (h *household) ask() {
	ctx, stop := context.WithCancel(h.Context())
	var asking sync.WaitGroup
	asking.Go(func() {
		h.Owners.Ask(ctx, func(_ context.Context, kind schema.GroupKind, name types.NamespacedName) (types.UID, error) {
			h.asking.Lock()
			defer h.asking.Unlock()
			h.asked = append(h.asked, ownerKey{kind, name})
			return h.uid, h.err
		})
	})
	h.Cleanup(func() { stop(); asking.Wait() })
}

// answers says what the server answers from now on.
func (h *household) answers(uid types.UID, err error) {
	h.asking.Lock()
	defer h.asking.Unlock()
	h.uid, h.err = uid, err
}

// questions returns what it was asked since the last time.
func (h *household) questions() []ownerKey {
	h.asking.Lock()
	defer h.asking.Unlock()
	asked := h.asked
	h.asked = nil
	return asked
}

// after lets time pass in a bubble.
func (h *household) after(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // in a bubble
	synctest.Wait()
}

func controlledBy(kind schema.GroupKind, name, uid string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.OwnerReferences = []metav1.OwnerReference{refTo(kind, name, uid)} }
}

func refTo(kind schema.GroupKind, name, uid string) metav1.OwnerReference {
	group := schema.GroupVersion{Group: kind.Group, Version: "v1"}
	return metav1.OwnerReference{APIVersion: group.String(), Kind: kind.Kind, Name: name, UID: types.UID(uid), Controller: new(true)}
}

func jobObject(name string, parallelism int32, by ...metav1.OwnerReference) *batchv1.Job {
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, UID: types.UID("job-" + name), OwnerReferences: by},
		Spec:       batchv1.JobSpec{Parallelism: &parallelism},
	}
}

func setObject(namespace, name, uid string, pods int32) *Owner {
	object := &metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(uid)}
	return NewOwner(setKind, object, Asks{Roles: []Role{{Min: pods}}})
}

// belongs says to what a pod belongs.
func (h *household) belongs(name string) string {
	a := h.FindPod(types.NamespacedName{Namespace: "default", Name: name}).Affiliation
	switch {
	case a.Gang != "":
		return fmt.Sprintf("%s %s of %d", a.Kind, a.Gang, a.MinMember)
	case a.Unseen:
		return "unseen: " + a.Why
	default:
		return a.Why
	}
}

func (h *household) expect(pod, want string) {
	h.Helper()
	if got := h.belongs(pod); got != want {
		h.Errorf("%s belongs to %q, want %q", pod, got, want)
	}
}

func TestTheControllersOfAPodAreNamedAsFarAsTheyAreKnown(t *testing.T) {
	replicaSets := schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}
	for name, test := range map[string]struct {
		objects []runtime.Object
		want    []string
	}{
		"nobody owns it":              {[]runtime.Object{podObject("p")}, nil},
		"one that is not followed":    {[]runtime.Object{podObject("p", controlledBy(replicaSets, "r", "r"))}, []string{"r"}},
		"one that is yet to be shown": {[]runtime.Object{podObject("p", controlledBy(jobKind, "j", "job-j"))}, []string{"j"}},
		"one that another one owns": {
			[]runtime.Object{jobObject("j", 3, refTo(setKind, "s", "s")), podObject("p", controlledBy(jobKind, "j", "job-j"))}, []string{"j", "s"},
		},
		"a namesake of one": {
			[]runtime.Object{jobObject("j", 3, refTo(setKind, "s", "s")), podObject("p", controlledBy(jobKind, "j", "former"))}, []string{"j"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHousehold(t)
			set(t, h.Cluster, test.objects...)
			var got []string
			for _, ref := range h.Owners.Controllers(h.FindPod(types.NamespacedName{Namespace: "default", Name: "p"})) {
				got = append(got, ref.Name)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("they are %q, want %q", got, test.want)
			}
		})
	}
}

func TestAPodBelongsToTheOwnersThatTheWatchShows(t *testing.T) {
	job := func(uid string) *corev1.Pod { return podObject("p", controlledBy(jobKind, "j", uid)) }
	for _, test := range []struct {
		name string
		do   func(h *household)
		want string
		late string // once the server was asked, if that is something else
	}{
		{"nobody owns it", func(h *household) { set(h.T, h.Cluster, podObject("p")) }, "", ""},
		{"by somebody who is not followed", func(h *household) {
			set(h.T, h.Cluster, podObject("p", controlledBy(schema.GroupKind{Group: "apps", Kind: "ReplicaSet"}, "r", "r")))
		}, "", ""},
		{"its Job is shown before it", func(h *household) { set(h.T, h.Cluster, jobObject("j", 3), job("job-j")) }, "Job j of 3", ""},
		{"its Job is shown after it", func(h *household) { set(h.T, h.Cluster, job("job-j"), jobObject("j", 3)) }, "Job j of 3", ""},
		{"its Job is scaled", func(h *household) {
			set(h.T, h.Cluster, jobObject("j", 3), job("job-j"), jobObject("j", 5))
		}, "Job j of 5", ""},
		{"its Job has not been shown", func(h *household) {
			set(h.T, h.Cluster, job("job-j"))
		}, "unseen: lost j, namesake: false", "lost j, namesake: false"},
		{"its Job is another one", func(h *household) {
			set(h.T, h.Cluster, jobObject("j", 3), job("former"))
		}, "unseen: lost j, namesake: true", "lost j, namesake: true"},
		{"its reference is to no controller", func(h *household) {
			pod := job("job-j")
			pod.OwnerReferences[0].Controller = nil
			set(h.T, h.Cluster, jobObject("j", 3), pod)
		}, "", ""},
		{"its Set is in another namespace", func(h *household) {
			h.sets.Set(setObject("other", "s", "s", 4))
			set(h.T, h.Cluster, podObject("p", controlledBy(setKind, "s", "s")))
		}, "unseen: lost s, namesake: false", "lost s, namesake: false"},
		{"its Job is a Set's", func(h *household) {
			set(h.T, h.Cluster, job("job-j"), jobObject("j", 3, refTo(setKind, "s", "s")))
			h.sets.Set(setObject("default", "s", "s", 4))
		}, "Set s of 4", ""},
		{"the Set is drawn out of a chain", func(h *household) {
			set(h.T, h.Cluster, job("job-j"), jobObject("j", 3, refTo(setKind, "s", "s")))
			h.sets.Set(setObject("default", "s", "s", 4))
			set(h.T, h.Cluster, jobObject("j", 3))
		}, "Job j of 3", ""},
		{"its owner is a pod, shown after it", func(h *household) {
			set(h.T, h.Cluster, jobObject("j", 3), podObject("p", controlledBy(podKind, "leader", "pod-leader")),
				podObject("leader", controlledBy(jobKind, "j", "job-j")))
		}, "Job j of 3", ""},
		{"its Job has gone: it goes, too", func(h *household) {
			set(h.T, h.Cluster, jobObject("j", 3), job("job-j"))
			remove(h.T, h.Cluster, jobObject("j", 3))
		}, "Job j of 3", ""},
		{"its Job has been replaced by a namesake", func(h *household) {
			set(h.T, h.Cluster, jobObject("j", 3), job("job-j"))
			remove(h.T, h.Cluster, jobObject("j", 3))
			next := jobObject("j", 3)
			next.UID = "next"
			set(h.T, h.Cluster, next)
		}, "unseen: lost j, namesake: true", "lost j, namesake: true"},
		{"the resource is gone, and so will it be", func(h *household) {
			h.sets.Set(setObject("default", "s", "s", 4))
			set(h.T, h.Cluster, podObject("p", controlledBy(setKind, "s", "s")))
			h.sets.Drop()
		}, "Set s of 4", ""},
		{"muster may not read it", func(h *household) {
			h.sets.Watched(apierrors.NewForbidden(schema.GroupResource{Resource: "sets"}, "", nil))
			set(h.T, h.Cluster, podObject("p", controlledBy(setKind, "s", "s")))
		}, "lost s, namesake: false", ""},
		{"its owner owns itself", func(h *household) {
			set(h.T, h.Cluster, jobObject("j", 3, refTo(jobKind, "j", "job-j")), job("job-j"))
		}, "Job j of 3", ""},
	} {
		for _, on := range []string{"", "n"} {
			t.Run(test.name+" on "+on, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					h := newHousehold(t)
					set(t, h.Cluster, nodeObject("n"))
					test.do(h)
					if on != "" {
						bound := h.FindPod(types.NamespacedName{Namespace: "default", Name: "p"}).DeepCopy()
						bound.Spec.NodeName = on
						set(t, h.Cluster, bound)
					}
					h.expect("p", test.want)
					h.ask()
					h.after(2 * askAfter)
					late := test.want
					if test.late != "" {
						late = test.late
					}
					h.expect("p", late)
					remove(t, h.Cluster, podObject("p"), podObject("leader"))
					h.expectNothingLeft()
				})
			})
		}
	}
}

// A user who defines a resource chooses the kind of its objects.
func TestAnObjectOfAnotherKindSaysNothing(t *testing.T) {
	h := newHousehold(t)
	got, err := h.sets.Trim(&unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Suite", "metadata": map[string]any{"namespace": "default", "name": "s", "uid": "s"},
	}})
	owner, is := got.(*Owner)
	if err != nil || !is || owner == nil {
		t.Fatalf("it is %v, %v", got, err)
	}
	if owner.Name != "s" || owner.Kind() != setKind || owner.Asks.Alone != "is a Suite, which muster does not know" {
		t.Errorf("it is %+v", owner)
	}
}

// expectNothingLeft expects that nothing is kept of pods that are gone.
func (h *household) expectNothingLeft() {
	h.Helper()
	o := h.Owners
	if len(o.pods)+len(o.passed)+len(o.questions.about)+len(o.questions.by)+len(o.questions.due) > 0 {
		h.Errorf("something is left of pods that are gone: %v %v %v %v %v", o.pods, o.passed, o.questions.about, o.questions.by, o.questions.due)
	}
}

// Followers are told of all pods of an owner that has changed, and of none when nothing that matters has.
func TestFollowersAreToldWhatPodsBelongTo(t *testing.T) {
	h := newHousehold(t)
	var told []string
	h.FollowPending(func(e PodEvent) {
		if e.Pod != nil {
			told = append(told, fmt.Sprintf("%s %d", e.Pod.Name, e.Pod.Affiliation.MinMember))
		}
	})
	for _, name := range []string{"a", "b"} {
		set(t, h.Cluster, podObject(name, controlledBy(setKind, "s", "s")))
	}
	told = nil
	h.sets.Set(setObject("default", "s", "s", 2))
	h.sets.Set(setObject("default", "s", "s", 2)) // its status has changed
	h.sets.Set(setObject("default", "s", "s", 3))
	if got, want := fmt.Sprint(told), "[a 2 b 2 a 3 b 3]"; got != want {
		t.Errorf("told: %s, want %s", got, want)
	}
}
